"""A series of tuning steps: curves in their order, the first of them the baseline. The state is in the address."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from benchhub.analysis.curves import peak, ratio, tuning
from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.curves.tuning import NoTuningError, Tuning, Way
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.reports.curves.csv import harmless
from benchhub.reports.curves.figures import Figure

from . import comparison, queries, views
from . import declared as comparison_declared
from .comparison import Chosen, Side

WAYS = {
    "cumulative": "each step on top of the one before",
    "one-at-a-time": "each step alone, against the baseline",
}
COLUMNS = (
    "step", "name", "changed", "effect", "low", "high", "p", "p_of_several", "n", "before_n", "verdict", "running",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it changed, its effect, and how many times the baseline all steps up to here make."""

    number: int
    of: Chosen
    changed: tuple[Side, ...]
    effect: Ratio
    running: float

    @property
    def verdict(self) -> str:
        return self.effect.verdict

    @property
    def changes(self) -> str:
        return "; ".join(f"{side.name} {side.values[0]} to {side.values[1]}" for side in self.changed)


def steps(request: HttpRequest) -> HttpResponse:
    if not any(request.GET.getlist("curve")):
        return redirect("compare")
    keys = views.chosen_keys(request.GET)
    rows = queries.chosen(keys)
    missing = views.not_there(request.GET, rows)
    if not rows:
        return views.none_there(request, missing)
    chosen, problems = comparison.choose(rows, queries.runs(keys))
    context: dict[str, Any] = {
        "chosen": chosen,
        "problems": problems + views.not_shown(request.GET, missing),
        "way": way_of(request.GET),
        "ways": WAYS,
        "clients": request.GET.get("clients", ""),
        "kept": [("curve", one.key) for one in chosen],
        "compare_address": f"{reverse('compare')}{views.address(QueryDict(), curve=[one.key for one in chosen])}",
        "csv_address": views.address(request.GET, csv=["steps"]),
        **_levels(chosen),
    }
    try:
        context |= series(chosen, context["way"], context["clients"])
    except NoTuningError as error:
        return render(request, "reports/steps.html", {**context, "refusal": str(error)})
    return _csv(context["steps"]) if request.GET.get("csv") else render(request, "reports/steps.html", context)


def way_of(asked: QueryDict) -> Way:
    return cast(Way, asked["way"]) if asked.get("way") in WAYS else "cumulative"


def _levels(chosen: Sequence[Chosen]) -> dict[str, list[int]]:
    common = [{level.clients for level in one.of.curve.levels} for one in chosen]
    return {"levels": sorted(set.intersection(*common)) if common else []}


def series(chosen: Sequence[Chosen], way: Way, clients: str) -> dict[str, Any]:
    """What the page shows of the steps. Raises NoTuningError."""
    groups = comparison.groups(chosen)
    declared = comparison_declared.declared(groups)
    if len(groups) > 1 and not declared:
        raise NoTuningError("These curves were run under different protocols or in different units.")
    at = int(clients) if re.fullmatch("[0-9]{1,9}", clients) else None
    found = _withheld(chosen, tuning.series([peak.of_curve(one.of.curve) for one in chosen], way, at))
    listed = _steps(chosen, found)
    return {
        "tuning": found,
        "declared": declared,
        "steps": listed,
        "baseline": chosen[0],
        "sentence": _together(found, chosen[0].label),
        "figure": figure(chosen[0].label, listed, found),
    }


def _withheld(chosen: Sequence[Chosen], found: Tuning) -> Tuning:
    """Without the bounds of what the order of the runs cannot tell from a drift of the host."""
    curves = [one.of.curve for one in chosen]
    before = curves[:-1] if found.way == "cumulative" else [curves[0]] * len(found.steps)
    why = [why_withheld(*pair) for pair in zip(curves[1:], before, strict=True)]
    steps = tuple(ratio.without_bounds(effect, one) for effect, one in zip(found.steps, why, strict=True))
    whole = why_withheld(curves[-1], curves[0]) if found.is_measured else next(filter(None, why), "")
    return replace(found, steps=steps, total=ratio.without_bounds(found.total, whole))


