"""The page of a plan that recurs: its rule, what it has queued, and the peaks of each system over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse

from benchhub.bench.models import Experiment, Level, Recurrence, Run, System
from benchhub.ui.pages import Crumb

MOST_OCCASIONS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """An experiment with the best level of each of its systems."""

    experiment: Experiment
    is_over: bool
    peaks: tuple[tuple[System, Level], ...]


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
        return [Row(row, row.pk not in left, tuple(self._peaks.get(row.pk, ()))) for row in self.experiments]

    @property
    def _keys(self) -> list[int]:
        return [experiment.pk for experiment in self.experiments]

    @cached_property
    def _peaks(self) -> Mapping[int, Sequence[tuple[System, Level]]]:
        systems = {system.pk: system for system in self.experiment.systems.all()}
        peaks = Run.objects.filter(experiment__in=self._keys).peaks()
        by_experiment: dict[int, list[tuple[System, Level]]] = {}
        for (experiment, system), level in sorted(peaks.items()):
            by_experiment.setdefault(experiment, []).append((systems[system], level))
        return by_experiment

    @property
    def skips(self) -> list[Skip]:
        return [Skip(datetime.fromisoformat(skip["at"]), skip["experiment"]) for skip in self.recurrence.skips]

    @property
    def compare_address(self) -> str:
        """Return the address that compares the curves of the newest two that have results; empty for fewer."""
        newest = [row for row in self.rows if row.peaks][:2]
        curves = [f"{level.experiment}-{level.system}" for row in reversed(newest) for _, level in row.peaks]
        return f"{reverse('compare')}?{urlencode({'curve': curves}, doseq=True)}" if len(newest) == 2 else ""
