"""A series of tuning steps: curves in their order, the first of them the baseline. The state is in the address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from django.http import HttpResponse, QueryDict
from django.urls import reverse

from benchhub.analysis.curves import peak, ratio, tuning
from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.curves.tuning import NoTuningError, Tuning, Way
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE
from benchhub.analysis.words import word
from benchhub.bench.models import Comparability
from benchhub.reports.curves.bars import bars, bars_text, of_ratio
from benchhub.reports.curves.figures import Figure
from benchhub.reports.curves.outcomes import LOOKS
from benchhub.reports.curves.outcomes import look as look_of
from benchhub.ui.csv_files import csv_text, download

from .answers import systems
from .answers.systems import Change
from .comparison import Comparison
from .entries import Entry
from .state import State, address

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
    entry: Entry
    changed: tuple[Change, ...]
    effect: Ratio
    running: float

    @property
    def verdict(self) -> str:
        return self.effect.verdict

    @property
    def changes(self) -> str:
        return "; ".join(map(str, self.changed))


@dataclass(frozen=True, slots=True)
class Series:
    """The steps from a baseline, each with its effect, and what all of them make together."""

    baseline: Entry
    tuning: Tuning
    steps: tuple[Step, ...]
    declarations: tuple[Comparability, ...]

    @property
    def sentence(self) -> str:
        return _together(self.tuning, self.baseline.label)

    @property
    def figure(self) -> Figure:
        return figure(self.baseline.label, self.steps, self.tuning)


def series(comparison: Comparison, way: Way, clients: str) -> Series:
    """Read the curves of a comparison as steps, at a number of clients or, for '', at all levels together.

    Raises NoTuningError, whose message says why the curves are no steps.
    """
    if not comparison.is_comparable:
        raise NoTuningError("These curves were run under different protocols or in different units.")
    level = int(clients) if re.fullmatch("[0-9]{1,9}", clients) else None
    measured = tuning.series([peak.of_curve(entry.curve) for entry in comparison.curves], way, level)
    bounded = _withheld(comparison.curves, measured)
    return Series(comparison.curves[0], bounded, tuple(_steps(comparison.curves, bounded)), comparison.declarations)


def way_of(query: QueryDict) -> Way:
    return cast(Way, query["way"]) if query.get("way") in WAYS else "cumulative"


@dataclass(frozen=True)
class TuningPage:
    """The page of a series; without one, `refusal` says why."""

    comparison: Comparison
    query: QueryDict
    series: Series | None
    refusal: str = ""

    ways = WAYS

    @classmethod
    def load(cls, comparison: Comparison, query: QueryDict) -> TuningPage:
        try:
            return cls(comparison, query, series(comparison, way_of(query), query.get("clients", "")))
        except NoTuningError as error:
            return cls(comparison, query, None, str(error))

    @property
    def way(self) -> Way:
        return way_of(self.query)

    @property
    def clients(self) -> str:
        return self.query.get("clients", "")

    @cached_property
    def levels(self) -> list[int]:
        """Return the numbers of clients at which all curves were run."""
        levels = [{level.clients for level in entry.curve.levels} for entry in self.comparison.curves]
        return sorted(set.intersection(*levels)) if levels else []

    @property
    def hidden(self) -> list[tuple[str, str]]:
        return [("curve", entry.key) for entry in self.comparison.curves]

    @property
    def compare_address(self) -> str:
        curves = [entry.key for entry in self.comparison.curves]
        return f"{reverse('compare')}{State.of_curves(curves).address()}"

    @property
    def csv_address(self) -> str:
        return address(self.query, csv=["steps"])


def _withheld(entries: Sequence[Entry], measured: Tuning) -> Tuning:
    """Remove the bounds of effects that the order of the runs cannot tell from a drift of the host."""
    curves = [entry.curve for entry in entries]
    baselines = curves[:-1] if measured.way == "cumulative" else [curves[0]] * len(measured.steps)
    reasons = [why_withheld(*pair) for pair in zip(curves[1:], baselines, strict=True)]
    steps = tuple(ratio.without_bounds(effect, reason) for effect, reason in zip(measured.steps, reasons, strict=True))
    total_reason = why_withheld(curves[-1], curves[0]) if measured.is_measured else next(filter(None, reasons), "")
    return replace(measured, steps=steps, total=ratio.without_bounds(measured.total, total_reason))


def _steps(entries: Sequence[Entry], measured: Tuning) -> list[Step]:
    steps, running = [], 1.0
    for number, (entry, effect) in enumerate(zip(entries[1:], measured.steps, strict=True), start=1):
        before = entries[number - 1] if measured.way == "cumulative" else entries[0]
        running *= effect.value
        steps.append(Step(number, entry, _changed(before, entry), effect, running))
    return steps


def _changed(before: Entry, after: Entry) -> tuple[Change, ...]:
    """Return the differences in what was asked of the systems, and in the machine: buying one is a step as well."""
    machine = Change("machine", str(before.system.hardware), str(after.system.hardware))
    changes = (Change(side.name, *side.values) for side in systems.differences([before, after]))
    return (*([machine] if machine.before != machine.after else []), *changes)


def _together(measured: Tuning, baseline: str) -> str:
    number = len(measured.steps)
    steps_ = f"The {number} steps together" if number > 1 else "The step"
    bounds = f"{ratio.times(measured.total.value)} the throughput of {baseline}"
    if measured.total.withheld:
        give = word("gives", number, "give") if measured.is_measured else "would give"
        return f"{steps_} {give} {bounds}, but nothing says how sure this is: {measured.total.withheld}. {REMEDY}"
    bounds += f", {ratio.in_bounds(measured.total)}"
    if measured.is_measured:
        verdict = "" if measured.total.is_distinguishable else f": {NOT_DISTINGUISHABLE} from none"
        return f"{steps_} {word('gives', number, 'give')} {bounds}{verdict}."
    return f"{steps_} would give {bounds}, if none changed what another does. Nobody has measured them together."


def figure(baseline: str, steps: Sequence[Step], measured: Tuning) -> Figure:
    """Draw a waterfall in per cent of the baseline: each bar stands on the end of the one before."""
    names = [baseline, *(f"{step.number}. {step.entry.label}" for step in steps), "together"]
    ends = [100.0, *(100 * step.running for step in steps)]
    changes = [after - before for before, after in pairwise(ends)]
    total = 100 * measured.total.value
    solid = {"marker": {"pattern": {"shape": "" if measured.is_measured else "/"}}}
    return {
        "data": [
            _bars("baseline and together", [names[0], names[-1]], [0, 0], [100.0, total], 6, solid),
            *_moves(names[1:-1], ends, changes, steps),
        ],
        "layout": {
            "xaxis": {"title": {"text": "step"}, "type": "category", "categoryorder": "array", "categoryarray": names},
            "yaxis": {"title": {"text": "throughput (% of the baseline)"}, "tickformat": ",~f", "rangemode": "tozero"},
            "barmode": "overlay",
            "meta": {"bars_text": bars_text(of_ratio(step.effect) for step in steps)},
        },
    }


def _moves(
    names: Sequence[str], ends: Sequence[float], changes: Sequence[float], steps: Sequence[Step]
) -> list[dict[str, Any]]:
    """Draw steps as a trace for each outcome, told apart by colour and pattern, each with its interval."""
    traces: list[dict[str, Any]] = []
    for look in LOOKS.values():
        places = [place for place, step in enumerate(steps) if look_of(step.effect) is look]
        if places:
            x, base = [names[place] for place in places], [ends[place] for place in places]
            pattern = {"marker": {"pattern": {"shape": look.pattern}}}
            trace = _bars(look.title, x, base, [changes[place] for place in places], look.series, pattern)
            traces += bars(trace, [of_ratio(steps[place].effect, ends[place]) for place in places])
    return traces


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


def csv_response(series: Series) -> HttpResponse:
    """Answer with the steps as CSV."""
    return download("tuning-steps.csv", csv_text(COLUMNS, map(_cells, series.steps)))


def _cells(step: Step) -> Sequence[Any]:
    effect = step.effect
    cells = (step.number, step.entry.label, step.changes, effect.value, effect.lowest, effect.highest)
    return (*cells, effect.p, effect.adjusted_p, effect.n, effect.baseline_n, step.verdict, step.running)
