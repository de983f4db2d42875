"""Turn what a run measured into facts, and tell how steady it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchhub.analysis.doubts import verdict
from benchhub.analysis.doubts.doubt import weighed
from benchhub.analysis.doubts.verdict import RunFacts, Verdict
from benchhub.bench.models import Result, Run, Series
from benchhub.bench.results import run_facts
from benchhub.ui.facts import Fact, in_words
from runners.contract import SEGMENT
from runners.tools import Tool

from . import figures, types


def measure_facts(result: Result, tool: Tool) -> list[Fact]:
    """Return the measures that the page does not have in large figures above."""
    above = {result.unit.lower(), tool.strict_measure, "latency_average_ms", "latency_p95_ms", "latency_p99_ms"}
    names = [name for name in result.measures if name not in above and not _is_of_a_part(name)]
    return [_fact(name, **result.measures[name]) for name in names]


def _is_of_a_part(measure: str) -> bool:
    """Tell whether it stands in a table of its own, by type of transaction or by segment."""
    return types.is_per_type(measure) or measure.startswith(SEGMENT)


def unreported_text(spec: Mapping[str, Any], result: Result) -> str:
    """Explain why fewer seconds were measured than asked for; empty where all were, or no load generator says."""
    planned_s, measured = spec.get("duration_s") or 0, result.measures.get("measured_s")
    missing_s = round(planned_s - measured["value"]) if measured else 0
    if missing_s < 1:
        return ""
    end = "the last second" if missing_s == 1 else f"the last {missing_s} s"
    seconds = f"Of the {planned_s:g} s that were asked for, {measured['value']:g} s were measured"
    return f"{seconds}: the load generator ended before it reported {end}, which is in no throughput."


def facts_for_verdict(run: Run, result: Result, rows: Sequence[Series], deltas: Mapping[str, Any]) -> RunFacts:
    """Return what the verdict on the run is made of, from its rows."""
    doubts = [weighed(**doubt) for doubt in result.doubts]
    values = {name: measure["value"] for name, measure in result.measures.items()}
    throughput = next(((series.values, series.step_s) for series in rows if series.metric == result.unit.lower()), None)
    return run_facts.facts(run, doubts, values, throughput, deltas)


def verdict_on(run: RunFacts) -> Verdict:
    """Return the verdict by today's rules, with the doubts noted when the run was read: each sentence once."""
    today = verdict.of_run(run)
    by_text = {doubt.text: doubt for doubt in today.doubts}
    return Verdict(tuple(by_text.values()), today.unchecked)


def steadiness_facts(run: RunFacts, deltas: Mapping[str, Any]) -> list[Fact]:
    """Return how steady the run was, in numbers; a run too short to judge has only its checkpoints."""
    checkpoints = run_facts.checkpoints(deltas)
    checkpoint_facts = [] if checkpoints is None else [Fact("checkpoints begun within the run", checkpoints)]
    if (steady := run.steadiness) is None:
        return checkpoint_facts
    warm_up = f"after {steady.warm_up.end_s:g} s" if steady.warm_up else "before the first second"
    trend = "not known" if steady.trend is None else f"{steady.trend.percent:+.1f}% (p = {steady.trend.p:.2g})"
    stalls = ", ".join(f"{stall_s:g} s" for stall_s in steady.stalls_s) or "none"
    return [
        Fact("coefficient of variation, by second", round(steady.variation_percent, 1), "%"),
        Fact("warm-up ended", warm_up),
        Fact("trend from beginning to end", trend),
        Fact("stalls, below a tenth of the median", stalls),
        *checkpoint_facts,
    ]


def _fact(name: str, value: Any, unit: str) -> Fact:
    words = in_words(figures.quantity_name(name, unit))
    return Fact(words, value, "" if words.endswith(unit) else unit)
