"""Compute what each step of a tuning series gained, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.estimate import Estimate
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL

from .ratio import Ratio, tested

Way = Literal["cumulative", "one-at-a-time"]
Levels = Mapping[int, Sequence[float]]


class NoTuningError(ValueError):
    """Raised for curves that make no series of steps; the message says why."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """`steps` are the effects in the order given: each on the one before (cumulative), or on the baseline alone.

    `total` is the last against the baseline where steps build on each other. Of steps made one at a time it is their
    product: what they would do together if none changed what another does, which nobody has measured.
    """

    way: Way
    clients: tuple[int, ...]
    steps: tuple[Ratio, ...]
    total: Ratio
    is_measured: bool


def series(systems: Sequence[Levels], way: Way, clients: int | None = None) -> Tuning:
    """Return the steps from the first of these systems (clients -> repeats), which is the baseline.

    At one number of clients, or (None) as the geometric mean over the levels that all ran. Raises NoTuningError.
    """
    if len(systems) < 2:
        raise NoTuningError("A series of steps needs a baseline and at least one step.")
    levels = _levels(systems, clients)
    logs = [estimate.mean([estimate.of_repeats(system[level]) for level in levels]) for system in systems]
    counts = [min(len(system[level]) for level in levels) for system in systems]
    if way == "cumulative":
        effects = [after - before for before, after in pairwise(logs)]
        total_log, baseline_counts = logs[-1] - logs[0], counts[:-1]
    else:
        effects = [step - logs[0] for step in logs[1:]]
        total_log = estimate.total(logs[1:]) - logs[0].scaled(len(effects))
        baseline_counts = [counts[0]] * len(effects)
    if not all(effect.has_scatter for effect in effects):
        raise NoTuningError("Some repeats do not scatter at all, so that nothing says how sure a step is.")
    steps = _corrected(effects, counts[1:], baseline_counts)
    return Tuning(way, levels, steps, tested(total_log, counts[-1], counts[0]), way == "cumulative")


def _levels(systems: Sequence[Levels], clients: int | None) -> tuple[int, ...]:
    common = sorted(set.intersection(*(set(system) for system in systems)))
    levels = [level for level in common if clients in (None, level)]
    if not levels:
        level_text = "level" if clients is None else f"run at {clients} clients"
        raise NoTuningError(f"There is no {level_text} that all of these systems have in common.")
    enough = [level for level in levels if all(len(system[level]) >= FEWEST_FOR_INTERVAL for system in systems)]
    if not enough:
        raise NoTuningError(f"No level has {FEWEST_FOR_INTERVAL} repeats of every system, and fewer have no interval.")
    return tuple(enough)


def _corrected(effects: Sequence[Estimate], counts: Sequence[int], baseline_counts: Sequence[int]) -> tuple[Ratio, ...]:
    ratios = [
        tested(effect, n, baseline_n) for effect, n, baseline_n in zip(effects, counts, baseline_counts, strict=True)
    ]
    adjusted = estimate.holm([effect.p for effect in effects])
    return tuple(replace(ratio, adjusted_p=p) for ratio, p in zip(ratios, adjusted, strict=True))
