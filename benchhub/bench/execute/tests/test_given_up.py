"""A start is given up on evidence of the target alone, and a cancel waits for nobody's answer: real SSH."""

import time
from collections import OrderedDict
from dataclasses import replace

import pytest
from cryptography.fernet import Fernet
from django.db.models.functions import Now

from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute import answers, jobs, loop, tidy
from benchhub.bench.execute.connections import connections
from benchhub.bench.execute.steps import end, start
from benchhub.bench.execute.steps import server as server_steps
from benchhub.bench.execute.steps.contract import Cancelled, Uncollectable
from benchhub.bench.execute.steps.look import look
from benchhub.bench.execute.steps.step import step
from benchhub.bench.models import Attempt, Hold, Run
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.queue import queue
from benchhub.catalog.models import Host
from benchhub.embedded import proc
from runners import job
from runners.ssh import RemoteFailure, Unreachable

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]


@pytest.fixture
def server(worker, system, experiment, cluster16):
    made = system(cluster16)
    worker.finish(experiment(made))
    return made


@pytest.fixture
def starting(server, experiment):
    """The job of a run that is committed as starting, and of which its host knows nothing."""
    planned = experiment(server, duration_s=30)
    queue.reserve()
    [claim] = queue.claim(1)
    return jobs.prepare_step(claim), planned.runs.get()


def answer(job_, worker, coroutine):
    """Write what the step answers or raises."""
    future = loop.submit(coroutine)
    future.exception(timeout=PATIENCE_S)
    return answers.write(job_, future, worker.woken.put)


def folder(target, run, attempt=1):
    return target.work_directory / "runs" / str(run.uuid) / str(attempt)


def test_a_start_that_failed_before_anything_began_goes_back_behind_a_tombstone(starting, worker, target):
    job_, run = starting
    answer(job_, worker, start._given_up(job_, RemoteFailure("It failed.", None)))
    run.refresh_from_db()
    assert run.state == State.QUEUED
    assert {"cancel", "withdrawn"} <= {path.name for path in folder(target, run).iterdir()}
    assert not Hold.objects.exists()


def test_earlier_attempts_are_ended_once_in_each_start_and_no_key_is_remembered_with_them(
    starting, target, monkeypatch
):
    job_, run = starting
    monkeypatch.setattr(start, "MOST_ENDED", 2)
    monkeypatch.setattr(start, "_ended", OrderedDict({("another run", 1): None}))
    here = replace(job_.attempt, number=7)
    job_ = replace(job_, earlier=(here, replace(here, number=8)))
    loop.submit(start._end_once(job_, here)).result(timeout=PATIENCE_S)
    (folder(target, run, 7) / "cancel").unlink()
    loop.submit(start._end_once(job_, here)).result(timeout=PATIENCE_S)
    assert not (folder(target, run, 7) / "cancel").exists()
    loop.submit(start._end_once(job_, replace(here, number=8))).result(timeout=PATIENCE_S)
    assert list(start._ended) == [(str(run.uuid), 7), (str(run.uuid), 8)]
    start._forget_earlier(job_)
    loop.submit(start._end_once(job_, here)).result(timeout=PATIENCE_S)
    assert (folder(target, run, 7) / "cancel").exists()


@pytest.mark.whole
def test_a_host_that_answers_looks_and_hands_nothing_over_in_time_is_asked_so_often_and_no_more(starting, monkeypatch):
    job_, _ = starting
    monkeypatch.setattr(job, "COLLECT_TIMEOUT_S", 0)
    away = replace(job_, target=replace(job_.target, port=1))
    for unreached in [away] * end.MOST_COLLECTIONS + [job_] * (end.MOST_COLLECTIONS - 1):
        with pytest.raises(Unreachable):
            loop.submit(end._collect_in_tries(unreached)).result(timeout=PATIENCE_S)
    uncollectable = loop.submit(end._collect_in_tries(job_)).result(timeout=PATIENCE_S)
    assert isinstance(uncollectable, Uncollectable) and "did not answer within 0 s" in uncollectable.reason


