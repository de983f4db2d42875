"""What hosts answer to visits, kept from doing harm: nothing is sent to any host here."""

from concurrent.futures import Future

import pytest

from benchhub.bench import testing
from benchhub.bench.execute import clusters
from benchhub.catalog.models import Cluster, ClusterParameters, Host
from runners.clusters.visit import Sight
from runners.ssh import RemoteFailure

pytestmark = pytest.mark.django_db


@pytest.fixture
def own(db):
    host = testing.make_host("box", "192.0.2.9")
    Host.objects.update(trust=Host.Trust.PINNED)
    Cluster.objects.create(instance=testing.make_instance(host, "18"), folder="/data/own")
    return Cluster.objects.select_related("instance__host", "instance__build").get()


@pytest.fixture
def answers(monkeypatch, own):
    """Have the host answer a visit so."""

    def answer(outcome):
        future = Future()
        (future.set_exception if isinstance(outcome, Exception) else future.set_result)(outcome)
        monkeypatch.setattr(clusters, "_visit", lambda _: None)
        monkeypatch.setattr(clusters.loop, "submit", lambda _: future)
        assert clusters.visit_clusters() == 1
        own.refresh_from_db()
        return own

    return answer


def test_an_answer_that_cannot_be_stored_ends_its_visit_and_keeps_no_other_waiting(answers):
    visited = answers(Sight("/data/own", settings=({"name": "fsync", "setting": "\0", "unit": ""},)))
    assert (visited.wanted, visited.visit_until, visited.made_at) == ("", None, None)
    assert visited.contact_error.startswith("BenchHub cannot read what the host answered: ")
    assert not ClusterParameters.objects.exists()
    assert clusters.visit_clusters() == 0


def test_what_an_error_quotes_of_a_host_is_bounded(answers):
    assert len(answers(KeyError("x" * 1_000_000)).contact_error) <= clusters.LONGEST_ERROR


def test_a_refusal_of_a_host_is_its_sentence(answers):
    visited = answers(RemoteFailure("The disk is full.", None))
    assert (visited.wanted, visited.contact_error) == ("", "The disk is full.")
