"""Levels of curves: which runs they are made of, and the throughput of each as one number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple, Self, TypeVar

from django.db import models
from django.db.models import Avg, Count, F, Max, Min, Window
from django.db.models.functions import Coalesce, Exp, Ln, RowNumber

from .states import State

Row = TypeVar("Row", bound=models.Model)
# Far beyond what is planned for a level; but years of pushes may be imported under one name.
MOST_REPEATS = 250
LEVEL = ("experiment", "system", "protocol", "clients")
Levels = dict[tuple[int, int, str, int, str], list[float]]


class Level(NamedTuple):
    """A level of a curve: its number of clients, and the throughput of its repeats as one number.

    `left_out` counts older runs, which are not among its repeats.
    """

    experiment: int
    system: int
    clients: int
    unit: str
    throughput: float
    repeats: int
    left_out: int = 0

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Level:
        """Return the level of a row; a run alone is its own mean, to the last digit."""
        mean = row["low"] if row["low"] == row["high"] else row["mean"]
        return cls(row["experiment"], row["system"], row["clients"], row["result__unit"], mean, row["repeats"])


class LevelQuerySet(models.QuerySet[Row]):
    def counted(self) -> Self:
        """Return the runs that may become points: measured, ended well, and not set aside."""
        return self.filter(kind="measure", state=State.SUCCEEDED, result__isnull=False, set_aside_at=None)

    def measured(self) -> Self:
        """Return the counted runs of a curve against clients. Runs of an open loop never share that axis."""
        return self.counted().filter(rate_tps=0)

    def newest(self) -> Self:
        """Return these runs, without the measured ones that have MOST_REPEATS newer ones at their level.

        What counts is when they were measured; of one that came without a time, when it came.
        """
        measured_at = Coalesce("started_at", "created_at")
        age = Window(RowNumber(), partition_by=LEVEL, order_by=[measured_at.desc(), F("position").desc()])
        older = self.measured().order_by().annotate(age=age).filter(age__gt=MOST_REPEATS)
        return self.exclude(pk__in=older.values("pk"))

    def levels(self) -> list[Level]:
        """Return the levels of the curves that these runs are part of, each with the geometric mean of its repeats."""
        levels = self._levels()
        if all(level.repeats <= MOST_REPEATS for level in levels):
            return levels
        counts = {level[:4]: level.repeats for level in levels}
        return [level._replace(left_out=counts[level[:4]] - level.repeats) for level in self.newest()._levels()]

    def _levels(self) -> list[Level]:
        throughput = "result__throughput"
        rows = self.measured().order_by().values("experiment", "system", "clients", "result__unit")
        levels = rows.annotate(
            repeats=Count("pk"), low=Min(throughput), high=Max(throughput), mean=Exp(Avg(Ln(throughput)))
        )
        return [Level.of_row(row) for row in levels]

    def repeats(self) -> Levels:
        """Return the throughputs of a level's repeats by (experiment, system, protocol, clients, unit)."""
        levels = self._repeats()
        is_whole = all(len(values) <= MOST_REPEATS for values in levels.values())
        return levels if is_whole else self.newest()._repeats()

    def _repeats(self) -> Levels:
        columns = ("experiment", "system", "protocol", "clients", "result__unit")
        levels: Levels = defaultdict(list)
        for row in self.measured().order_by("pk").values_list(*columns, "result__throughput"):
            levels[row[:-1]].append(row[-1])
        return levels

    def peaks(self) -> dict[tuple[int, int], Level]:
        """Return the best level of each curve by (experiment, system); of equal ones that of the fewest clients."""
        levels = sorted(self.levels(), key=lambda level: (level.throughput, -level.clients))
        return {(level.experiment, level.system): level for level in levels}