def test_a_start_that_is_taken_up_again_adopts_what_has_begun_before_anything_is_counted(starting, monkeypatch):
    job_, _ = starting
    assert job_.is_new
    assert loop.submit(step(job_)).result(timeout=PATIENCE_S).outcome is job.StartOutcome.STARTED
    monkeypatch.delattr(start, "snapshot")
    looked = loop.submit(step(replace(job_, is_new=False))).result(timeout=PATIENCE_S)
    assert looked.verdict.state == "running"


def test_a_cancel_without_a_plan_ends_what_runs_and_asks_for_what_it_changed_not_for_results(starting, monkeypatch):
    job_, _ = starting
    assert loop.submit(step(job_)).result(timeout=PATIENCE_S).outcome is job.StartOutcome.STARTED
    places = []

    async def put_back(_, target, work_directory):
        places.append((target, work_directory))
        return ""

    monkeypatch.setattr(server_steps, "put_back", put_back)
    ending = replace(job_, spec=specs.REMAINS, cancel_asked=True, is_new=False)
    for state in (State.RUNNING, State.COLLECTING):
        assert loop.submit(step(replace(ending, state=state))).result(timeout=PATIENCE_S) == Cancelled()
    assert places == [(job_.target, job_.attempt.work_directory)] * 2
    looked = loop.submit(look(job_)).result(timeout=PATIENCE_S)
    assert looked.verdict.state == "finished" and looked.look.returncode


def test_a_refusal_of_all_that_is_asked_is_no_evidence_of_what_an_attempt_left(starting, target):
    """The folder cannot be read, as under an account that runs nothing: however often, the run stays as it is."""
    job_, run = starting
    folder(target, run).parent.mkdir(parents=True)
    runs = target.work_directory / "runs"
    runs.chmod(0o000)
    try:
        for _ in range(end.MOST_COLLECTIONS + 1):
            with pytest.raises(RemoteFailure):
                loop.submit(end._collect_in_tries(job_)).result(timeout=PATIENCE_S)
    finally:
        runs.chmod(0o700)
    assert end._failed_collections[run.pk] == 0


def test_a_collection_that_takes_too_long_asks_for_half_as_much_at_each_try(starting, monkeypatch):
    job_, caps = starting[0], []

    async def collect(*_, cap_bytes):
        caps.append(cap_bytes)
        raise Unreachable("It did not answer in time.") from TimeoutError()

    monkeypatch.setattr(job, "collect", collect)
    for _ in range(end.MOST_COLLECTIONS - 1):
        with pytest.raises(Unreachable):
            loop.submit(end._collect_in_tries(job_)).result(timeout=PATIENCE_S)
    assert caps == [end.COLLECT_CAP_BYTES >> halvings for halvings in range(end.MOST_COLLECTIONS - 1)]


def test_what_a_host_did_not_hand_over_stays_there_for_two_weeks(starting):
    _, run = starting
    for code, is_tidied in ((None, False), (1, True)):
        ended = {"outcome": State.FAILED, "returncode": code, "ended_at": Now() - tidy.PATIENCE * 2}
        Attempt.objects.filter(run=run).update(**ended)
        assert tidy.untidied().filter(run=run).exists() is is_tidied


@pytest.mark.whole
def test_without_a_tombstone_a_start_ends_only_where_it_has_ended_itself(starting, worker, target):
    job_, run = starting
    runs = target.work_directory / "runs"
    runs.chmod(0o500)
    try:
        answer(job_, worker, start._given_up(job_, RemoteFailure("Its answer was cut off.", None)))
        assert Run.objects.get(pk=run.pk).state == State.STARTING
        assert Hold.objects.filter(run=run).exists()
        assert Host.objects.get().paused_at is None
        answer(job_, worker, start._given_up(job_, RemoteFailure("Read-only file system.", 1)))
    finally:
        runs.chmod(0o700)
    assert Run.objects.get(pk=run.pk).state == State.QUEUED
    assert Host.objects.get().pause_reason.startswith("It refused to start a run: Read-only")


