"""Whose data set an instance has: by the database, experiment against experiment."""

import threading
from importlib import import_module

import pytest
from django.db import connection

from benchhub.bench.models import Experiment, ExperimentSystem, Run, Tenancy
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates, queue, tenancies
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system
from benchhub.catalog.models import DataSet

pytestmark = pytest.mark.django_db
BETWEEN = Experiment.DataSetPolicy.BETWEEN


@pytest.fixture
def system():
    return new_system(new_host("alpha"))


def planned(*systems, runs=2, recipe="small", load=False, **fields):
    """Queue an experiment with so many runs on each system, after a load on each where asked for."""
    experiment = new_experiment(recipe_digest=recipe, **fields)
    kinds = [Run.Kind.LOAD] * load + [Run.Kind.MEASURE] * runs
    for place, system in enumerate(systems):
        ExperimentSystem.objects.create(experiment=experiment, system=system, position=place)
        for number, kind in enumerate(kinds, start=1):
            new_run(experiment, system, 100 * place + number, kind=kind)
    return experiment


def reserved():
    """Reserve what may run, and return the names of the experiments by which it runs, in their order."""
    keys = queue.reserve()
    return [Run.objects.get(pk=key).experiment.pk for key in keys]


def finish_active(state=State.SUCCEEDED):
    for run in Run.objects.active():
        for step in (State.STARTING, State.RUNNING, State.COLLECTING, state):
            queue.move(run, step)
        queue.release(run)


def reasons(experiment):
    run = gates.with_gates(experiment.runs.queued().select_related("system__driver")).first()
    return " ".join(gates.sentences(run, without=gates.CONTENTION))


def test_an_experiment_of_higher_priority_that_needs_other_data_waits_for_what_has_begun(system):
    begun = planned(system)
    assert reserved() == [begun.pk]
    urgent = planned(system, recipe="large", load=True, priority=9)
    finish_active()
    assert reserved() == [begun.pk]
    assert "e has begun on its server" in reasons(urgent)
    finish_active()
    assert reserved() == [urgent.pk]
    assert list(Tenancy.objects.values_list("experiment", flat=True)) == [urgent.pk]


def test_one_that_may_come_between_does_and_what_had_begun_waits_until_it_has_ended(system):
    begun = planned(system)
    reserved()
    urgent = planned(system, recipe="large", load=True, runs=1, priority=9, data_set_policy=BETWEEN)
    finish_active()
    assert [reserved(), reasons(begun)] == [[urgent.pk], reasons(begun)]
    assert "has begun on its server" in reasons(begun)
    finish_active()
    assert reserved() == [urgent.pk]
    finish_active()
    assert reserved() == [begun.pk]


def test_one_of_the_same_priority_does_not_come_between(system):
    begun = planned(system)
    reserved()
    planned(system, recipe="large", load=True, data_set_policy=BETWEEN)
    finish_active()
    assert reserved() == [begun.pk]


def test_what_needs_the_same_data_shares_them_unless_it_loads_them_anew(system):
    begun = planned(system)
    reserved()
    sharing, loading = planned(system, priority=2), planned(system, priority=9, load=True)
    finish_active()
    assert reserved() == [sharing.pk]
    assert "has begun on its server" in reasons(loading)
    assert Tenancy.objects.filter(experiment=begun).exists()


def test_nothing_measures_between_a_load_before_each_run_and_its_run(system):
    begun = planned(system, load=True, loading=Experiment.Loading.EACH)
    reserved()
    planned(system, priority=9)
    finish_active()
    assert reserved() == [begun.pk]


def test_paused_by_a_person_it_gives_way_and_once_resumed_it_waits_for_its_guest(system):
    begun = planned(system)
    reserved()
    guest = planned(system, recipe="large", load=True)
    finish_active()
    queue.pause(begun, "Paused by ada.")
    assert reserved() == [guest.pk]
    begun.refresh_from_db()
    queue.resume(begun)
    finish_active()
    assert reserved() == [guest.pk]
    assert "has begun on its server" in reasons(begun)


