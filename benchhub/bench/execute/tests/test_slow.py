"""Steps that take long keep no thread of a worker: its ticks go on meanwhile, also where it has one thread."""

import queue as queues
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute import answers, tick
from benchhub.bench.execute.steps import slow
from benchhub.bench.queue import queue


@pytest.fixture
def written(monkeypatch):
    """What was written, in this order; nothing follows on it."""
    written = queues.Queue()
    monkeypatch.setattr(answers, "write_all", lambda arrived, _wake: [written.put(job) for job in arrived.values()][:0])
    monkeypatch.setattr(tick, "_has_ended", lambda _batch: False)
    monkeypatch.setattr(queue, "renew", lambda claims: list(claims))
    return written


def begun(run_id):
    return Future(), SimpleNamespace(claim=queue.Claim(run_id, 1))


def test_a_tick_waits_no_longer_than_its_patience_and_the_late_answers_are_written_all_the_same(written):
    (late, late_job), (later, later_job) = begun(1), begun(2)
    assert tick._advance({late: late_job}, print, 0) == [late_job]
    assert tick._advance({later: later_job}, print, 0) == [later_job]
    assert written.empty()
    later.set_result(None)
    assert written.get(timeout=PATIENCE_S) is later_job
    late.set_result(None)
    assert written.get(timeout=PATIENCE_S) is late_job


def test_the_leases_of_late_steps_are_renewed(written, monkeypatch):
    renewed = queues.Queue()
    monkeypatch.setattr(slow, "RENEW_S", 0)
    monkeypatch.setattr(queue, "renew", lambda claims: [renewed.put(claim) for claim in claims])
    late, job = begun(1)
    tick._advance({late: job}, print, 0)
    assert renewed.get(timeout=PATIENCE_S) == job.claim
    late.set_result(None)
    assert written.get(timeout=PATIENCE_S) is job


def test_a_late_answer_that_cannot_be_written_costs_no_later_one(written, monkeypatch):
    write_all = answers.write_all
    failed = queues.Queue()

    def fail(arrived, _wake):
        monkeypatch.setattr(answers, "write_all", write_all)
        failed.put(arrived)
        raise ValueError("no such row")

    monkeypatch.setattr(answers, "write_all", fail)
    late, job = begun(1)
    tick._advance({late: job}, print, 0)
    late.set_result(None)
    assert failed.get(timeout=PATIENCE_S)
    later, later_job = begun(2)
    tick._advance({later: later_job}, print, 0)
    later.set_result(None)
    assert written.get(timeout=PATIENCE_S) is later_job
