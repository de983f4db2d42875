"""The runs that curves are made of, as plain rows: a page is made of thousands, and each needs few of its columns.

Years of pushes may lie under one name, so that only the newest runs of a level are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db.models import Count, F, FloatField, Max, Q
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchhub.analysis.doubts.doubt import Doubt, Weight
from benchhub.bench.models import RunQuerySet
from benchhub.bench.models.states import FINAL

# Of so many repeats the scatter is known within a tenth or so; older ones are of another state of the host.
MOST_REPEATS = 100
LEVEL = ("experiment", "system", "kind", "rate_tps", "clients")
TEXT = (
    f"A level is made of its newest {MOST_REPEATS} runs, and some level has as many. Older ones are in the list of "
    "runs and in the API, and in no line, mean or price."
)


class CurveRun(NamedTuple):
    """A run of a curve: what its point and the verdict on it are made of. Without a result `throughput` is None.

    `transactions` and `blocks_read` (not found in shared buffers) are None where they were not counted.
    """

    pk: int
    experiment_id: int
    system_id: int
    protocol_id: str
    kind: str
    clients: int
    rate_tps: int
    state: str
    expected_s: int
    started_at: datetime | None
    set_aside_at: datetime | None
    delivery_id: int | None
    source: str
    throughput: float | None
    unit: str
    latency_average_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    doubts: Sequence[Mapping[str, Any]]
    facts_digest: str | None = None
    transactions: float | None = None
    blocks_read: float | None = None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_imported(self) -> bool:
        return self.delivery_id is not None

    @property
    def has_result(self) -> bool:
        return self.throughput is not None


OF_RESULT = {"throughput", "unit", "latency_average_ms", "latency_p95_ms", "latency_p99_ms", "doubts"}
COLUMNS = tuple(f"result__{name}" if name in OF_RESULT else name for name in CurveRun._fields)


def read(runs: RunQuerySet) -> list[CurveRun]:
    """Return the newest of each level of these runs, by experiment, in the order of the plan."""
    blocks = KeyTextTransform("blks_read", KeyTransform("pg_stat_database", "found__deltas"))
    transactions = KeyTextTransform("value", KeyTransform("transactions", "result__measures"))
    rows = newest(runs).annotate(
        facts_digest=F("found__facts_digest"),
        blocks_read=Cast(blocks, FloatField()),
        transactions=Cast(transactions, FloatField()),
    )
    return [CurveRun._make(row) for row in rows.order_by("experiment", "position").values_list(*COLUMNS)]


def newest(runs: RunQuerySet) -> RunQuerySet:
    """Return of each level of these runs the newest MOST_REPEATS that ended, and as many of those that come after.

    It takes one query, and another one where a level has more.
    """
    counts = runs.order_by().values(*LEVEL).annotate(number=Count("pk"), last=Max("repeat", filter=Q(state__in=FINAL)))
    levels = [(level, level.pop("number"), level.pop("last") or 0) for level in counts]
    if all(number <= MOST_REPEATS for _, number, _ in levels):
        return runs
    return runs.filter(reduce(or_, (_newest_of(*level) for level in levels)))


def _newest_of(level: Mapping[str, Any], number: int, last: int) -> Q:
    """Return the condition of a level's runs, by the order of an index; `last` is the repeat that ended last."""
    if number <= MOST_REPEATS:
        return Q(**level)
    return Q(**level, repeat__range=(last - MOST_REPEATS + 1, last + MOST_REPEATS))


def doubts(runs: Sequence[CurveRun]) -> Iterator[Doubt]:
    """Yield that older runs may be left out, where a level of a curve has as many runs as are drawn."""
    levels = Counter((run.protocol_id, run.rate_tps, run.clients) for run in runs if run.is_final)
    if levels and max(levels.values()) >= MOST_REPEATS:
        yield Doubt("newest-runs", TEXT, Weight.SLIGHT)