def _steps(chosen: Sequence[Chosen], found: Tuning) -> list[Step]:
    listed, running = [], 1.0
    for number, (of, effect) in enumerate(zip(chosen[1:], found.steps, strict=True), start=1):
        before = chosen[number - 1] if found.way == "cumulative" else chosen[0]
        running *= effect.value
        listed.append(Step(number, of, _changed(before, of), effect, running))
    return listed


def _changed(before: Chosen, of: Chosen) -> tuple[Side, ...]:
    """What was asked of the systems, and the machine: what is bought is a step as well."""
    machine = Side("machine", tuple(str(one.of.system.hardware) for one in (before, of)))
    return (*([machine] if machine.differs else []), *comparison.system_differences([before, of]))


def _together(found: Tuning, baseline: str) -> str:
    count = len(found.steps)
    steps_ = f"The {count} steps together" if count > 1 else "The step"
    bounds = f"{ratio.times(found.total.value)} the throughput of {baseline}"
    if found.total.withheld:
        give = f"give{'s' * (count == 1)}" if found.is_measured else "would give"
        return f"{steps_} {give} {bounds}, but nothing says how sure this is: {found.total.withheld}. {REMEDY}"
    bounds += f", {ratio.in_bounds(found.total)}"
    if found.is_measured:
        verdict = "" if not found.total.overlaps else ": not distinguishable from none"
        return f"{steps_} give{'s' * (count == 1)} {bounds}{verdict}."
    return f"{steps_} would give {bounds}, if none changed what another does. Nobody has measured them together."


def figure(baseline: str, listed: Sequence[Step], found: Tuning) -> Figure:
    """A waterfall in per cent of the baseline: each bar stands on the end of the one before."""
    names = [baseline, *(f"{step.number}. {step.of.label}" for step in listed), "together"]
    ends = [100.0, *(100 * step.running for step in listed)]
    changes = [after - before for before, after in pairwise(ends)]
    total = 100 * found.total.value
    solid = {"marker": {"pattern": {"shape": "" if found.is_measured else "/"}}}
    return {
        "data": [
            _bars("baseline and together", [names[0], names[-1]], [0, 0], [100.0, total], 6, solid),
            *_moves(names[1:-1], ends, changes, listed),
        ],
        "layout": {
            "xaxis": {"title": {"text": "step"}, "type": "category", "categoryorder": "array", "categoryarray": names},
            "yaxis": {"title": {"text": "throughput (% of the baseline)"}, "tickformat": ",~f", "rangemode": "tozero"},
            "barmode": "overlay",
        },
    }


def _moves(
    names: Sequence[str], ends: Sequence[float], changes: Sequence[float], listed: Sequence[Step]
) -> list[dict[str, Any]]:
    """Gains and losses as traces of their own, told apart by colour and pattern, each with its interval."""
    traces = []
    for title, series, shape, sign in (("gain", 2, "", 1), ("loss", 1, "x", -1)):
        at = [i for i, change in enumerate(changes) if change * sign > 0]
        spread = {
            "type": "data",
            "symmetric": False,
            "array": [ends[i] * _beyond(listed[i].effect)[1] for i in at],
            "arrayminus": [ends[i] * _beyond(listed[i].effect)[0] for i in at],
        }
        look = {"marker": {"pattern": {"shape": shape}}, "error_y": spread}
        if at:
            bars = _bars(title, [names[i] for i in at], [ends[i] for i in at], [changes[i] for i in at], series, look)
            traces.append(bars)
    return traces


def _beyond(effect: Ratio) -> tuple[float, float]:
    """How far its interval reaches below and above the effect; not at all where it is withheld."""
    low, high = effect.bounds or (effect.value, effect.value)
    return effect.value - low, high - effect.value


def _bars(
    name: str, x: Sequence[str], base: Sequence[float], y: Sequence[float], series: int, look: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": list(x),
        "base": list(base),
        "y": list(y),
        "hovertemplate": "%{x}: %{y:,.3~r}% of the baseline<extra>%{fullData.name}</extra>",
        "meta": {"series": series},
        **look,
    }


def _csv(listed: Sequence[Step]) -> HttpResponse:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for step in listed:
        of = step.effect
        cells = (step.number, step.of.label, step.changes, of.value, of.lowest, of.highest, of.p, of.adjusted_p)
        more = (of.n, of.baseline_n, step.verdict, step.running)
        writer.writerow([harmless("" if cell is None else cell) for cell in (*cells, *more)])
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="tuning-steps.csv"'
    return response
