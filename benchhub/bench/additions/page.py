"""The page of a plan that recurs: its rule, what it has queued, and the peaks of each system over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.urls import reverse

from benchhub.bench.models import Experiment, Recurrence, Run, System
from benchhub.ui.pages import Crumb

MOST_OCCASIONS = 100


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest throughput of a system in one experiment, as the mean of its repeats at that level."""

    system: System
    clients: int
    throughput: float
    unit: str
    repeats: int


@dataclass(frozen=True, slots=True)
class Row:
    experiment: Experiment
    is_over: bool
    peaks: tuple[Peak, ...]


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
        """Return the plan itself and what it has queued, the newest first."""
        queued = Experiment.objects.filter(occasion_of=self.recurrence).order_by("-pk")
        return [*queued[:MOST_OCCASIONS], self.experiment]

    @cached_property
    def rows(self) -> list[Row]:
        unfinished = set(Run.objects.unfinished().filter(experiment__in=self.experiments).values_list("experiment"))
        return [
            Row(experiment, (experiment.pk,) not in unfinished, tuple(self._peaks.get(experiment.pk, {}).values()))
            for experiment in self.experiments
        ]

    @cached_property
    def _peaks(self) -> Mapping[int, Mapping[int, Peak]]:
        systems = {row.pk: row for row in System.objects.filter(experiments__in=self.experiments).distinct()}
        peaks: dict[int, dict[int, Peak]] = {}
        for level in Run.objects.filter(experiment__in=self.experiments).levels():
            own, system = peaks.setdefault(level.experiment, {}), systems[level.system]
            if level.system not in own or level.throughput > own[level.system].throughput:
                own[level.system] = Peak(system, level.clients, level.throughput, level.unit, level.repeats)
        return peaks

    @property
    def skips(self) -> list[Skip]:
        return [Skip(datetime.fromisoformat(skip["at"]), skip["experiment"]) for skip in self.recurrence.skips if skip]

    @property
    def compare_address(self) -> str:
        """Return the address that compares the newest two that have a peak; empty for fewer."""
        keys = [row.experiment.pk for row in self.rows if row.peaks][:2]
        query = "&".join(f"experiment={key}" for key in sorted(keys))
        return f"{reverse('compare')}?{query}" if len(keys) == 2 else ""
