"""The numbers of runs by state that are kept are those that counting all runs would give."""

import random

import pytest
from django.db import transaction
from django.db.models import Count

from benchhub.bench import testing
from benchhub.bench.models import EndedCount, Run
from benchhub.bench.models.states import FINAL, MOVES, State
from benchhub.bench.operations import vitals
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db


class GivenUpError(Exception):
    pass


@pytest.fixture
def runs():
    system = testing.make_system(
        "18", testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    )
    experiment = testing.make_experiment([system])
    for repeat in range(1, 13):
        testing.make_run(experiment, system, 8, repeat)
    return Run.objects.filter(experiment=experiment)


def numbers():
    counted = dict(Run.objects.values_list("state").annotate(Count("pk")))
    by_state = vitals.runs_by_state()
    assert by_state == {state: counted.get(state, 0) for state in State.values}
    return {state: number for state, number in by_state.items() if number}


def cancel(runs):
    runs.update(state=State.CANCELLED)


def test_runs_that_end_by_one_statement_are_counted_by_one_row_and_what_was_rolled_back_by_none(runs):
    assert numbers() == {"queued": 12}
    cancel(runs.filter(repeat__lte=5))
    assert numbers() == {"queued": 7, "cancelled": 5}
    assert list(EndedCount.objects.values_list("state", "number")) == [("cancelled", 5)]
    with pytest.raises(GivenUpError), transaction.atomic():
        cancel(runs.filter(state=State.QUEUED))
        assert numbers() == {"cancelled": 12}
        raise GivenUpError
    runs.update(reason="looked at")
    assert numbers() == {"queued": 7, "cancelled": 5}
    assert EndedCount.objects.count() == 1


def test_a_run_that_is_removed_is_counted_no_more(runs):
    cancel(runs.filter(repeat__lte=5))
    runs.filter(repeat__in=[1, 12]).delete()
    assert numbers() == {"queued": 6, "cancelled": 4}


@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_moves_the_numbers_are_those_of_a_recount_before_and_after_they_are_added_up(runs, seed, monkeypatch):
    monkeypatch.setattr(type(EndedCount.objects.all()), "MOST_ROWS", 4)
    chance = random.Random(seed)
    for _ in range(60):
        run = chance.choice(list(runs.all()))
        if moves := sorted(MOVES[run.state]):
            runs.filter(pk=run.pk).update(state=chance.choice(moves))
        if chance.random() < 0.1:
            EndedCount.objects.fold()
    before = numbers()
    EndedCount.objects.fold()
    assert numbers() == before
    assert EndedCount.objects.count() <= len(FINAL)
