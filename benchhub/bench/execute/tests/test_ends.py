"""Ends of a run other than a result: failed, cancelled, lost, unreadable, or found by another worker."""

import os
import signal

import pytest
from django.db.models.functions import Now

from benchhub.bench.models import Evidence, Hold, Result, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]


def test_a_failed_load_generator_gives_a_failed_run_with_its_reason_and_no_point(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, client_levels=[500])  # max_connections is 100
    run = worker.finish(planned)[0]
    assert run.state == State.FAILED
    assert "too many clients" in run.reason or "remaining connection slots" in run.reason
    assert not Result.objects.filter(run=run).exists()
    assert not planned.runs.measured().exists()
    assert Evidence.objects.filter(attempt__run=run, name="err.log").exists()
    assert not Hold.objects.exists()


def test_a_run_that_is_cancelled_while_it_runs_ends_cancelled_and_frees_the_host(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=30)
    worker.tick()
    run = planned.runs.get()
    assert run.state == State.RUNNING
    Run.objects.filter(pk=run.pk).update(cancel_asked_at=Now())
    worker.tick(run.pk)
    run.refresh_from_db()
    assert (run.state, run.ended_at is not None) == (State.CANCELLED, True)
    assert not Hold.objects.exists()


@pytest.mark.whole
def test_a_worker_that_knows_nothing_of_a_run_finds_its_end(worker, system, experiment, cluster16):
    planned = experiment(system(cluster16))
    worker.tick()
    successor = type(worker)()  # the notices of the first worker go nowhere
    runs = successor.finish(planned)
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2
    assert [run.attempts.count() for run in runs] == [1, 1]


@pytest.mark.whole
def test_a_run_whose_job_was_killed_is_lost_and_can_be_run_again(worker, system, experiment, cluster16, target):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=20)
    worker.tick()
    run = planned.runs.get()
    folder = target.work_directory / "runs" / str(run.uuid) / "1"
    worker.until(lambda: (folder / "pid").is_file() and (folder / "pid").read_text())
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)
    worker.until(lambda: worker.tick(run.pk) and Run.objects.get(pk=run.pk).state != State.RUNNING)
    run.refresh_from_db()
    assert run.state == State.LOST, run.watch.contact_error
    assert not Result.objects.filter(run=run).exists()
    assert queue.run_lost_again(planned, attempts=3) == 1
    worker.tick()
    run.refresh_from_db()
    assert (run.state, run.attempts.count()) == (State.RUNNING, 2)
    Run.objects.update(cancel_asked_at=Now())
    worker.tick(run.pk)


@pytest.mark.whole
def test_outputs_that_cannot_be_read_fail_the_run_and_keep_its_evidence(
    worker, system, experiment, cluster16, monkeypatch
):
    server = system(cluster16)
    worker.finish(experiment(server))
    monkeypatch.setattr("benchhub.bench.results.ingest.store_result", lambda *_: {}["tps"])
    run = worker.finish(experiment(server))[-1]
    assert run.state == State.FAILED
    assert "cannot read what the run left behind (KeyError('tps'))" in run.reason
    assert Evidence.objects.filter(attempt__run=run, name="out.log").exists()
    assert not Hold.objects.exists()


@pytest.mark.whole
def test_a_fault_of_benchhub_in_one_run_does_not_stop_the_worker(worker, system, experiment, cluster16, monkeypatch):
    planned = experiment(system(cluster16))
    with monkeypatch.context() as broken:
        broken.setattr("benchhub.bench.execute.answers._write_answer", lambda *_: 1 / 0)
        worker.tick()
    run = planned.runs.first()
    assert "ZeroDivisionError" in run.watch.contact_error
    Watch.objects.update(next_look_at=Now())
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2
