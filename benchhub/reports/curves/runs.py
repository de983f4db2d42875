"""The runs that curves are made of, as plain rows: a page is made of thousands, and each needs few of its columns.

Of runs that left neither a result nor facts only their number counts. Years of pushes may be imported under one name,
so that of the measured runs of a level the newest are read; how many older ones there are goes with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, ExpressionWrapper, F, FloatField, Max, Min, Q
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchhub.analysis.doubts.doubt import Doubt, Weight
from benchhub.analysis.words import count, word
from benchhub.bench.models import Run, RunQuerySet, levels
from benchhub.bench.models.states import FINAL, State

TALLY = ("experiment_id", "system_id", "protocol_id", "kind", "clients", "rate_tps", "state", "set_aside_at")
LEFT_NOTHING: Mapping[str, Any] = {
    "started_at": None,
    "delivery_id": None,
    "source": "",
    "throughput": None,
    "unit": "",
    "latency_average_ms": None,
    "latency_p95_ms": None,
    "latency_p99_ms": None,
    "doubts": (),
}
HAS_RESULT, HAS_FACTS = Q(result__isnull=False), Q(found__isnull=False)


class CurveRun(NamedTuple):
    """A run of a curve: what its point and the verdict on it are made of. Without a result `throughput` is None.

    `runs` is 1; where nothing but their number is of interest, one row stands for so many that are alike. `left_out`
    counts the older runs of its level that are not read.
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
    runs: int = 1
    left_out: int = 0

    @property
    def level(self) -> tuple[int, int, str, int]:
        return self.experiment_id, self.system_id, self.protocol_id, self.clients

    @property
    def is_measured(self) -> bool:
        """Tell whether the run is a point of a curve, by the rule of RunQuerySet.measured."""
        return self.has_result and self.is_of_curve

    @property
    def is_of_curve(self) -> bool:
        ended_well = self.kind == Run.Kind.MEASURE and self.state == State.SUCCEEDED
        return ended_well and not self.rate_tps and self.set_aside_at is None

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
NAMES = CurveRun._fields[: CurveRun._fields.index("runs")]
COLUMNS = tuple(f"result__{name}" if name in OF_RESULT else name for name in NAMES)


def read(runs: RunQuerySet) -> list[CurveRun]:
    """Return these runs, by experiment and in the order of the plan, and then the tallies of those that left nothing.

    It takes two queries.
    """
    tallies = _tallies(runs)
    left_out = _left_out(tallies)
    values = _with_facts(runs.newest() if left_out else runs).order_by("experiment", "position").values_list(*COLUMNS)
    rows = [CurveRun(*row) for row in values]
    if left_out:
        rows = [run._replace(left_out=left_out.get(run.level, 0)) if run.is_measured else run for run in rows]
    return [*rows, *(tally.row for tally in tallies if not (tally.has_result or tally.has_facts))]


class _Tally(NamedTuple):
    """Runs that are alike, as one row."""

    row: CurveRun
    has_result: bool
    has_facts: bool


def _tallies(runs: RunQuerySet) -> list[_Tally]:
    alike = runs.order_by().values(*TALLY, has_result=_truth(HAS_RESULT), has_facts=_truth(HAS_FACTS))
    rows = alike.annotate(pk=Min("id"), runs=Count("id"), expected_s=Max("expected_s"))
    return [_Tally(has_result=row.pop("has_result"), has_facts=row.pop("has_facts"), row=_row(row)) for row in rows]


def _truth(condition: Q) -> ExpressionWrapper[Any]:
    return ExpressionWrapper(condition, BooleanField())


def _row(row: Mapping[str, Any]) -> CurveRun:
    return CurveRun(**row, **LEFT_NOTHING)


def _left_out(tallies: Sequence[_Tally]) -> dict[tuple[int, int, str, int], int]:
    """Return how many of its measured runs are too old, of each level of which some are."""
    measured = (tally.row for tally in tallies if tally.has_result and tally.row.is_of_curve)
    numbers: Counter[tuple[int, int, str, int]] = Counter()
    for row in measured:
        numbers[row.level] += row.runs
    return {level: number - levels.MOST_REPEATS for level, number in numbers.items() if number > levels.MOST_REPEATS}


def _with_facts(runs: RunQuerySet) -> RunQuerySet:
    blocks = KeyTextTransform("blks_read", KeyTransform("pg_stat_database", "found__deltas"))
    transactions = KeyTextTransform("value", KeyTransform("transactions", "result__measures"))
    return runs.filter(HAS_RESULT | HAS_FACTS).annotate(
        facts_digest=F("found__facts_digest"),
        blocks_read=Cast(blocks, FloatField()),
        transactions=Cast(transactions, FloatField()),
    )


class Counts(NamedTuple):
    """How many runs there are in all, and of each kind; `left_out` are those of the measured that are not read."""

    runs: int
    aside: int
    unfinished: int
    cancelled: int
    measured: int
    left_out: int

    @property
    def counting(self) -> int:
        """Count the runs that nobody set aside."""
        return self.runs - self.aside

    @property
    def failed(self) -> int:
        """Count those of them that ended by themselves and are no point."""
        return self.counting - self.unfinished - self.cancelled - self.measured


def counts(runs: Sequence[CurveRun]) -> Counts:
    """Count the runs, those included that tallies stand for and those that are not read."""
    left_out = sum({run.level: run.left_out for run in runs if run.is_measured}.values())
    return Counts(
        runs=_count(runs) + left_out,
        aside=_count(run for run in runs if run.set_aside_at),
        unfinished=_count(run for run in runs if not run.is_final),
        cancelled=_count(run for run in runs if run.state == State.CANCELLED),
        measured=_count(run for run in runs if run.is_measured) + left_out,
        left_out=left_out,
    )


def _count(runs: Iterable[CurveRun]) -> int:
    return sum(run.runs for run in runs)


def doubts(runs: Sequence[CurveRun]) -> Iterator[Doubt]:
    """Yield that older runs are left out, where some are."""
    if left_out := counts(runs).left_out:
        text = (
            f"{count(left_out, 'older run')} {word('is', left_out, 'are')} in the list of runs, and in no line, mean "
            f"or price: a level is made of its newest {levels.MOST_REPEATS}."
        )
        yield Doubt("newest-runs", text, Weight.SLIGHT)
