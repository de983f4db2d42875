"""The runs that curves are made of, as plain rows: a page is made of thousands, and each needs few of its columns.

Of runs that left neither a result nor facts only their number counts. Years of pushes may be imported under one name,
so that of the measured runs of a level the newest are read; how many older ones there are goes with them. Of others,
such as runs that failed, as many are read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import BooleanField, ExpressionWrapper, F, FloatField, Func, Q, Sum, TextField, Value, Window
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, NullIf, RowNumber

from benchhub.analysis.doubts.doubt import Doubt, Weight, weighed
from benchhub.analysis.words import count, word
from benchhub.bench.models import Run, RunQuerySet, RunTally, levels
from benchhub.bench.models.states import ACTIVE, Standing, State

TALLY = ("experiment_id", "system_id", "protocol_id", "kind", "clients", "rate_tps", "state")
# Of a tally only whether its runs were set aside is of interest, and when it was none can tell.
SOME_DAY = datetime.min
LEFT_NOTHING: Mapping[str, Any] = {
    "pk": 0,
    "started_s": None,
    "delivery_id": None,
    "source": "",
    "throughput": None,
    "unit": "",
    "latency_average_ms": None,
    "latency_p95_ms": None,
    "latency_p99_ms": None,
    "doubts": (),
}
LEFT_SOMETHING = Q(result__isnull=False) | Q(found__isnull=False)
# Where a run that is a row now was most likely a moment ago.
BEFORE = (State.SUCCEEDED, *reversed(ACTIVE), State.QUEUED, State.LOST, State.FAILED, State.CANCELLED)
IS_ASIDE = ExpressionWrapper(Q(set_aside_at__isnull=False), BooleanField())


class _Columns(NamedTuple):
    pk: int
    experiment_id: int
    system_id: int
    protocol_id: str
    kind: str
    clients: int
    rate_tps: int
    state: str
    expected_s: int
    started_s: float | None
    set_aside_at: datetime | None
    delivery_id: int | None
    source: str
    throughput: float | None
    unit: str
    latency_average_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    doubts: tuple[Doubt, ...]
    facts_digest: str | None = None
    limits_digest: str | None = None
    transactions: float | None = None
    blocks_read: float | None = None
    runs: int = 1
    left_out: int = 0


class CurveRun(_Columns, Standing):
    """A run of a curve: what its point and the verdict on it are made of. Without a result `throughput` is None.

    `runs` is 1; where nothing but their number is of interest, one row stands for so many that are alike. `left_out`
    counts the older runs of its level that are not read.
    `transactions` and `blocks_read` (not found in shared buffers) are None where they were not counted.
    """

    __slots__ = ()

    @property
    def level(self) -> tuple[int, int, str, int]:
        return self.experiment_id, self.system_id, self.protocol_id, self.clients

    @property
    def is_measured(self) -> bool:
        """Tell whether the run is a point of a curve, by the rule of RunQuerySet.measured."""
        return self.throughput is not None and self.is_of_curve

    @property
    def has_result(self) -> bool:
        return self.throughput is not None

    @property
    def alike(self) -> tuple[Any, ...]:
        """Return what runs have in common that are counted together: the columns of TALLY, and whether set aside."""
        return *self.place, self.state, self.set_aside_at is not None

    @property
    def place(self) -> tuple[Any, ...]:
        """Return what of it stays the same while a run is carried out: the columns of TALLY but the state."""
        return self[1:7]


OF_RESULT = {"throughput", "unit", "latency_average_ms", "latency_p95_ms", "latency_p99_ms"}
NAMES = CurveRun._fields[: CurveRun._fields.index("runs")]
DOUBTS_PLACE = NAMES.index("doubts")
COLUMNS = tuple({"doubts": "doubts_text"}.get(name, f"result__{name}" if name in OF_RESULT else name) for name in NAMES)
# Most runs have no doubts, and a moment is only ever a number of seconds here: to parse either takes longer than a row.
DOUBTS_TEXT = NullIf(Cast("result__doubts", TextField()), Value("[]"), output_field=TextField())
STARTED_S = Func(F("started_at"), template="extract(epoch FROM %(expressions)s)::float8", output_field=FloatField())


def read(curves: Q) -> list[CurveRun]:
    """Return the runs of these curves, by experiment and in the order of the plan, then tallies of what is no row.

    `curves` is a condition on experiment, system, kind and rate. It takes two queries, or up to four where some runs
    are too many. Runs of an open loop are tallies alone.
    """
    tallies = _tallies(curves)
    rows = _rows(Run.objects.filter(curves), tallies)
    return [*rows, *_without_rows(tallies, rows)]


def _tallies(curves: Q) -> list[CurveRun]:
    """Return a row for all runs that are alike."""
    alike = RunTally.objects.filter(curves).order_by().values(*TALLY, "is_aside")
    rows = alike.annotate(number=Sum("runs"), load_s=Sum("load_s"))
    return [_tally(**row) for row in rows if row["number"]]


def _tally(*, number: int, load_s: int, is_aside: bool, **columns: Any) -> CurveRun:
    set_aside_at = SOME_DAY if is_aside else None
    return CurveRun(**columns, **LEFT_NOTHING, runs=number, expected_s=load_s // number, set_aside_at=set_aside_at)


def _without_rows(tallies: Sequence[CurveRun], rows: Sequence[CurveRun]) -> Iterator[CurveRun]:
    """Yield the tallies less what is rows.

    Those are two statements: a run that ended between them is a row, and no longer among what was under way.
    """
    numbers = Counter(run.alike for run in rows)
    moved = _moved(tallies, numbers)
    for tally in sorted(tallies, key=lambda tally: BEFORE.index(State(tally.state))):
        if _is_long(tally):
            continue
        others = max(0, tally.runs - numbers[tally.alike])
        gone = min(others, moved[tally.place])
        moved[tally.place] -= gone
        if others > gone:
            yield tally._replace(runs=others - gone)


def _moved(tallies: Sequence[CurveRun], numbers: Mapping[tuple[Any, ...], int]) -> Counter[tuple[Any, ...]]:
    """Count by place the rows that the tallies have elsewhere."""
    counted = {tally.alike: tally.runs for tally in tallies}
    moved: Counter[tuple[Any, ...]] = Counter()
    for alike, number in numbers.items():
        moved[alike[:-2]] += max(0, number - counted.get(alike, 0))
    return moved


def _rows(runs: RunQuerySet, tallies: Sequence[CurveRun]) -> list[CurveRun]:
    rows = runs.filter(LEFT_SOMETHING, rate_tps=0)
    if any(tally.runs > levels.MOST_REPEATS for tally in tallies):
        newest = levels.newest_keys((*tally.level, 0) for tally in tallies if tally.is_of_curve)
        others = {tally.experiment_id for tally in tallies if tally.is_final and not tally.is_of_curve}
        keys = [*newest, *(_newest_others(rows.filter(experiment__in=others)) if others else ())]
        # By their keys alone: beside them the database goes through all runs of the curves.
        rows = Run.objects.filter(levels.among(keys), LEFT_SOMETHING, rate_tps=0)
    left_out = {tally.level: tally.runs - levels.MOST_REPEATS for tally in tallies if _is_long(tally)}
    values = _with_facts(rows).order_by("experiment", "position").values_list(*COLUMNS)
    return [_row(row, left_out.get((*row[1:4], row[5]), 0)) for row in values]


def _row(row: Sequence[Any], left_out: int) -> CurveRun:
    text = row[DOUBTS_PLACE]
    return CurveRun._make((*row[:DOUBTS_PLACE], _doubts(text) if text else (), *row[DOUBTS_PLACE + 1 :], 1, left_out))


@lru_cache(maxsize=1024)
def _doubts(text: str) -> tuple[Doubt, ...]:
    return tuple(weighed(**doubt) for doubt in json.loads(text))


def _is_long(tally: CurveRun) -> bool:
    """Tell whether these are the runs of a level of which the older ones go with the rows of the newest."""
    return tally.is_of_curve and tally.runs > levels.MOST_REPEATS


def _newest_others(runs: RunQuerySet) -> list[int]:
    """Return the keys of runs that are no points, as many of each state and level as it may have points."""
    order = [levels.MEASURED_AT.desc(), F("position").desc()]
    age = Window(RowNumber(), partition_by=[*TALLY, IS_ASIDE], order_by=order)
    others = runs.exclude(levels.ENDED_WELL).order_by().annotate(age=age)
    return list(others.filter(age__lte=levels.MOST_REPEATS).values_list("pk", flat=True))


def _with_facts(runs: RunQuerySet) -> RunQuerySet:
    blocks = KeyTextTransform("blks_read", KeyTransform("pg_stat_database", "found__deltas"))
    transactions = KeyTextTransform("value", KeyTransform("transactions", "result__measures"))
    return runs.annotate(
        doubts_text=DOUBTS_TEXT,
        started_s=STARTED_S,
        facts_digest=F("found__facts_digest"),
        limits_digest=F("found__limits_digest"),
        blocks_read=Cast(blocks, FloatField()),
        transactions=Cast(transactions, FloatField()),
    )


class Counts(NamedTuple):
    """How many runs there are in all, and of each kind; `left_out` are those of the measured that are not read."""

    runs: int
    aside: int
    unfinished: int
    cancelled: int
    failed: int
    measured: int
    left_out: int

    @property
    def counting(self) -> int:
        """Count the runs that nobody set aside."""
        return self.runs - self.aside


def counts(runs: Sequence[CurveRun]) -> Counts:
    """Count the runs, those included that tallies stand for and those that are not read."""
    numbers: Counter[str] = Counter()
    for run in runs:
        numbers[_end(run)] += run.runs
    left_out = sum(_older(runs).values())
    return Counts(
        runs=numbers.total() + left_out,
        aside=numbers["aside"],
        unfinished=numbers["unfinished"],
        cancelled=numbers["cancelled"],
        failed=numbers["failed"],
        measured=numbers["measured"] + left_out,
        left_out=left_out,
    )


def _older(runs: Sequence[CurveRun]) -> dict[tuple[int, int, str, int], int]:
    """Return how many measured runs of each level are not read."""
    return {run.level: run.left_out for run in runs if run.left_out and run.is_measured}


def _end(run: CurveRun) -> str:
    """Return how a run ended as far as it is counted apart; failed is what ended by itself and is no point."""
    if run.set_aside_at:
        return "aside"
    if run.is_measured:
        return "measured"
    if run.state == State.CANCELLED:
        return "cancelled"
    return "failed" if run.is_final else "unfinished"


def added(runs: Sequence[CurveRun], repeats: int) -> int:
    """Count the measuring runs of levels that have more than so many repeats, beyond these."""
    numbers: Counter[tuple[int, int, int]] = Counter()
    for run in runs:
        if run.kind == Run.Kind.MEASURE:
            numbers[run.system_id, run.clients, run.rate_tps] += run.runs
    for (_, system, _, clients), number in _older(runs).items():
        numbers[system, clients, 0] += number
    return sum(max(0, number - repeats) for number in numbers.values())


def doubts(runs: Sequence[CurveRun]) -> Iterator[Doubt]:
    """Yield that older runs are left out, where some are."""
    if left_out := counts(runs).left_out:
        text = (
            f"{count(left_out, 'older run')} {word('is', left_out, 'are')} in the list of runs, and in no line, mean "
            f"or price: a level is made of its newest {levels.MOST_REPEATS}."
        )
        yield Doubt("newest-runs", text, Weight.SLIGHT)
