"""Simulate how often each estimator of a level names the faster of two systems, and how far off it is on average.

One system is 3% faster. Noise is 2%; then rare runs stall, or single runs lose a fifth.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence

from benchhub.analysis.statistics.spread import geometric_mean

EXPERIMENTS = 20_000
GAIN, NOISE, SEED = 1.03, 0.02, 20261125
Estimator = Callable[[Sequence[float]], float]
ESTIMATORS: dict[str, Estimator] = {
    "geometric mean": geometric_mean, "median": statistics.median, "arithmetic mean": statistics.fmean,
}  # fmt: skip
FAMILIES = {"noise alone": (0.0, 0.0), "1 run of 20 loses a fifth": (0.05, 0.2), "8% of runs stall by 40%": (0.08, 0.4)}


def repeats(source: random.Random, truth: float, count: int, family: tuple[float, float]) -> list[float]:
    share, loss = family
    return [
        truth * math.exp(source.gauss(0, NOISE)) * (1 - loss if source.random() < share else 1) for _ in range(count)
    ]


def right_percent(estimator: Estimator, count: int, family: tuple[float, float]) -> float:
    source = random.Random(SEED)
    right = sum(
        estimator(repeats(source, 1000 * GAIN, count, family)) > estimator(repeats(source, 1000, count, family))
        for _ in range(EXPERIMENTS)
    )
    return 100 * right / EXPERIMENTS


def main() -> int:
    print(f"Per cent of {EXPERIMENTS:,} pairs in which the system that is {GAIN - 1:.0%} faster is named, seed {SEED}:")
    for name, family in FAMILIES.items():
        for count in (3, 5):
            shares = [f"{label} {right_percent(f, count, family):5.1f}" for label, f in ESTIMATORS.items()]
            print(f"{name:28} {count} repeats   {'   '.join(shares)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
