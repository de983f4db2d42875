"""Recent findings: which experiment or comparison came to which verdict, rather than repeats of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from urllib.parse import urlencode

from django.db.models import Exists, Max, OuterRef, QuerySet
from django.http import QueryDict
from django.urls import reverse

from benchhub.analysis.words import listing
from benchhub.bench.models import Experiment, ExperimentSystem, Result, Run
from benchhub.reports import models
from benchhub.reports.comparison.answers.confidence import confidence
from benchhub.reports.comparison.answers.fastest import fastest
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import MOST, State

from .cached import slot

EXPERIMENT, COMPARISON = "experiment", "comparison"
MOST_FINDINGS = 6
LOOKED_AT = 200  # of the newest results: whose experiments may have ended last
Counts = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a comparison in words, and how far it is to be trusted: high, fair, low, none, or empty."""

    words: str
    detail: str = ""
    confidence: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """An experiment that has ended, or a comparison that is kept, with its verdict and page."""

    title: str
    kind: str
    address: str
    at: datetime
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Source:
    """Where a finding may come from: `query` is the address of its comparison."""

    title: str
    kind: str
    address: str
    at: datetime
    query: str


def findings(now: datetime) -> list[Finding]:
    """Return the newest findings, those of no result left out."""
    sources = sorted([*_experiments(), *_comparisons()], key=lambda source: source.at, reverse=True)
    counts = _counts(sources)
    return list(islice(_with_verdicts(sources, counts, slot(now)), MOST_FINDINGS))


def _with_verdicts(sources: Sequence[Source], counts: Counts, present: int) -> Iterator[Finding]:
    for source in sources:
        keys = set(State.read(QueryDict(source.query)).keys)
        own = tuple(row for row in counts if row[:2] in keys)
        if own and (verdict := _verdict(source.kind, source.query, own, present)):
            yield Finding(source.title, source.kind, source.address, source.at, verdict)


@lru_cache(maxsize=64)
def _verdict(kind: str, query: str, _counts: Counts, _slot: int) -> Verdict | None:
    """Return the answer of a kept comparison as its page opens with, of an experiment which of its systems is fastest.

    None where nothing is left to compare.
    """
    comparison = Comparison.load(State.read(QueryDict(query)))
    if not comparison.curves:
        return None
    if not comparison.is_comparable:
        names = listing(side.name for side in comparison.differing)
        return Verdict("Not comparable", f"The curves differ in {names}.")
    if kind == COMPARISON:
        answer = comparison.answer
        return Verdict(answer.verdict, next(iter(answer.sentences), ""), answer.confidence.level)
    speed = fastest(list(comparison.entries))
    trust = confidence(comparison.entries, comparison.doubts)
    return Verdict(speed.verdict, next(iter(speed.sentences), ""), trust.level)


def _comparisons() -> Iterator[Source]:
    rows = models.Comparison.objects.order_by("-changed_at", "-pk")[:MOST_FINDINGS]
    for row in rows:
        yield Source(row.title, COMPARISON, reverse("comparison", args=[row.pk]), row.changed_at, row.query)


def _experiments() -> Iterator[Source]:
    """Yield the experiments that ended last, of those with the newest results and the newest of all."""
    latest = Result.objects.order_by("-parsed_at", "-pk").values_list("run__experiment", flat=True)[:LOOKED_AT]
    ended = _ended()
    newest = [*ended.order_by("-created_at", "-pk").values_list("pk", flat=True)[:MOST_FINDINGS], *set(latest)]
    at = dict(Run.objects.filter(experiment__in=newest).order_by().values_list("experiment").annotate(Max("ended_at")))
    rows = ended.filter(pk__in=newest).prefetch_related("experimentsystem_set")
    for row in sorted(rows, key=lambda row: at.get(row.pk) or row.created_at, reverse=True)[:MOST_FINDINGS]:
        curves = [f"{row.pk}-{part.system_id}" for part in row.experimentsystem_set.all() if part.result_count]
        address = reverse("experiment", args=[row.pk])
        yield Source(row.name, EXPERIMENT, address, at.get(row.pk) or row.created_at, _query(curves))


def _ended() -> QuerySet[Experiment]:
    """Return the experiments with results of which nothing is left to run."""
    has_results = Exists(ExperimentSystem.objects.filter(experiment=OuterRef("pk"), result_count__gt=0))
    has_runs_left = Exists(Run.objects.unfinished().filter(experiment=OuterRef("pk")))
    growing = Experiment.objects.growing().values("pk")
    return Experiment.objects.filter(has_results, ~has_runs_left).exclude(pk__in=growing)


def _query(curves: Sequence[str]) -> str:
    return urlencode({"curve": curves[:MOST]}, doseq=True)


def _counts(sources: Sequence[Source]) -> Counts:
    """Return (experiment, system, results) of every curve that the sources name."""
    keys = {key for source in sources for key in State.read(QueryDict(source.query)).keys}
    rows = ExperimentSystem.objects.filter(experiment__in={experiment for experiment, _ in keys}, result_count__gt=0)
    counts = rows.values_list("experiment", "system", "result_count").order_by("experiment", "system")
    return tuple(row for row in counts if row[:2] in keys)
