"""The page of a plan that recurs: its rule, what it has queued, and the peaks of each system over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.db.models import Q
from django.urls import reverse

from benchhub.analysis.statistics.spread import Spread, summarise
from benchhub.bench.models import Experiment, Recurrence, Run, System
from benchhub.reports.curves.panel import Panel
from benchhub.ui.pages import Crumb

from .trend import Occasion, trend

MOST_OCCASIONS = 100
Best = tuple[str, int, str, Spread]  # protocol, clients, unit and throughput


@dataclass(frozen=True, slots=True)
class Row:
    """An experiment with the peak of each of its systems."""

    experiment: Experiment
    is_over: bool
    peaks: tuple[tuple[System, Occasion], ...]


@dataclass(frozen=True, slots=True)
class Skip:
    at: datetime
    experiment: int


@dataclass(frozen=True)
class RecurrencePage:
    experiment: Experiment
    recurrence: Recurrence

    @property
    def title(self) -> str:
        return f"{self.experiment.name}, again by a rule"

    @property
    def crumb(self) -> Crumb:
        return Crumb.to("experiment", self.experiment.name, self.experiment.pk)

    @cached_property
    def experiments(self) -> list[Experiment]:
        """Return what the rule has queued, the newest first and not more than are shown, and the plan itself."""
        queued = Experiment.objects.filter(occasion_of=self.recurrence).order_by("-pk")
        return [*queued[:MOST_OCCASIONS], self.experiment]

    @property
    def is_cut(self) -> bool:
        return len(self.experiments) > MOST_OCCASIONS

    @cached_property
    def rows(self) -> list[Row]:
        left = set(Experiment.objects.left().filter(pk__in=self._keys).values_list("pk", flat=True))
        return [Row(row, row.pk not in left, self._peaks.get(row.pk, ())) for row in self.experiments]

    @cached_property
    def trend(self) -> Panel:
        oldest_first = [occasion for row in reversed(self.rows) for _, occasion in row.peaks]
        return trend(sorted(oldest_first, key=lambda occasion: (occasion.at, occasion.series)))

    @property
    def _keys(self) -> list[int]:
        return [experiment.pk for experiment in self.experiments]

    @cached_property
    def _peaks(self) -> Mapping[int, tuple[tuple[System, Occasion], ...]]:
        times = {experiment.pk: experiment.created_at for experiment in self.experiments}
        best = _best(Run.objects.repeats(Q(experiment__in=self._keys)))
        systems = list(self.experiment.systems.all())
        by_experiment: dict[int, tuple[tuple[System, Occasion], ...]] = {}
        for series, system in enumerate(systems):
            for experiment in (key for key in self._keys if (key, system.pk) in best):
                protocol, clients, unit, spread = best[experiment, system.pk]
                at = times[experiment]
                occasion = Occasion(at, experiment, system.label, series, protocol, clients, unit, spread)
                by_experiment[experiment] = (*by_experiment.get(experiment, ()), (system, occasion))
        return by_experiment

    @property
    def skips(self) -> list[Skip]:
        return [Skip(datetime.fromisoformat(skip["at"]), skip["experiment"]) for skip in self.recurrence.skips]

    @property
    def compare_address(self) -> str:
        """Return the address that compares the curves of the newest two that have results; empty for fewer."""
        newest = [row for row in self.rows if row.peaks][:2]
        curves = [f"{row.experiment.pk}-{system.pk}" for row in reversed(newest) for system, _ in row.peaks]
        return f"{reverse('compare')}?{urlencode({'curve': curves}, doseq=True)}" if len(newest) == 2 else ""


def _best(levels: Mapping[tuple[int, int, str, int, str], list[float]]) -> dict[tuple[int, int], Best]:
    """Return the best level by (experiment, system); of equal ones that of the fewest clients."""
    spreads = {level: summarise(values) for level, values in levels.items()}
    ordered = sorted(spreads, key=lambda level: (spreads[level].mean, -level[3]))
    return {level[:2]: (*level[2:], spreads[level]) for level in ordered}
