"""The runs that are counted where they end are those that counting all runs would give."""

import random
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import BooleanField, Case, Count, ExpressionWrapper, F, Q, Sum, Value, When
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.models import EndedTally, Run, RunTally
from benchhub.bench.models.states import FINAL, MOVES, State
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db
COLUMNS = ("experiment", "system", "protocol", "kind", "clients", "rate_tps", "state")


@pytest.fixture
def runs():
    machine = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    system = testing.make_system("18", testing.make_host(), machine)
    experiment = testing.make_experiment([system])
    for repeat in range(1, 7):
        for clients in (1, 8):
            testing.make_run(experiment, system, clients, repeat)
    return Run.objects.filter(experiment=experiment)


def tallied():
    rows = RunTally.objects.order_by().values_list(*COLUMNS, "is_aside")
    sums = rows.annotate(Sum("runs"), Sum("load_s"), Sum("timed"), Sum("taken"), Sum("timed_load_s"), Sum("cancelling"))
    return sorted(row for row in sums if row[8])


def counted():
    is_aside = ExpressionWrapper(Q(set_aside_at__isnull=False), BooleanField())
    is_timed = Q(started_at__isnull=False, ended_at__isnull=False)
    rows = Run.objects.order_by().annotate(is_aside=is_aside).values_list(*COLUMNS, "is_aside")
    return sorted(
        rows.annotate(
            runs=Count("pk"),
            load_s=Sum("expected_s"),
            timed=Count("pk", filter=is_timed),
            taken=Sum(F("ended_at") - F("started_at"), default=timedelta()),
            timed_load_s=Sum("expected_s", filter=is_timed, default=0),
            cancelling=Count("cancel_asked_at", filter=~Q(state__in=FINAL)),
        )
    )


def test_what_a_statement_ends_is_a_row_and_what_was_rolled_back_none(runs):
    assert not EndedTally.objects.exists()
    runs.filter(clients=8).update(state=State.CANCELLED, ended_at=timezone.now())
    assert list(EndedTally.objects.values_list("clients", "state", "runs")) == [(8, "cancelled", 6)]
    with transaction.atomic():
        runs.filter(clients=1).update(state=State.CANCELLED)
        assert tallied() == counted()
        transaction.set_rollback(True)
    runs.update(reason="looked at", position=F("position") + 100)
    assert EndedTally.objects.count() == 1
    assert tallied() == counted()


def test_times_that_a_statement_takes_from_one_run_and_gives_to_another_are_tallied(runs):
    """Of the sums only the seconds of the loads of timed runs differ: 10 s of one, 20 s of the other."""
    at = timezone.now()
    short, long = runs.filter(clients=1).order_by("pk")[:2]
    both = Run.objects.filter(pk__in=[short.pk, long.pk])
    times = {"started_at": at, "ended_at": at + timedelta(seconds=5)}
    Run.objects.filter(pk=short.pk).update(expected_s=10, state=State.CANCELLED, **times)
    Run.objects.filter(pk=long.pk).update(expected_s=20, state=State.CANCELLED)
    both.update(**{name: Case(When(pk=long.pk, then=Value(time))) for name, time in times.items()})
    assert tallied() == counted()
    assert set(EndedTally.objects.values_list("timed").annotate(Sum("timed_load_s"))) == {(1, 10), (0, 10)}


def test_after_any_moves_removals_and_folds_the_sums_are_those_of_the_runs(runs, monkeypatch):
    monkeypatch.setattr(type(EndedTally.objects.all()), "MOST_ROWS", 5)
    draw = random.Random(32)
    for step in range(60):
        row = Run.objects.filter(pk=draw.choice(list(runs.values_list("pk", flat=True))))
        match draw.randrange(5):
            case 0 | 1 | 2:
                moves = sorted(MOVES[State(row.get().state)])
                at = timezone.now()
                started_at = at - timedelta(seconds=draw.randrange(1, 90)) if draw.random() < 0.7 else None
                if moves:
                    row.update(state=draw.choice(moves), started_at=started_at, ended_at=at)
            case 3:
                row.update(set_aside_at=timezone.now() if row.get().set_aside_at is None else None)
            case 4:
                row.update(cancel_asked_at=timezone.now(), expected_s=draw.randrange(1, 90))
        if step % 10 == 0:
            EndedTally.objects.fold()
        assert tallied() == counted()
    runs.filter(repeat=1).delete()
    assert tallied() == counted()
    EndedTally.objects.fold()
    assert tallied() == counted()


def test_folding_leaves_no_row_of_runs_that_are_gone(runs, monkeypatch):
    monkeypatch.setattr(type(EndedTally.objects.all()), "MOST_ROWS", 0)
    ended = runs.filter(clients=8)
    ended.update(state=State.CANCELLED, ended_at=timezone.now())
    runs.filter(clients=1).update(state=State.CANCELLED)
    EndedTally.objects.fold()
    ended.delete()
    EndedTally.objects.fold()
    assert list(EndedTally.objects.values_list("clients", "runs")) == [(1, 6)]
    assert tallied() == counted()


def test_folding_leaves_a_row_for_runs_that_are_alike_and_few_rows_alone(runs, monkeypatch):
    for run in runs.filter(clients=8):
        testing.ended(run, "failed", "it broke")
    EndedTally.objects.fold()
    assert EndedTally.objects.filter(is_folded=False).count() >= 6
    monkeypatch.setattr(type(EndedTally.objects.all()), "MOST_ROWS", 5)
    EndedTally.objects.fold()
    EndedTally.objects.fold()
    assert list(EndedTally.objects.values_list("clients", "state", "runs", "is_folded")) == [(8, "failed", 6, True)]