@pytest.mark.whole
def test_a_start_that_began_and_was_killed_is_lost_and_never_put_back_as_if_nothing_had_been(starting, worker, target):
    job_, run = starting
    assert loop.submit(step(job_)).result(timeout=PATIENCE_S).outcome is job.StartOutcome.STARTED
    pid = folder(target, run) / "pid"
    while not pid.exists() or len(pid.read_text().split()) < 5:
        time.sleep(0.05)
    _, wrapper, _, command, _ = pid.read_text().split()
    for process in (wrapper, command):
        if identity := proc.identify(int(process)):
            proc.kill_family(identity, proc.family(identity.pid))
    while loop.submit(look(job_)).result(timeout=PATIENCE_S).verdict.state == "running":
        time.sleep(0.05)  # its locks are free once the last of its processes has ended
    answer(job_, worker, start._given_up(job_, RemoteFailure("Its answer was cut off.", None)))
    run.refresh_from_db()
    assert run.state == State.LOST, run.reason
    assert "killed there" in run.reason and "Its answer was cut off." in run.reason
    assert Attempt.objects.get(run=run).outcome == State.LOST
    assert Host.objects.get().paused_at is None


@pytest.mark.whole
def test_a_start_that_a_worker_took_back_whose_answer_came_too_late_is_another_attempt(starting, worker):
    job_, run = starting
    loop.submit(job.cancel(connections(), job_.target, job_.attempt, is_withdrawn=True)).result(timeout=PATIENCE_S)
    answer(job_, worker, step(job_))
    run.refresh_from_db()
    assert (run.state, run.attempts.get().outcome) == (State.QUEUED, "cancelled")
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    assert Run.objects.get(pk=run.pk).state == State.CANCELLED


@pytest.mark.whole
def test_a_cancel_takes_a_run_out_of_hands_that_wait_for_its_host_and_only_once(starting):
    job_, run = starting
    runs = Run.objects.filter(pk=run.pk)
    assert queue.claim(1) == []
    assert queue.ask_to_cancel(runs) == 1
    [claim] = queue.claim(1)
    assert claim.fence > job_.claim.fence
    assert queue.ask_to_cancel(runs) == 0
    with queue.fenced(claim):
        pass
    with pytest.raises(queue.StaleFenceError), queue.fenced(job_.claim):
        pass


@pytest.mark.whole
def test_a_cancel_of_what_has_ended_waits_for_no_host_that_is_away(starting, worker):
    job_, run = starting
    with queue.fenced(job_.claim) as locked:
        for state in (State.RUNNING, State.COLLECTING):
            queue.move(locked, state)
    assert queue.ask_to_cancel(Run.objects.filter(pk=run.pk)) == 1
    Host.objects.update(port=1)
    [cancelling] = jobs.prepare(queue.claim(1))
    answer(cancelling, worker, step(cancelling))
    run.refresh_from_db()
    assert run.state == State.CANCELLED
    assert not Hold.objects.exists()


@pytest.mark.whole
def test_a_cancel_of_what_has_ended_waits_for_no_person_to_approve_a_key(starting):
    job_, run = starting
    with queue.fenced(job_.claim) as locked:
        for state in (State.RUNNING, State.COLLECTING):
            queue.move(locked, state)
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    Host.objects.update(trust=Host.Trust.QUARANTINED)
    assert jobs.prepare(queue.claim(1)) == []
    run.refresh_from_db()
    assert run.state == State.CANCELLED and "its host key has changed" in run.reason
    assert not Hold.objects.exists()


@pytest.mark.whole
def test_a_cancel_of_what_has_ended_waits_for_no_key_that_nobody_can_read(starting, settings):
    job_, run = starting
    with queue.fenced(job_.claim) as locked:
        for state in (State.RUNNING, State.COLLECTING):
            queue.move(locked, state)
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    assert jobs.prepare(queue.claim(1)) == []
    run.refresh_from_db()
    assert run.state == State.CANCELLED and "not in FIELD_KEYS" in run.reason
    assert not Hold.objects.exists()
