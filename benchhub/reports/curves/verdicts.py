"""The verdict on a curve, from its runs with their results, doubts and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchhub.analysis.doubts import verdict
from benchhub.analysis.doubts.verdict import CurveFacts, RunFacts, Verdict

from . import runs as curve_runs
from .curves import is_point
from .runs import CurveRun

SOUND = verdict.of_doubts(())


def of_curve(runs: Sequence[CurveRun]) -> Verdict:
    """Return the verdict on the measuring runs of one system in one experiment.

    Runs that a person set aside have a result, and count neither for it nor against it.
    """
    counting = [run for run in runs if not run.set_aside_at]
    points = {run.pk: _facts(run) for run in counting if is_point(run, run.protocol_id)}
    verdicts = {pk: verdict.of_doubts(facts.doubts) if facts.doubts else SOUND for pk, facts in points.items()}
    counts = curve_runs.counts(runs)
    judged = verdict.of_curve(CurveFacts(points, counts.counting, counts.failed, verdicts))
    return replace(judged, doubts=(*judged.doubts, *curve_runs.doubts(runs)))


def _facts(run: CurveRun) -> RunFacts:
    return RunFacts(
        clients=run.clients,
        duration_s=run.expected_s,
        doubts=run.doubts,
        transactions=None if run.transactions is None else round(run.transactions),
        blocks_read=run.blocks_read,
        facts_digest=run.facts_digest or "",
        limits_digest=run.limits_digest or "",
        throughput=run.throughput,
        started_s=run.started_s,
    )