def test_paused_and_resumed_with_nothing_between_it_goes_on(system):
    begun = planned(system)
    reserved()
    finish_active()
    queue.pause(begun, "Paused by ada.")
    begun.refresh_from_db()
    queue.resume(begun)
    planned(system, recipe="large", load=True, priority=9)
    assert reserved() == [begun.pk]


def test_one_whose_start_was_given_back_has_not_begun(system):
    begun = planned(system)
    reserved()
    [run] = Run.objects.active()
    queue.give_back(run, *queue.claim(1, [run.pk]), "Its host refused to start it.")
    urgent = planned(system, recipe="large", load=True, priority=9)
    assert reserved() == [urgent.pk]
    assert not Tenancy.objects.filter(experiment=begun).exists()


def test_two_that_need_the_same_two_servers_never_wait_for_each_other():
    systems = [new_system(new_host(name), label=name) for name in ("alpha", "beta")]
    first = planned(*systems, runs=1)
    second = planned(*reversed(systems), recipe="large", load=True, runs=1)
    assert set(reserved()) == {first.pk}
    finish_active()
    assert set(reserved()) == {second.pk}


def test_one_that_fails_as_a_whole_lets_go(system):
    planned(system, runs=1)
    reserved()
    guest = planned(system, recipe="large", load=True)
    finish_active(State.FAILED)
    assert reserved() == [guest.pk]


def test_one_that_grows_keeps_its_server_between_two_steps(system):
    growing = planned(system, runs=1, grows=Experiment.Grows.PEAK, most_runs=9)
    reserved()
    finish_active()
    guest = planned(system, recipe="large", load=True)
    assert reserved() == []
    assert "has begun" in reasons(guest)
    assert Tenancy.objects.get().experiment == growing


def test_a_run_whose_server_has_other_data_waits_for_a_load_and_a_load_does_not(system):
    experiment = planned(system, load=True, runs=1)
    later = planned(system, runs=1)
    fields = {"build": system.build, "recipe": {}, "size_bytes": 1, "checksum": "x"}
    DataSet.objects.create(instance=system.instance, recipe_digest="large", **fields)
    assert "another data set" in reasons(later)
    assert "another data set" not in reasons(experiment)
    assert reserved() == [experiment.pk]


@pytest.mark.django_db(transaction=True)
def test_of_two_that_need_the_same_servers_and_begin_at_once_on_different_ones_one_does():
    systems = [new_system(new_host(name), label=name) for name in ("alpha", "beta")]
    experiments = [new_experiment(recipe_digest=f"recipe {number}") for number in range(2)]
    for experiment, own in zip(experiments, systems, strict=True):
        for place, system in enumerate(systems):
            ExperimentSystem.objects.create(experiment=experiment, system=system, position=place)
        new_run(experiment, own, 1)
    counts = []

    def reserve():
        counts.append(len(queue.reserve()))
        connection.close()

    threads = [threading.Thread(target=reserve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 1
    assert set(Tenancy.objects.values_list("experiment").distinct()) == set(
        Run.objects.active().values_list("experiment")
    )


def test_what_has_ended_is_tidied_away(system):
    planned(system, runs=1)
    reserved()
    finish_active()
    tenancies.end()
    assert not Tenancy.objects.exists()


def test_what_was_under_way_when_the_release_was_upgraded_has_begun(system):
    """The statement of the migration: of one under way, one that waits and one that has ended, the first."""
    begun, ended = planned(system), planned(system, runs=1)
    planned(system, recipe="large", load=True)
    ended.runs.update(state=State.CANCELLED)
    reserved()
    Tenancy.objects.all().delete()
    migration = import_module("benchhub.bench.migrations.0006_data_sets_belong_to_experiments")
    with connection.cursor() as cursor:
        cursor.execute(migration.UNDER_WAY)
    assert list(Tenancy.objects.values_list("experiment", "instance")) == [(begun.pk, system.instance_id)]
