"""Runs that one tick reserves together: as one after the other, by as many statements as a single one."""

import threading

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from benchhub.bench.models import Event, Experiment, ExperimentSystem, Hold, Run, Tenancy, Watch
from benchhub.bench.queue import gates, queue, reserving, tenancies
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system
from benchhub.catalog.models import Host, InterferenceGroup

pytestmark = pytest.mark.django_db


def waiting(count, first=0, **fields):
    """Queue a run of an experiment of its own on each of so many hosts; returns the runs."""
    return [_waiting(f"host{number}", **fields) for number in range(first, first + count)]


def _waiting(name, **fields):
    system = new_system(new_host(name), label=name)
    experiment = new_experiment(**fields)
    ExperimentSystem.objects.create(experiment=experiment, system=system, position=0)
    return new_run(experiment, system, 1)


def held(run):
    return set(Hold.objects.filter(run=run).values_list("resource", flat=True))


def needs(run):
    return set(gates.resources(run.system))


def statements_of(count, first):
    """Return how many statements reserve so many runs, which wait on hosts of their own."""
    runs = waiting(count, first, failure_policy=Experiment.FailurePolicy.PAUSE)
    with CaptureQueriesContext(connection) as queries:
        keys = queue.reserve()
    assert sorted(keys) == [run.pk for run in runs]
    return len(queries)


def test_twenty_runs_are_reserved_by_as_many_statements_as_a_single_one():
    statements_of(1, 0)  # what is asked for the first time may have to be prepared
    single = statements_of(1, 1)
    assert statements_of(20, 2) == single


def test_each_has_its_holds_its_watch_its_move_and_its_data_set():
    runs = waiting(3)
    assert sorted(queue.reserve()) == [run.pk for run in runs]
    for run in runs:
        run.refresh_from_db()
        assert run.state == "reserved"
        assert held(run) == needs(run)
        assert [str(event) for event in run.events.all()] == ["queued -> reserved"]
        assert run.watch.fence == 0
        assert run.watch.lease_until is None
    assert set(Tenancy.objects.values_list("experiment", flat=True)) == {run.experiment_id for run in runs}


def test_a_watch_of_an_attempt_before_keeps_its_fence_and_forgets_what_was_seen():
    [run] = waiting(1)
    Watch.objects.create(run=run, fence=7, step="measure", contact_error="Away.", live_tps=3.0)
    assert queue.reserve() == [run.pk]
    watch = Watch.objects.get(run=run)
    assert [watch.fence, watch.step, watch.contact_error, watch.live_tps] == [7, "", "", None]


def test_what_another_worker_holds_keeps_its_run_alone_from_starting():
    first, second, third = waiting(3)
    taken = f"instance:{second.system.instance_id}"
    Hold.objects.create(resource=taken)
    with transaction.atomic():
        assert reserving.take([first, second, third]) == [first.pk, third.pk]
    assert held(second) == set()
    assert Hold.objects.get(resource=taken).run is None
    assert Run.objects.get(pk=second.pk).state == "queued"
    assert not Event.objects.filter(run=second).exists()
    assert not Tenancy.objects.filter(experiment=second.experiment_id).exists()


def test_a_worker_that_comes_second_takes_nothing_from_the_first():
    runs = waiting(2)
    assert sorted(reserving.take(runs)) == [run.pk for run in runs]
    assert reserving.take(runs) == []
    assert all(held(run) == needs(run) for run in runs)
    assert Event.objects.count() == 2


def test_of_two_hosts_that_share_hardware_the_first_in_the_queue_starts():
    first, second = waiting(2)
    group = InterferenceGroup.objects.create(name="rack")
    Host.objects.update(interference_group=group)
    runs = Run.objects.filter(pk__in=[first.pk, second.pk]).order_by("-pk")
    assert reserving.take(runs.select_related("experiment")) == [second.pk]
    assert f"group:{group.pk}" in held(second)
    assert held(first) == set()


def test_of_two_experiments_with_a_server_in_common_one_begins_though_their_runs_do_not_meet():
    systems = [new_system(new_host(name), label=name) for name in ("alpha", "beta", "gamma")]
    experiments = [new_experiment(recipe_digest=f"recipe {number}") for number in range(3)]
    # The first and the third have no server in common, but the second has one in common with each.
    for number, own in enumerate(((0,), (0, 1), (1, 2))):
        for place, index in enumerate(own):
            ExperimentSystem.objects.create(experiment=experiments[number], system=systems[index], position=place)
    runs = [new_run(experiment, system, 1) for experiment, system in zip(experiments, systems, strict=True)]
    assert [run.pk for run in tenancies.take(runs)] == [runs[0].pk, runs[2].pk]
    owners = Tenancy.objects.order_by("instance").values_list("instance__name", "experiment")
    assert list(owners) == [
        ("alpha", experiments[0].pk), ("beta", experiments[2].pk), ("gamma", experiments[2].pk)
    ]  # fmt: skip


def test_what_cannot_be_reserved_pauses_its_own_experiment_and_the_others_start(monkeypatch):
    first, second = waiting(2)
    take = tenancies.take

    def fails_for_the_first(runs):
        if first.pk in {run.pk for run in runs}:
            raise ValueError("Unreadable.")
        return take(runs)

    monkeypatch.setattr(tenancies, "take", fails_for_the_first)
    assert queue.reserve() == [second.pk]
    experiment = Experiment.objects.get(pk=first.experiment_id)
    assert "Unreadable." in experiment.pause_reason
    assert held(first) == set()
    assert Experiment.objects.get(pk=second.experiment_id).paused_at is None


@pytest.mark.django_db(transaction=True)
def test_workers_that_reserve_at_once_start_each_run_once():
    runs = waiting(12)
    keys = []

    def reserve():
        try:
            keys.extend(queue.reserve())
        finally:
            connection.close()

    workers = [threading.Thread(target=reserve) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    keys += queue.reserve()  # what another was just at is left to the next tick
    assert sorted(keys) == [run.pk for run in runs]
    assert Event.objects.filter(new_state="reserved").count() == len(runs)
    assert all(held(run) == needs(run) for run in runs)


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_being_cancelled_is_not_waited_for():
    first, second = waiting(2)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=first.pk)
        keys = []

        def reserve():
            keys.extend(queue.reserve())
            connection.close()

        worker = threading.Thread(target=reserve)
        worker.start()
        worker.join()
    assert keys == [second.pk]
    assert held(first) == set()
    assert queue.reserve() == [first.pk]


def test_of_two_that_share_hardware_the_first_starts_though_a_load_of_the_other_failed_before_its_newest():
    first, second = waiting(2)
    Host.objects.update(interference_group=InterferenceGroup.objects.create(name="rack"))
    Run.objects.filter(pk=second.pk).update(position=9)
    for position, state in enumerate(("failed", "succeeded"), start=1):
        new_run(second.experiment, second.system, position, state=state, kind="load", clients=0, threads=0)
    assert reserving.unprepared([first, second]) == {second.pk}
    assert queue.reserve() == [first.pk]
    assert Run.objects.get(pk=second.pk).state == "queued"
    assert held(second) == set()
