"""Bound what a curve is made of: years of pushes may lie under one name, and a page is made of some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from django.db.models import Case, F, Value, When, Window
from django.db.models.functions import RowNumber

from benchhub.analysis.doubts.doubt import Doubt, Weight
from benchhub.bench.models import Run, RunQuerySet
from benchhub.bench.models.states import FINAL

# Of 250 repeats the scatter is known within a tenth; older ones are of another state of the host.
MOST_REPEATS = 250
TEXT = (
    f"A level is made of its newest {MOST_REPEATS} runs, and some level has as many. Older ones are in the list of "
    "runs and in the API, and in no line, mean or price."
)


def of_levels(runs: RunQuerySet) -> RunQuerySet:
    """Return of each level of each curve the newest runs: MOST_REPEATS of those that ended, as many of the others."""
    is_final = Case(When(state__in=FINAL, then=Value(1)), default=Value(0))
    level = ("experiment", "system", "protocol", "kind", "rate_tps", "clients", is_final)
    newness = Window(RowNumber(), partition_by=[*map(_column, level)], order_by=F("pk").desc())
    return Run.objects.filter(
        pk__in=runs.order_by().annotate(newness=newness).filter(newness__lte=MOST_REPEATS).values("pk")
    )


def _column(name: str | Case) -> F | Case:
    return F(name) if isinstance(name, str) else name


def doubts(runs: Sequence[Run]) -> Iterator[Doubt]:
    """Yield that older runs may be left out, where a level of a curve has as many runs as are drawn."""
    levels = Counter((run.protocol_id, run.rate_tps, run.clients) for run in runs if run.is_final)
    if levels and max(levels.values()) >= MOST_REPEATS:
        yield Doubt("newest-runs", TEXT, Weight.SLIGHT)
