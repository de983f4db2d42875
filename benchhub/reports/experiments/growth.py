"""What the page of an experiment that grows says of it: what it tries next and why, what is believed, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchhub.analysis.statistics.spread import Spread, summarise
from benchhub.bench.models import Experiment, Growth, Run
from benchhub.bench.models.states import State

NEXT = {
    "first": "The first levels are spread over the range by ratio, as throughput bends by ratio.",
    "later": "A run at this level would, by what is believed now, most probably settle which level is good enough.",
    "pair": "The ratio is not known well enough yet. Either system goes first in one of each two pairs, by a seed.",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A step: its runs, and what was believed before them."""

    runs: tuple[Run, ...]
    before: dict[str, Any]

    @property
    def belief_percent(self) -> float | None:
        return _percent(self.before.get("probability"))


@dataclass(frozen=True, slots=True)
class Level:
    """The runs with a result at one level, by themselves: what the curve shows, whatever is believed."""

    clients: int
    throughput: Spread


@dataclass(frozen=True, slots=True)
class Shown:
    """`percent` is the precision; `budget` the runs it may take, `used` those that it took; `levels` rise."""

    experiment: Experiment
    growth: Growth | None
    found: dict[str, Any]
    rows: tuple[Row, ...]
    levels: tuple[Level, ...]
    used: int
    budget: int
    unit: str

    @property
    def percent(self) -> float:
        return 100 * self.experiment.precision

    @property
    def belief_percent(self) -> float | None:
        return _percent(self.found.get("probability"))

    @property
    def noise_percent(self) -> float | None:
        return _percent(self.found.get("noise"))

    @property
    def best(self) -> int | None:
        """The level that a search believes to be the best."""
        return self.found.get("best")

    @property
    def there(self) -> Level | None:
        """The level that is believed to be the best, as it was run; a search may believe in one that was not."""
        return next((level for level in self.levels if level.clients == self.best), None)

    @property
    def highest(self) -> Level | None:
        """The level with the highest median of its runs; of equals the one with fewer clients."""
        return max(self.levels, key=lambda level: (level.throughput.median, -level.clients), default=None)

    @property
    def is_decision(self) -> bool:
        return self.experiment.grows == Experiment.Grows.DECIDE

    @property
    def is_open(self) -> bool:
        return self.growth is None or not self.growth.stopped

    @property
    def why(self) -> str:
        """Why the step that was planned last is taken."""
        if self.is_decision:
            return NEXT["pair"]
        return NEXT["first" if self.found.get("is_first") else "later"]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def shown(experiment: Experiment, runs: list[Run]) -> Shown | None:
    """None for an experiment that does not grow. `runs` are its runs with their results, in their order."""
    if not experiment.grows:
        return None
    growth = Growth.objects.filter(experiment=experiment).first()
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE]
    findings = growth.found if growth else {}
    budget_left = findings.get("pairs_left", findings.get("runs_left"))
    return Shown(
        experiment=experiment,
        growth=growth,
        found=findings,
        rows=_rows(experiment, growth.steps if growth else [], measuring),
        levels=_levels(measuring),
        used=len(measuring),
        budget=experiment.most_runs if budget_left is None else _budget(experiment, findings, budget_left),
        unit=next((run.result.unit for run in measuring if hasattr(run, "result")), ""),
    )


def _budget(experiment: Experiment, findings: dict[str, Any], budget_left: int) -> int:
    """As of the last step: it grows where runs turned out to scatter widely."""
    if experiment.grows == Experiment.Grows.DECIDE:
        return experiment.most_runs
    return max(experiment.most_runs, int(findings["n"]) + int(findings["spoilt"]) + budget_left)


def _levels(measuring: list[Run]) -> tuple[Level, ...]:
    """By the rule of RunQuerySet.counted."""
    values: dict[int, list[float]] = {}
    for run in measuring:
        if run.state == State.SUCCEEDED and not run.set_aside_at and hasattr(run, "result"):
            values.setdefault(run.clients, []).append(run.result.throughput)
    return tuple(Level(clients, summarise(own)) for clients, own in sorted(values.items()))


def _rows(experiment: Experiment, steps: list[dict[str, Any]], measuring: list[Run]) -> tuple[Row, ...]:
    """Each step has as many runs as the experiment has systems; repeats that a person added come after them."""
    ordered = sorted(measuring, key=lambda run: run.position)
    systems_at_once = 2 if experiment.grows == Experiment.Grows.DECIDE else 1
    return tuple(
        Row(tuple(ordered[systems_at_once * i : systems_at_once * (i + 1)]), before) for i, before in enumerate(steps)
    )
