"""Policies after a run failed or was lost, and the order in which experiments wait."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from benchhub.bench.models import Attempt, Experiment, Hold, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import order, queue
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def system():
    return new_system(new_host("alpha"))


@pytest.fixture
def make(system):
    def make(runs=3, **fields):
        experiment = new_experiment(**fields)
        for position in range(1, runs + 1):
            new_run(experiment, system, position)
        return experiment

    return make


def end_next(state, reason="no good"):
    """Take the next run to its end by the moves that a worker makes; returns it, or None where nothing may start."""
    if not queue.reserve():
        return None
    [claim] = queue.claim(1)
    with queue.fenced(claim) as run:
        Attempt.objects.create(run=run, number=run.attempts.count() + 1)
        for step in (State.STARTING, State.RUNNING):
            queue.move(run, step, fence=claim.fence)
        queue.finish(run, claim, state, reason)
    return run


def test_a_lost_run_waits_for_a_person_unless_its_experiment_says_otherwise(make):
    make(runs=1)
    end_next(State.LOST)
    assert states() == ["lost"]
    assert len(queue.reserve()) == 0


def test_a_lost_run_goes_back_to_the_queue_until_it_has_had_its_attempts(make):
    make(runs=1, attempts_if_lost=3)
    run = end_next(State.LOST, "rebooted")
    assert states() == ["queued"]
    assert not Hold.objects.exists()
    assert [event.new_state for event in run.events.all()][-2:] == ["lost", "queued"]
    end_next(State.LOST)
    end_next(State.LOST)
    assert states() == ["lost"]
    attempts = list(run.attempts.order_by("number").values_list("number", "outcome", "reason"))
    assert attempts[0] == (1, "lost", "rebooted")
    assert [number for number, _, _ in attempts] == [1, 2, 3]


def test_a_lost_run_that_was_cancelled_is_not_run_again(make):
    make(runs=1, attempts_if_lost=3)
    queue.reserve()
    Run.objects.update(cancel_asked_at=Now())
    [claim] = queue.claim(1)
    with queue.fenced(claim) as run:
        queue.move(run, State.STARTING)
        queue.finish(run, claim, State.LOST, "rebooted")
    assert states() == ["lost"]


def test_a_failed_run_is_run_again_by_hand_as_a_new_attempt_and_starts_afresh(make):
    experiment = make(runs=1)
    run = end_next(State.FAILED)
    Watch.objects.update(progress_offset=77, out_offset=5, live_tps=1, contact_error="old", last_contact_at=Now())
    assert queue.run_again(experiment.runs.all()) == 1
    run.refresh_from_db()
    assert (run.state, run.ended_at, run.started_at, run.cancel_asked_at) == ("queued", None, None, None)
    queue.reserve()
    watch = Watch.objects.get()
    assert (watch.progress_offset, watch.out_offset, watch.live_tps, watch.contact_error) == (0, 0, None, "")
    assert watch.last_contact_at is None
    assert list(run.attempts.values_list("outcome", flat=True)) == ["failed"]


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CANCELLED, State.QUEUED, State.RUNNING])
def test_nothing_else_is_run_again(state, make):
    experiment = make(runs=1)
    run = new_run(experiment, experiment.runs.get().system, 2, state=state)
    assert queue.run_again(Run.objects.filter(pk=run.pk)) == 0
    run.refresh_from_db()
    assert run.state == state


def test_who_knew_a_run_before_it_ended_writes_nothing_into_its_next_attempt(make):
    experiment = make(runs=1)
    queue.reserve()
    [claim] = queue.claim(1)
    with queue.fenced(claim) as run:
        queue.finish(run, claim, State.FAILED, "no good")
    queue.run_again(experiment.runs.all())
    queue.reserve()
    assert not queue.look_again(claim, timedelta(hours=1), step="stale")
    with pytest.raises(queue.StaleFenceError), queue.fenced(claim):
        pass
    assert Watch.objects.get().step == ""


def test_a_failed_point_does_not_stop_an_experiment_that_goes_on(make):
    make()
    for _ in range(3):
        assert end_next(State.FAILED)
    assert states() == ["failed"] * 3


def test_an_experiment_pauses_after_as_many_failures_as_its_policy_says(make):
    make(runs=4, failure_policy="pause", failure_limit=2)
    end_next(State.FAILED)
    end_next(State.LOST)
    assert end_next(State.FAILED) is None
    experiment = Experiment.objects.get()
    assert experiment.pause_reason == "2 runs failed or lost, which is where its policy stops it."
    assert states() == ["failed", "lost", "queued", "queued"]


def test_after_a_person_resumed_it_only_new_failures_count(make):
    make(runs=4, failure_policy="pause", failure_limit=2)
    end_next(State.FAILED)
    end_next(State.FAILED)
    queue.reserve()
    assert queue.resume(Experiment.objects.get())
    assert end_next(State.FAILED)
    assert len(queue.reserve()) == 1
    assert Experiment.objects.get().paused_at is None


def test_the_rest_is_cancelled_where_the_policy_says_so_and_what_runs_goes_on(make, system):
    experiment = make(runs=4, failure_policy="cancel")
    other = new_run(new_experiment(), new_system(new_host("beta"), label="beta"), 5)
    running = new_run(experiment, system, 6, state=State.RUNNING)
    end_next(State.FAILED)
    queue.reserve()
    assert states() == ["failed", *["cancelled"] * 3, "reserved", "running"]
    running.refresh_from_db()
    assert running.cancel_asked_at is None
    assert other.experiment_id != experiment.pk
    assert "1 run failed or lost" in experiment.runs.get(position=2).reason


def test_what_cannot_be_stopped_is_paused_and_holds_up_no_other(make, system, monkeypatch):
    broken, other = (make(runs=2, failure_policy="cancel") for _ in range(2))
    cancel = queue.ask_to_cancel

    def fails_for_one(runs, reason):
        if runs.filter(experiment=broken).exists():
            raise ValueError("no such move")
        return cancel(runs, reason)

    monkeypatch.setattr(queue, "ask_to_cancel", fails_for_one)
    end_next(State.FAILED)
    Run.objects.filter(experiment=other, position=1).update(state=State.FAILED)
    queue.reserve()
    broken.refresh_from_db()
    assert broken.pause_reason.startswith("BenchHub could not stop it as its policy asks: ValueError(")
    assert [run.state for run in broken.runs.order_by("position")] == ["failed", "queued"]
    assert [run.state for run in other.runs.order_by("position")] == ["failed", "cancelled"]


@pytest.mark.parametrize("policy", Experiment.FailurePolicy.values)
def test_what_would_fail_as_a_run_did_fails_with_it_whatever_the_policy(make, policy):
    experiment = make(runs=3, failure_policy=policy, failure_limit=3)
    run = end_next(State.FAILED, "Script 1, line 1: syntax error.")
    other = new_run(experiment, new_system(new_host("beta"), label="beta"), 9)
    queue.fail_alike(run, "Script 1, line 1: syntax error.")
    ends = experiment.runs.exclude(pk=other.pk).values_list("state", "reason")
    assert list(ends) == [(State.FAILED, "Script 1, line 1: syntax error.")] * 3
    assert Attempt.objects.count() == 1
    queue.stop_failing()
    experiment.refresh_from_db()
    other.refresh_from_db()
    states = {"continue": (False, "queued"), "pause": (True, "queued"), "cancel": (False, "cancelled")}
    assert (experiment.paused_at is not None, other.state) == states[policy]


def test_a_person_who_resumes_meanwhile_is_not_overruled(make):
    make(failure_policy="pause")
    end_next(State.FAILED)
    experiment = Experiment.objects.get()
    queue.pause(experiment, "by policy")
    queue.resume(Experiment.objects.get())
    assert not queue.pause(experiment, "late, by a worker that knew it before")
    assert Experiment.objects.get().paused_at is None


def waiting_names():
    return list(Experiment.objects.waiting().values_list("name", flat=True))


@pytest.fixture
def five(make):
    """Queue five experiments: urgent (priority 5), then a, b, c, d (0)."""
    priorities = {"a": 0, "b": 0, "urgent": 5, "c": 0, "d": 0}
    for name, priority in priorities.items():
        Experiment.objects.filter(pk=make(runs=1, priority=priority).pk).update(name=name)
    return {row.name: row for row in Experiment.objects.all()}


def test_priority_goes_first_and_then_age(five):
    assert waiting_names() == ["urgent", "a", "b", "c", "d"]
    names = Run.objects.next_first().values_list("experiment__name", flat=True)
    assert list(names) == waiting_names()


def test_an_experiment_is_moved_by_one_at_a_time(five):
    assert order.shift(five["c"], -1)
    assert waiting_names() == ["urgent", "a", "c", "b", "d"]
    assert order.shift(five["c"], -1)
    assert order.shift(five["b"], 1)
    assert waiting_names() == ["urgent", "c", "a", "d", "b"]


def test_what_is_moved_past_another_priority_takes_it_and_changes_nobody_elses(five):
    order.shift(five["a"], -1)
    assert waiting_names() == ["a", "urgent", "b", "c", "d"]
    assert dict(Experiment.objects.values_list("name", "priority")) == {"a": 5, "urgent": 5, "b": 0, "c": 0, "d": 0}
    order.shift(five["urgent"], 1)
    assert waiting_names() == ["a", "b", "urgent", "c", "d"]


def test_the_ends_of_the_queue_and_what_does_not_wait_are_not_moved(five):
    assert not order.shift(five["urgent"], -1)
    assert not order.shift(five["d"], 1)
    Run.objects.filter(experiment=five["b"]).update(state=State.CANCELLED)
    assert not order.shift(five["b"], 1)
    assert waiting_names() == ["urgent", "a", "c", "d"]
