"""The part of a plan's form that lets it grow: what is to be found, to which precision, within which budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from benchhub.bench.models import Experiment
from runners import tools

from . import designs

FEWEST_RUNS, MOST_RUNS = 4, 200
FEWEST_LEVELS = 3
# The budget where none is typed: of a search a share of its levels, but no fewer than it needs; of a decision runs.
SHARE, ENOUGH, DECIDING = 0.15, 12, 40
PERCENT = {Experiment.Grows.PEAK: 1.0, Experiment.Grows.CEILING: 1.0, Experiment.Grows.DECIDE: 2.0}
SEARCHES = (Experiment.Grows.PEAK, Experiment.Grows.CEILING)


class GrowthFields(forms.Form):
    """All optional: left empty, every level is run as listed."""

    grows = forms.ChoiceField(
        choices=Experiment.Grows.choices, required=False, label="Which levels are run",
        help_text="A search and a decision plan each step from the results before it, and end when enough is known.",
    )  # fmt: skip
    most_runs = forms.IntegerField(
        required=False, min_value=FEWEST_RUNS, max_value=MOST_RUNS, label="Budget, runs (optional)",
        help_text="Left empty: 15% of the levels but at least 12, twice as many where runs scatter widely; "
        "40 for a decision.",
    )  # fmt: skip
    precision_percent = forms.FloatField(
        required=False, min_value=0.1, max_value=50, label="Precision, % (optional)",
        help_text="How close to the best a level must be, or how well the ratio of two systems is to be known. "
        "Left empty: 1, for a decision 2.",
    )  # fmt: skip
    ceiling_ms = forms.FloatField(
        required=False, min_value=0.001, max_value=3_600_000, label="Ceiling of the average latency, ms",
        help_text="Only for a search under a latency ceiling.",
    )  # fmt: skip


def values(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an experiment that grows; empty if it does not."""
    grows = cleaned["grows"]
    if not grows:
        return {}
    percent = cleaned["precision_percent"] or PERCENT[grows]
    is_decision = grows == Experiment.Grows.DECIDE
    budget = DECIDING if is_decision else max(ENOUGH, int(SHARE * len(cleaned["levels"])))
    return {
        "grows": grows,
        "most_runs": cleaned["most_runs"] or budget,
        "precision": percent / 100,
        "ceiling_ms": cleaned["ceiling_ms"] if grows == Experiment.Grows.CEILING else None,
        "repeats": 1,
    }


def initial(experiment: Experiment) -> dict[str, Any]:
    """Return the form's values for a plan that grows like this experiment."""
    if not experiment.grows:
        return {}
    same = {name: getattr(experiment, name) for name in ("grows", "most_runs", "ceiling_ms")}
    return same | {"precision_percent": round(100 * experiment.precision, 6)}


def refusals(cleaned: Mapping[str, Any], systems: int) -> dict[str, str]:
    """Return by field why a plan cannot grow so. Fields that could not be read are not judged."""
    if not cleaned.get("grows"):
        return {}
    problems = (_search_refusals if cleaned["grows"] in SEARCHES else _decision_refusals)(cleaned, systems)
    if designs.has_several(cleaned):
        problems["grows"] = "A plan that grows has one workload, one scale and one thread rule."
    elif cleaned.get("kept_only") or cleaned.get("left_out"):
        problems["grows"] = "A plan that grows chooses its runs itself: remove the conditions."
    if cleaned.get("canary"):
        problems["canary"] = "A plan that grows has no canary: its first runs show what a canary would."
    return problems


def _search_refusals(cleaned: Mapping[str, Any], systems: int) -> dict[str, str]:
    problems = {}
    workload = cleaned.get("workload")
    if systems != 1:
        problems["grows"] = "A search is for one system: remove the others, or plan a search for each."
    if workload and tools.get(workload.tool).rate_tps(workload.parameters):
        problems["workload"] = "This workload sends at a fixed rate: it has no peak over clients to be found."
    if "levels" in cleaned and len(cleaned["levels"]) < FEWEST_LEVELS:
        problems["levels"] = f"A search needs at least {FEWEST_LEVELS} levels to choose from, such as 2..160:2."
    if cleaned["grows"] == Experiment.Grows.CEILING and "ceiling_ms" in cleaned and not cleaned["ceiling_ms"]:
        problems["ceiling_ms"] = "Say which average latency is not to be exceeded."
    return problems


def _decision_refusals(cleaned: Mapping[str, Any], systems: int) -> dict[str, str]:
    problems = {}
    if systems != 2:
        problems["grows"] = "A decision is between two systems: the first is the baseline."
    if "levels" in cleaned and len(cleaned["levels"]) != 1:
        problems["levels"] = "A decision is made at one level: type one number of clients."
    return problems
