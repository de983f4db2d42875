"""Levels of curves: which runs they are made of, and the throughput of each as one number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self, TypeVar

from django.db import connection, models
from django.db.models import Avg, Count, Max, Min, Q, Sum
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Exp, Ln

from .states import State
from .tallies import RunTally

Row = TypeVar("Row", bound=models.Model)
# A plan asks for no more, and no more are added; but years of pushes may be imported under one name, and a search may
# stay at a level.
MOST_REPEATS = 100
# A place on a curve or, with an offered rate, on a sweep. The index of runs `run_level` begins with these.
LEVEL = ("experiment_id", "system_id", "protocol_id", "clients", "rate_tps")
# What counts is when a run was measured; of one that came without a time, when it came.
MEASURED_AT = Coalesce("started_at", "created_at")
ENDED_WELL = Q(kind="measure", state=State.SUCCEEDED, set_aside_at=None)
TALLIED_WELL = Q(kind="measure", state=State.SUCCEEDED, is_aside=False, rate_tps=0)  # the same of a closed loop
LevelKey = tuple[int, int, str, int, int]
NEWEST = """
    SELECT newest.id FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::int[], %s::int[])
        AS level (experiment_id, system_id, protocol_digest, clients, rate_tps)
    CROSS JOIN LATERAL (
        SELECT run.id FROM bench_run AS run
        WHERE run.experiment_id = level.experiment_id AND run.system_id = level.system_id
            AND run.protocol_digest = level.protocol_digest AND run.clients = level.clients
            AND run.rate_tps = level.rate_tps
            AND run.kind = 'measure' AND run.state = 'succeeded' AND run.set_aside_at IS NULL
        ORDER BY coalesce(run.started_at, run.created_at) DESC, run.position DESC LIMIT %s
    ) AS newest
"""
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


def newest_keys(levels: Iterable[LevelKey]) -> list[int]:
    """Return the keys of the MOST_REPEATS newest runs of each of these levels that ended well, found by an index."""
    columns = [list(column) for column in zip(*levels, strict=True)]
    if not columns:
        return []
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [*columns, MOST_REPEATS])
        return [key for (key,) in cursor.fetchall()]


def among(keys: Iterable[int], column: str = "pk") -> Q:
    """Return the condition that the column has one of these keys; hundreds as a list of values take long to prepare."""
    return Q((f"{column}__in", RawSQL("SELECT unnest(%s::bigint[])", (list(keys),))))


class LevelQuerySet(models.QuerySet[Row]):
    def counted(self) -> Self:
        """Return the runs that may become points: measured, ended well, and not set aside."""
        return self.filter(ENDED_WELL, result__isnull=False)

    def measured(self) -> Self:
        """Return the counted runs of a curve against clients. Runs of an open loop never share that axis."""
        return self.counted().filter(rate_tps=0)

    def levels(self, curves: Q) -> list[Level]:
        """Return the levels of these curves, each with the geometric mean of its repeats, in two or three queries.

        `curves` is a condition on experiment and system.
        """
        ended, older = self._in_two(curves)
        levels = ended._levels()
        if not older:
            return levels
        newest = self.filter(among(newest_keys(older)))._levels()
        left_out: Counter[tuple[int, int, int]] = Counter()
        for (experiment, system, _, clients, _), number in older.items():
            left_out[experiment, system, clients] += max(0, number - MOST_REPEATS)
        return [*levels, *(level._replace(left_out=left_out[level[:3]]) for level in newest)]

    def _in_two(self, curves: Q) -> tuple[Self, dict[LevelKey, int]]:
        """Return the runs of experiments whose levels are all read whole, and how many runs levels of others have."""
        rows = RunTally.objects.filter(curves, TALLIED_WELL).order_by().values_list(*LEVEL)
        counts = {(*key,): number for *key, number in rows.annotate(number=Sum("runs")) if number}
        long = {level[0] for level, number in counts.items() if number > MOST_REPEATS}
        # Named, as keys that an index takes: else the database leaves the others out after it has read them.
        others = {level[0] for level in counts} - long
        whole = self.filter(curves, experiment__in=others) if long else self.filter(curves)
        return whole, {level: number for level, number in counts.items() if level[0] in long}

    def _levels(self) -> list[Level]:
        throughput = "result__throughput"
        rows = self.measured().order_by().values("experiment", "system", "clients", "result__unit")
        levels = rows.annotate(
            repeats=Count("pk"), low=Min(throughput), high=Max(throughput), mean=Exp(Avg(Ln(throughput)))
        )
        return [Level.of_row(row) for row in levels]

    def repeats(self, curves: Q) -> Levels:
        """Return the throughputs of a level's repeats by (experiment, system, protocol, clients, unit).

        `curves` is a condition on experiment and system.
        """
        whole, older = self._in_two(curves)
        newest = self.filter(among(newest_keys(older)))._repeats() if older else {}
        return whole._repeats() | newest

    def _repeats(self) -> Levels:
        columns = ("experiment", "system", "protocol", "clients", "result__unit")
        levels: Levels = defaultdict(list)
        for row in self.measured().order_by("pk").values_list(*columns, "result__throughput"):
            levels[row[:-1]].append(row[-1])
        return levels

    def peaks(self, curves: Q) -> dict[tuple[int, int], Level]:
        """Return the best level of each curve by (experiment, system); of equal ones that of the fewest clients.

        `curves` is a condition on experiment and system.
        """
        levels = sorted(self.levels(curves), key=lambda level: (level.throughput, -level.clients))
        return {(level.experiment, level.system): level for level in levels}
