"""Curves whose best level is known, and searches that follow the advice on them, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .advice import Advice, Goal, advise
from .belief import Trial

LEVELS = list(range(2, 161, 2))
GOAL = Goal(runs=12, noisy_runs=24)


def follow(
    curve: Callable[[int], float],
    goal: Goal = GOAL,
    noise: float = 0.0,
    levels: Sequence[int] = LEVELS,
    seed: int = 1,
) -> tuple[Advice, list[Trial]]:
    """Run the advised levels on this curve until the end; return the last advice and the trials."""
    rng = np.random.default_rng(seed)
    trials: list[Trial] = []
    while (advice := advise(levels, trials, goal)).clients is not None:
        assert len(trials) < goal.noisy_runs
        factor = max(0.05, 1 + noise * rng.standard_normal())
        trials.append(Trial(advice.clients, curve(advice.clients) * factor))
    return advice, trials


def scalability(clients: int, peak: float = 40, contention: float = 0.02) -> float:
    """Return the Universal Scalability Law with this peak."""
    coherency = (1 - contention) / peak**2
    return 1000 * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))
