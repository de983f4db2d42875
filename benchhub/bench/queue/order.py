"""The order in which experiments wait, as a person changes it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from benchhub.bench.models import Experiment

DIRECTIONS = {"up": -1, "down": 1}


@transaction.atomic
def shift(experiment: Experiment, offset: int) -> bool:
    """Move a waiting experiment up (-1) or down (+1) by one; it takes the priority of the one that it passes."""
    list(Experiment.objects.select_for_update().order_by("pk"))
    waiting = list(Experiment.objects.waiting())
    keys = [row.pk for row in waiting]
    place = keys.index(experiment.pk) if experiment.pk in keys else -1
    if place < 0 or not 0 <= place + offset < len(keys):
        return False
    neighbour = waiting[place + offset]
    waiting[place].priority = neighbour.priority
    waiting.insert(place + offset, waiting.pop(place))
    _keep_order([row for row in waiting if row.priority == neighbour.priority])
    return True


def _keep_order(rows: Sequence[Experiment]) -> None:
    """Give rows of one priority each other's places, so that they stand as they come here."""
    places = sorted(row.pk if row.place is None else row.place for row in rows)
    for row, place in zip(rows, places, strict=True):
        Experiment.objects.filter(pk=row.pk).update(priority=row.priority, place=place)
