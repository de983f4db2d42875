"""Who needs several things at once is not overtaken for ever, and later runs use what would lie idle till then."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from benchhub.bench.models import Attempt, ExperimentSystem, Hold, Promise, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates, promises, queue
from benchhub.bench.queue.gates import statements
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system
from benchhub.catalog.models import Host

pytestmark = pytest.mark.django_db


@pytest.fixture
def driver():
    return new_host("driver")


@pytest.fixture
def server():
    return new_host("server")


@pytest.fixture
def apart(driver, server):
    return new_system(server, driver, label="apart")


@pytest.fixture
def smaller(driver, server):
    """Return two systems, each on a host of its own."""
    return new_system(driver, label="on the driver"), new_system(server, label="on the server")


def end(run):
    for state in (State.COLLECTING, State.SUCCEEDED):
        queue.move(run, state)
    queue.release(run)


def reserved():
    return Run.objects.in_bulk(queue.reserve())


def reasons(run):
    return " ".join(gates.sentences(gates.with_gates(Run.objects.filter(pk=run.pk)).get()))


def test_a_run_that_needs_two_hosts_is_not_starved_by_smaller_ones_that_never_leave_both_free(apart, smaller):
    """Runs of ten seconds alternate on its two hosts, and more of them wait at any time."""
    queues = [new_experiment(), new_experiment()]
    for experiment, system in zip(queues, smaller, strict=True):
        for position in range(1, 21):
            new_run(experiment, system, position, expected_s=10)
    assert len(reserved()) == 2
    urgent = new_run(new_experiment(priority=9), apart, 1, expected_s=60)
    assert reserved() == {}
    active = list(Run.objects.filter(state=State.RESERVED).order_by("pk"))
    for run in active:
        assert urgent.pk not in reserved()
        for state in (State.STARTING, State.RUNNING):
            queue.move(run, state)
        end(run)
    assert list(reserved()) == [urgent.pk]
    assert Run.objects.filter(state=State.SUCCEEDED).count() == 2
    reserved()
    assert not Promise.objects.exists()


def test_what_ends_before_the_first_could_start_starts_still_and_what_does_not_waits(apart, smaller):
    long, short = new_experiment(), new_experiment()
    new_run(long, smaller[0], 1, expected_s=600)
    assert len(reserved()) == 1
    new_run(new_experiment(priority=9), apart, 1, expected_s=60)
    assert reserved() == {}
    too_long = new_run(short, smaller[1], 1, expected_s=3600)
    assert reserved() == {}
    assert "nothing later starts there before it" in reasons(too_long)
    fits = new_run(short, smaller[1], 2, expected_s=60)
    assert list(reserved()) == [fits.pk]


def test_what_comes_earlier_in_the_queue_is_not_held_up_by_a_promise(apart, smaller):
    new_run(new_experiment(), smaller[0], 1, expected_s=600)
    reserved()
    new_run(new_experiment(priority=5), apart, 1, expected_s=60)
    reserved()
    assert Promise.objects.exists()
    first = new_run(new_experiment(priority=9), smaller[1], 1, expected_s=3600)
    assert list(reserved()) == [first.pk]


@pytest.mark.parametrize("reason", ["paused", "cancelled"])
def test_a_promise_ends_with_what_it_was_for(apart, smaller, reason):
    new_run(new_experiment(), smaller[0], 1, expected_s=600)
    reserved()
    experiment = new_experiment(priority=9)
    new_run(experiment, apart, 1, expected_s=60)
    reserved()
    waits = new_run(new_experiment(), smaller[1], 1, expected_s=3600)
    assert reserved() == {}
    if reason == "paused":
        queue.pause(experiment, "by ada")
    else:
        queue.ask_to_cancel(experiment.runs.all())
    reserved()
    assert list(reserved()) == [waits.pk] or Run.objects.get(pk=waits.pk).state == State.RESERVED
    assert not Promise.objects.exists()


def test_a_run_whose_hosts_are_the_same_needs_no_promise(smaller):
    experiment = new_experiment()
    for position in range(1, 4):
        new_run(experiment, smaller[0], position, expected_s=10)
    reserved()
    reserved()
    assert not Promise.objects.exists()


def planned(*systems, recipe, seconds=60, **fields):
    experiment = new_experiment(recipe_digest=recipe, **fields)
    for place, system in enumerate(systems, start=1):
        ExperimentSystem.objects.create(experiment=experiment, system=system, position=place)
        new_run(experiment, system, place, expected_s=seconds)
    return experiment


def test_an_experiment_on_two_servers_is_not_overtaken_for_ever_by_those_on_one(smaller):
    first, second = smaller
    begun = planned(first, recipe="small")
    assert len(reserved()) == 1
    both = planned(first, second, recipe="large")
    assert reserved() == {}
    later = [planned(second, recipe="other", seconds=600), planned(first, recipe="small", seconds=600)]
    assert reserved() == {}
    for experiment in later:
        assert "nothing later starts there before it" in reasons(experiment.runs.get())
    run = begun.runs.get()
    for state in (State.STARTING, State.RUNNING):
        queue.move(run, state)
    end(run)
    assert {run.experiment_id for run in reserved().values()} == {both.pk}


def test_of_those_that_wait_for_the_same_until_the_same_moment_only_the_first_has_a_promise(smaller):
    first, second = smaller
    planned(first, recipe="small")
    assert len(reserved()) == 1
    both = planned(first, second, recipe="large")
    later = planned(first, second, recipe="other")
    assert reserved() == {}
    assert {promise.run.experiment_id for promise in Promise.objects.select_related("run")} == {both.pk}
    assert "nothing later starts there before it" in reasons(later.runs.first())


def test_a_short_experiment_uses_a_server_that_another_waits_to_have_with_a_second_one(smaller):
    first, second = smaller
    planned(first, recipe="small", seconds=3600)
    reserved()
    planned(first, second, recipe="large")
    assert reserved() == {}
    short = planned(second, recipe="other", seconds=60)
    assert {run.experiment_id for run in reserved().values()} == {short.pk}


def test_nothing_is_promised_behind_a_host_that_is_not_reached(apart, smaller):
    """Nobody knows when that ends: the other host would stand idle for as long."""
    stuck = new_run(new_experiment(), smaller[1], 1, expected_s=10)
    reserved()
    new_run(new_experiment(priority=9), apart, 1, expected_s=60)
    reserved()
    assert Promise.objects.exists()
    Watch.objects.filter(run=stuck).update(unreachable_since=Now())
    waits = new_run(new_experiment(), smaller[0], 1, expected_s=3600)
    reserved()
    assert not Promise.objects.exists()
    reserved()
    assert Run.objects.get(pk=waits.pk).state == State.RESERVED


@pytest.mark.parametrize("fault", ["rests after a start", "is not reached"])
def test_nothing_is_promised_to_a_run_whose_servers_host_was_away_at_its_start(apart, smaller, server, fault):
    """Its driver would stand idle until that host has had its rest, and then again."""
    urgent = new_run(new_experiment(priority=9), apart, 1, expected_s=60)
    Hold.objects.create(resource=f"host:{server.pk}", rest_s=30, free_at=Now() + timedelta(seconds=30))
    assert reserved() == {}
    assert Promise.objects.exists()
    waits = new_run(new_experiment(), smaller[0], 1, expected_s=3600)
    assert reserved() == {}
    if fault == "is not reached":
        Host.objects.filter(pk=server.pk).update(unreachable_since=Now())
    else:
        reason = f"{promises.AWAY_SERVER} It refused."
        Attempt.objects.create(run=urgent, number=1, outcome=State.CANCELLED, ended_at=Now(), reason=reason)
    reserved()
    assert not Promise.objects.exists()
    assert list(reserved()) == [waits.pk] or Run.objects.get(pk=waits.pk).state == State.RESERVED
    assert Run.objects.get(pk=urgent.pk).state == State.QUEUED


def test_a_run_whose_servers_host_refused_at_its_start_is_promised_it_again_once_that_has_rested(apart, smaller):
    urgent = new_run(new_experiment(priority=9), apart, 1, expected_s=60)
    reason = f"{promises.AWAY_SERVER} It refused."
    Attempt.objects.create(run=urgent, number=1, outcome=State.CANCELLED, ended_at=Now(), reason=reason)
    queue.pause(urgent.experiment, "by ada")
    new_run(new_experiment(), smaller[0], 1, expected_s=600)
    assert len(reserved()) == 1
    queue.resume(urgent.experiment)
    reserved()
    assert set(Promise.objects.values_list("run", flat=True)) == {urgent.pk}


def test_what_is_asked_of_the_queue_does_not_grow_with_systems_of_which_no_run_waits(driver, server, smaller):
    new_run(new_experiment(), smaller[0], 1, expected_s=10)
    reserved()
    new_run(new_experiment(), smaller[0], 1, expected_s=10)
    statements = []
    for label in ("first", "second"):
        with CaptureQueriesContext(connection) as queries:
            promises.renew()
        statements.append([query["sql"] for query in queries if query["sql"].startswith("SELECT")])
        new_system(server, driver, label=label)
    assert statements[0] == statements[1]
    assert gates.has_apart() is False


@pytest.mark.parametrize("reason", ["experiment", "host", "needs none"])
def test_runs_that_are_promised_nothing_take_no_place_among_the_first(apart, smaller, server, reason, monkeypatch):
    """Some stand first that are stopped, or need one host alone; the one that needs two comes after them."""
    monkeypatch.setattr(statements, "MOST_PROMISED", 2)
    new_run(new_experiment(), smaller[0], 1, expected_s=600)
    assert len(reserved()) == 1
    for number in range(3):
        spare = new_host(f"spare {number}")
        system = smaller[0] if reason == "needs none" else new_system(server, spare, label=spare.name)
        first = new_run(new_experiment(priority=9), system, 1, expected_s=60)
        if reason == "experiment":
            queue.pause(first.experiment, "by ada")
        elif reason == "host":
            spare.pause()
    urgent = new_run(new_experiment(priority=5), apart, 1, expected_s=60)
    assert reserved() == {}
    assert set(Promise.objects.values_list("run", flat=True)) == {urgent.pk}
    too_long = new_run(new_experiment(), smaller[1], 1, expected_s=3600)
    assert reserved() == {}
    assert "nothing later starts there before it" in reasons(too_long)
