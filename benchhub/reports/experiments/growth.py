"""An experiment that grows, for its page: its next step and the reason, what is believed, and the runs left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchhub.analysis.statistics.spread import Spread, summarise
from benchhub.bench.models import Experiment, Growth, Run
from benchhub.bench.models.states import State

from . import queries

NEXT = {
    "first": "The first levels are spread over the range by ratio, as throughput bends by ratio.",
    "later": "A run at this level would, by what is believed now, most probably settle which level is good enough.",
    "again": "It is the best level so far, once more: to confirm it, and to tell noise from the form of the curve.",
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
    """The runs with a result at one level, by themselves, as the curve shows them."""

    clients: int
    throughput: Spread


@dataclass(frozen=True, slots=True)
class Shown:
    """The growth of an experiment: `budget` is the most runs, `used` the runs so far; `levels` rise."""

    experiment: Experiment
    growth: Growth | None
    findings: dict[str, Any]
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
        return _percent(self.findings.get("probability"))

    @property
    def noise_percent(self) -> float | None:
        return _percent(self.findings.get("noise"))

    @property
    def best(self) -> int | None:
        """Return the level that a search believes to be the best."""
        return self.findings.get("best")

    @property
    def there(self) -> Level | None:
        """Return the best level as it was run; None where it was not, as a search may believe in any level."""
        return next((level for level in self.levels if level.clients == self.best), None)

    @property
    def highest(self) -> Level | None:
        """Return the level with the highest geometric mean of its runs; of equals the one with fewer clients."""
        return max(self.levels, key=lambda level: (level.throughput.mean, -level.clients), default=None)

    @property
    def is_decision(self) -> bool:
        return self.experiment.grows == Experiment.Grows.DECIDE

    @property
    def is_open(self) -> bool:
        return self.growth is None or not self.growth.stopped

    @property
    def why(self) -> str:
        """Say why the step that was planned last is taken."""
        if self.is_decision:
            return NEXT["pair"]
        if self.findings.get("is_confirming"):
            return NEXT["again"]
        return NEXT["first" if self.findings.get("is_first") else "later"]

    @property
    def is_unknown(self) -> bool:
        """Tell whether a search ended without knowing the best level."""
        return not self.is_decision and bool(self.growth and self.growth.stopped == Growth.Stopped.SPENT)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def shown(experiment: Experiment) -> Shown | None:
    """Return the growth of an experiment, whose budget bounds its runs; None where it does not grow."""
    if not experiment.grows:
        return None
    growth = Growth.objects.filter(experiment=experiment).first()
    measuring = list(queries.runs(experiment).filter(kind=Run.Kind.MEASURE))
    findings = growth.found if growth else {}
    budget_left = findings.get("pairs_left", findings.get("runs_left"))
    return Shown(
        experiment=experiment,
        growth=growth,
        findings=findings,
        rows=_rows(experiment, growth.steps if growth else [], measuring),
        levels=_levels(measuring),
        used=len(measuring),
        budget=experiment.most_runs if budget_left is None else _budget(experiment, findings, budget_left),
        unit=next((run.result.unit for run in measuring if hasattr(run, "result")), ""),
    )


def _budget(experiment: Experiment, findings: dict[str, Any], budget_left: int) -> int:
    """Return the budget as of the last step: it grows where runs turned out to scatter widely."""
    if experiment.grows == Experiment.Grows.DECIDE:
        return experiment.most_runs
    return max(experiment.most_runs, int(findings["n"]) + int(findings["spoilt"]) + budget_left)


def _levels(measuring: list[Run]) -> tuple[Level, ...]:
    """Summarise the runs that count, by the rule of RunQuerySet.counted."""
    values: dict[int, list[float]] = {}
    for run in measuring:
        if run.state == State.SUCCEEDED and not run.set_aside_at and hasattr(run, "result"):
            values.setdefault(run.clients, []).append(run.result.throughput)
    return tuple(Level(clients, summarise(throughputs)) for clients, throughputs in sorted(values.items()))


def _rows(experiment: Experiment, steps: list[dict[str, Any]], measuring: list[Run]) -> tuple[Row, ...]:
    """Give each step as many runs as the experiment has systems; repeats that a person added come after them."""
    ordered = sorted(measuring, key=lambda run: run.position)
    size = 2 if experiment.grows == Experiment.Grows.DECIDE else 1
    return tuple(
        Row(tuple(ordered[size * number : size * (number + 1)]), before) for number, before in enumerate(steps)
    )
