"""The broker only wakes workers: what one has in hand when the broker goes is not put back."""

from types import SimpleNamespace

from kombu.transport.redis import Channel, QoS

from benchhub import celery


def test_messages_in_hand_do_not_end_a_worker_whose_connection_has_been_given_up():
    assert celery.app.main == "benchhub"
    channel = Channel.__new__(Channel)
    channel.connection, channel._pool = SimpleNamespace(client=None), None
    in_hand = QoS(channel)
    in_hand._delivered["tag"] = SimpleNamespace(delivery_info={})
    in_hand.restore_unacked_once()
    assert list(in_hand._delivered) == ["tag"]
