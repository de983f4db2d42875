"""How large a plan may be: reckoned from the numbers alone, before anything of its matrix is written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from benchhub.bench.models import Experiment
from benchhub.bench.plan import plan

# Of a plan; of its matrix, and of the parts of that, before conditions leave any out.
MOST_RUNS, MOST_PLACES, MOST_PARTS = 10_000, 20_000, 600
REMEDY = "use fewer levels, repeats or systems, or make several plans of it"


def matrix_refusal(cleaned: Mapping[str, Any], system_count: int) -> str:
    """Say why the matrix is too large to look at; empty if it is not."""
    scale_count = len(cleaned["scales"]) or 1
    workloads = {cleaned["workload"], *cleaned["more_workloads"]}
    parts = sum(scale_count if workload.scale else 1 for workload in workloads) * len(cleaned["thread_rule"])
    if parts > MOST_PARTS:
        return f"These are {parts:,} workloads, scales and thread rules, at most {MOST_PARTS} may be: use fewer."
    levels = cleaned["rates"] or cleaned["levels"]
    places = prod((parts, len(levels), cleaned["repeats"], system_count))
    if places > MOST_PLACES:
        return f"These are {places:,} runs before conditions leave any out, at most {MOST_PLACES:,} may be: {REMEDY}."
    return ""


def refusal(parts: Sequence[Experiment], system_count: int) -> str:
    """Say why the parts have too many runs together; empty if they have not. What grows has a budget of its own."""
    return run_refusal(sum(len(plan.slots(part, system_count)) for part in parts if not part.grows))


def run_refusal(runs: int) -> str:
    return f"These are {runs:,} runs, and a plan has at most {MOST_RUNS:,}: {REMEDY}." if runs > MOST_RUNS else ""
