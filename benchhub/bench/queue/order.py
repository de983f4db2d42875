"""The order in which experiments wait, as a person changes it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from benchhub.bench.models import Experiment

DIRECTIONS = {"up": -1, "down": 1}


@transaction.atomic
def shift(experiment: Experiment, offset: int) -> bool:
    """Move a waiting experiment up (-1) or down (+1) by one; it takes the priority of the one that it passes."""
    # Two moves at once have neighbours in common: the second reads what the first has left.
    list(Experiment.objects.filter(pk__in=Experiment.objects.waiting().values("pk")).order_by("pk").select_for_update())
    waiting = list(Experiment.objects.waiting())
    keys = [row.pk for row in waiting]
    place = keys.index(experiment.pk) if experiment.pk in keys else -1
    if place < 0 or not 0 <= place + offset < len(keys):
        return False
    neighbour, moved = waiting[place + offset], waiting.pop(place)
    moved.priority = neighbour.priority
    waiting.insert(place + offset, moved)
    _keep_order([row for row in waiting if row.priority == neighbour.priority], moved)
    return True


def _keep_order(rows: Sequence[Experiment], moved: Experiment) -> None:
    """Give rows of one priority each other's places, so that they stand as they come here."""
    places = sorted(map(_place, rows))
    for row, place in zip(rows, places, strict=True):
        if row is moved or _place(row) != place:
            Experiment.objects.filter(pk=row.pk).update(priority=row.priority, place=place)


def _place(row: Experiment) -> int:
    return row.pk if row.place is None else row.place
