"""The verdict on a curve, from its runs with their results, doubts and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import F, FloatField, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchhub.analysis.doubts import verdict
from benchhub.analysis.doubts.doubt import weighed
from benchhub.analysis.doubts.verdict import CurveFacts, RunFacts, Verdict
from benchhub.bench.models import Run
from benchhub.bench.models.states import State

from . import newest
from .curves import is_point


def with_counts(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return each run with the digest of its facts, its transactions, and the blocks not in shared buffers."""
    blocks = KeyTextTransform("blks_read", KeyTransform("pg_stat_database", "found__deltas"))
    transactions = KeyTextTransform("value", KeyTransform("transactions", "result__measures"))
    return runs.annotate(
        facts_digest=F("found__facts_digest"),
        blocks_read=Cast(blocks, FloatField()),
        transactions=Cast(transactions, FloatField()),
    )


def of_curve(runs: Sequence[Run]) -> Verdict:
    """Return the verdict on the measuring runs of one system in one experiment, each from `with_counts`.

    Runs that a person set aside have a result, and count neither for it nor against it.
    """
    counting = [run for run in runs if not run.set_aside_at]
    points = {run.pk: _facts(run) for run in counting if is_point(run, run.protocol_id)}
    verdicts = {pk: verdict.of_doubts(facts.doubts) for pk, facts in points.items()}
    ended = sum(run.is_final and run.state != State.CANCELLED for run in counting)
    judged = verdict.of_curve(CurveFacts(points, len(counting), ended - len(points), verdicts))
    return replace(judged, doubts=(*judged.doubts, *newest.doubts(counting)))


def _facts(run: Run) -> RunFacts:
    transactions = getattr(run, "transactions", None)
    return RunFacts(
        clients=run.clients,
        duration_s=run.expected_s,
        doubts=[weighed(**doubt) for doubt in run.result.doubts],
        transactions=None if transactions is None else round(transactions),
        blocks_read=getattr(run, "blocks_read", None),
        facts_digest=getattr(run, "facts_digest", None) or "",
        throughput=run.result.throughput,
        started_s=run.started_at.timestamp() if run.started_at else None,
    )
