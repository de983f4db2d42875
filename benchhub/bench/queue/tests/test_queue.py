"""Reserving, claiming, fencing and moving, without a target: rows only."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from benchhub.bench.models import Event, Experiment, Hold, Run, Watch
from benchhub.bench.models.states import MOVES, State, may_move
from benchhub.bench.queue import queue
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system, states
from benchhub.catalog.models import InterferenceGroup

pytestmark = pytest.mark.django_db
SET_BACK = timedelta(hours=2)


@pytest.fixture
def two_runs():
    system = new_system(new_host("alpha"))
    experiment = new_experiment()
    return new_run(experiment, system, 1), new_run(experiment, system, 2)


def failed_load(experiment, system, position=1):
    load = new_run(experiment, system, position, kind="load", clients=0, threads=0, repeat=position)
    for state in ("reserved", "starting", "failed"):
        Run.objects.filter(pk=load.pk).update(state=state)
    return load


def test_all_that_waits_for_a_data_set_fails_with_its_load_and_the_host_goes_on_with_others():
    system = new_system(new_host("alpha"))
    experiment = new_experiment()
    load = failed_load(experiment, system)
    runs = [new_run(experiment, system, position) for position in range(2, 12)]
    other = new_run(new_experiment(), system, 1)
    queue.reserve()
    ended = Run.objects.filter(pk__in=[run.pk for run in runs])
    assert set(ended.values_list("state", "reason")) == {
        ("failed", f"Its data set was not loaded (run {load.pk} failed): ")
    }
    assert queue.reserve() == [other.pk]


def test_what_has_a_load_of_its_own_waits_for_that_although_the_one_before_failed():
    system = new_system(new_host("alpha"))
    experiment = new_experiment(loading="each")
    failed_load(experiment, system)
    new_run(experiment, system, 2)
    second_load = new_run(experiment, system, 3, kind="load", clients=0, threads=0)
    new_run(experiment, system, 4)
    queue.reserve()
    assert states() == ["failed", "failed", "queued", "queued"]
    assert queue.reserve() == [second_load.pk]


def test_a_policy_that_pauses_after_failures_still_pauses_before_all_that_waits_has_failed():
    system = new_system(new_host("alpha"))
    experiment = new_experiment(failure_policy="pause", failure_limit=3)
    failed_load(experiment, system)
    for position in range(2, 12):
        new_run(experiment, system, position)
    for _ in range(5):
        queue.reserve()
    experiment.refresh_from_db()
    assert experiment.paused_at
    assert states() == ["failed"] * 3 + ["queued"] * 8


def test_only_one_run_of_a_host_is_reserved_however_often_it_is_asked_for(two_runs):
    assert len(queue.reserve()) == 1
    assert len(queue.reserve()) == 0
    assert states() == ["reserved", "queued"]


def test_the_next_run_is_reserved_when_the_one_before_has_ended(two_runs):
    queue.reserve()
    [claim] = queue.claim(10)
    with queue.fenced(claim) as run:
        queue.finish(run, claim, State.FAILED, "no good")
    assert len(queue.reserve()) == 1
    assert states() == ["failed", "reserved"]


def test_a_rest_keeps_the_host_free_until_it_is_over(two_runs):
    Experiment.objects.update(rest_s=60)
    queue.reserve()
    [claim] = queue.claim(10)
    with queue.fenced(claim) as run:
        queue.finish(run, claim, State.CANCELLED)
    assert len(queue.reserve()) == 0
    Hold.objects.update(free_at=Now() - timedelta(seconds=1))
    assert len(queue.reserve()) == 1


def test_what_a_clock_that_was_set_back_left_in_the_future_is_due_at_once(two_runs):
    queue.reserve()
    Watch.objects.update(next_look_at=Now() + SET_BACK, lease_until=Now() + SET_BACK)
    [claim] = queue.claim(10)
    assert queue.claim(10) == []
    Experiment.objects.update(rest_s=60)
    with queue.fenced(claim) as run:
        queue.finish(run, claim, State.CANCELLED)
    Hold.objects.update(free_at=Now() + SET_BACK)
    assert len(queue.reserve()) == 1


def test_a_run_needs_its_server_as_well_as_its_driver():
    server, driver = new_host("server"), new_host("driver")
    local, remote = new_system(server, label="local"), new_system(server, driver, label="remote")
    experiment = new_experiment()
    new_run(experiment, local, 1)
    new_run(experiment, remote, 2)
    assert len(queue.reserve()) == 1
    assert len(queue.reserve()) == 0
    assert states() == ["reserved", "queued"] or states() == ["queued", "reserved"]


def test_hosts_that_share_hardware_run_one_at_a_time_and_others_do_not_wait():
    group = InterferenceGroup.objects.create(name="one hypervisor")
    first, second = new_host("first", interference_group=group), new_host("second", interference_group=group)
    systems = [new_system(host, label=host.name) for host in (first, second, new_host("apart"))]
    experiment = new_experiment()
    for position, system in enumerate(systems, 1):
        new_run(experiment, system, position)
    assert len(queue.reserve()) == 2
    assert Run.objects.get(system__label="apart").state == State.RESERVED


def test_a_higher_priority_goes_first(two_runs):
    new_run(new_experiment(priority=5), two_runs[0].system, 3)
    queue.reserve()
    assert states() == ["queued", "queued", "reserved"]


def test_many_queued_runs_are_cancelled_by_as_many_statements_as_few(two_runs, django_assert_max_num_queries):
    experiment, system = two_runs[0].experiment, two_runs[0].system
    for position in range(3, 53):
        new_run(experiment, system, position)
    with django_assert_max_num_queries(12):
        assert queue.ask_to_cancel(experiment.runs.all()) == 52
    assert {run.state for run in experiment.runs.all()} == {State.CANCELLED}
    for run in experiment.runs.all():
        assert run.ended_at and run.reason == "Cancelled before it started."
        assert [str(event) for event in run.events.all()][-1] == "queued -> cancelled"


def test_a_run_cancelled_in_the_queue_never_starts(two_runs):
    Run.objects.filter(pk=two_runs[0].pk).update(cancel_asked_at=Now())
    queue.reserve()
    queue.reserve()
    assert states() == ["cancelled", "reserved"]
    assert not two_runs[0].attempts.exists()


def test_a_claimed_run_is_not_claimed_again_until_its_lease_ends(two_runs):
    queue.reserve()
    [first] = queue.claim(10)
    assert queue.claim(10) == []
    Watch.objects.update(lease_until=Now() - timedelta(seconds=1))
    [second] = queue.claim(10)
    assert second.fence == first.fence + 1


def test_a_worker_that_wakes_up_stale_writes_nothing(two_runs):
    queue.reserve()
    [stale] = queue.claim(10)
    Watch.objects.update(lease_until=None)
    [newer] = queue.claim(10)
    with pytest.raises(queue.StaleFenceError), queue.fenced(stale) as run:
        queue.move(run, State.STARTING)
    queue.look_again(stale, timedelta(hours=1), step="stale")
    assert Watch.objects.get().step == ""
    with queue.fenced(newer) as run:
        queue.move(run, State.STARTING)
    assert states()[0] == "starting"


def test_a_run_that_is_not_due_is_claimed_only_when_it_is_named(two_runs):
    queue.reserve()
    Watch.objects.update(next_look_at=Now() + queue.LEASE / 2)
    assert queue.claim(10) == []
    assert [claim.run_id for claim in queue.claim(10, [two_runs[0].pk])] == [two_runs[0].pk]


def test_a_move_that_is_not_allowed_is_refused_and_not_recorded(two_runs):
    with pytest.raises(ValueError, match="may not move from queued to succeeded"):
        queue.move(two_runs[0], State.SUCCEEDED)
    assert not Event.objects.exists()


@pytest.mark.parametrize("old", State.values)
@pytest.mark.parametrize("new", State.values)
def test_the_database_allows_the_same_moves_as_the_state_machine(old, new, two_runs):
    run = new_run(two_runs[0].experiment, two_runs[0].system, 3, state=old)
    is_allowed = True
    try:
        with transaction.atomic():
            Run.objects.filter(pk=run.pk).update(state=new)
    except IntegrityError:
        is_allowed = False
    assert is_allowed == (old == new or may_move(old, new))


def test_final_states_have_no_way_out_but_a_new_attempt_of_what_was_lost_or_failed():
    assert {state for state in (State.SUCCEEDED, State.CANCELLED) if MOVES[state]} == set()
    assert MOVES[State.LOST] == MOVES[State.FAILED] == {State.QUEUED}


def test_the_plan_of_a_run_cannot_be_rewritten(two_runs):
    with pytest.raises(IntegrityError, match="frozen"):
        Run.objects.filter(pk=two_runs[0].pk).update(spec={"clients": 99})


@pytest.mark.parametrize(("attempts", "count"), [(1, 1), (2, 0)])
def test_a_lost_run_is_queued_again_until_it_has_had_its_attempts(attempts, count, two_runs):
    lost = new_run(two_runs[0].experiment, two_runs[0].system, 3, state=State.LOST)
    for number in range(attempts):
        lost.attempts.create(number=number, ended_at=Now())
    for number in range(attempts, 9):  # of which nothing began
        lost.attempts.create(number=number, ended_at=Now(), outcome=State.CANCELLED)
    assert queue.run_lost_again(lost.experiment, attempts=2) == count
    assert states() == ["queued", "queued", "queued" if count else "lost"]


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_reserve_and_claim_each_run_once():
    experiment = None
    for number in range(6):
        system = new_system(new_host(f"host{number}"), label=f"host{number}")
        experiment = experiment or new_experiment()
        new_run(experiment, system, number + 1)
    claims, barrier = [], threading.Barrier(8)

    def work():
        barrier.wait()
        queue.reserve()
        claims.extend(queue.claim(3))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claims.extend(queue.claim(10))
    assert sorted(claim.run_id for claim in claims) == sorted(Run.objects.values_list("pk", flat=True))
    assert {claim.fence for claim in claims} == {1}
    assert Event.objects.filter(new_state=State.RESERVED).count() == 6
