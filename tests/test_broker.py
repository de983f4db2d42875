"""The broker only wakes workers: what one has in hand when the broker goes is not put back."""

from types import SimpleNamespace

from kombu.transport.redis import QoS

from benchhub import celery


def test_messages_in_hand_do_not_end_a_worker_whose_connection_has_been_given_up():
    assert celery.app.main == "benchhub"
    channel = celery.ForgivingChannel.__new__(celery.ForgivingChannel)
    channel.connection, channel._pool = SimpleNamespace(client=None), None
    in_hand = QoS(channel)
    in_hand._delivered["tag"] = SimpleNamespace(delivery_info={})
    in_hand.restore_unacked_once()
    assert list(in_hand._delivered) == ["tag"]


def test_what_was_in_hand_is_not_acknowledged_where_its_connection_has_been_given_up():
    channel = celery.ForgivingChannel.__new__(celery.ForgivingChannel)
    acknowledged: list[str] = []
    channel._qos = SimpleNamespace(ack=acknowledged.append)
    channel.connection = SimpleNamespace(client=None)
    channel.basic_ack("first")
    channel.connection = None
    channel.basic_ack("second")
    assert acknowledged == ["first"]


def test_workers_speak_to_the_broker_through_such_channels():
    assert celery.app.connection().transport_cls.endswith("redis")
    assert celery.Transport.Channel is celery.ForgivingChannel
