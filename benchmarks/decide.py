"""Measure how often a decision by interleaved pairs is wrong when it is looked at after every pair, and its cost.

Peers: an ordinary 95% t interval looked at after every pair, and one that is computed once, after the last. False
differences: of two equal systems one is called faster or slower. Seed recorded; 4,000 series of 40 pairs each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchhub.analysis.curves.decide import FEWEST_PAIRS, half_width
from benchhub.analysis.statistics.spread import t_quantile

SEED = 6
SERIES, PAIRS = 4000, 40
NOISE = 0.02  # of a run; a pair's ratio scatters by sqrt(2) times that
PRECISION = 0.02
ALLOWED = 0.05

Floats = NDArray[np.float64]
# Half of an interval of a mean, for each number of values, in their standard deviations: it only depends on n.
SEQUENCE = np.array([half_width([-1.0, *[0.0] * (n - 2), 1.0]) or np.inf for n in range(FEWEST_PAIRS, PAIRS + 1)])
UNIT = np.array([np.std([-1.0, *[0.0] * (n - 2), 1.0], ddof=1) for n in range(FEWEST_PAIRS, PAIRS + 1)])
ORDINARY = np.array([t_quantile(n - 1) / np.sqrt(n) for n in range(FEWEST_PAIRS, PAIRS + 1)])


def independent(rng: Generator) -> Floats:
    return rng.normal(0, NOISE, (SERIES, PAIRS, 2))


def drifting(rng: Generator) -> Floats:
    """Return noise with a drift of 10% from the first pair to the last, shared by both systems."""
    return independent(rng) + np.linspace(0, 0.1, PAIRS)[:, None]


def autocorrelated(rng: Generator) -> Floats:
    """Return noise of which each run keeps 0.3 from the one before it on its system."""
    noise = independent(rng)
    for pair in range(1, PAIRS):
        noise[:, pair] = 0.3 * noise[:, pair - 1] + np.sqrt(1 - 0.09) * noise[:, pair]
    return noise


def with_outliers(rng: Generator) -> Floats:
    """Return noise in which one run in twenty is 10% slow."""
    return independent(rng) - 0.1 * (rng.random((SERIES, PAIRS, 2)) < 0.05)


def heavy_tailed(rng: Generator) -> Floats:
    """Return noise by Student's t with three degrees of freedom, of the same standard deviation."""
    return NOISE / np.sqrt(3) * rng.standard_t(3, (SERIES, PAIRS, 2))


SCATTER: dict[str, Callable[[Generator], Floats]] = {
    "independent": independent,
    "shared drift": drifting,
    "autocorrelated": autocorrelated,
    "outliers": with_outliers,
    "heavy tails": heavy_tailed,
}


def main() -> int:
    print(f"{SERIES} series of {PAIRS} pairs, noise of a run {NOISE:.0%}; seed {SEED}.")
    print("False differences of two equal systems           sequence  t, every look  t, once at the end")
    wrong = [_false(name, scatter) for name, scatter in SCATTER.items()]
    print(f"\nA true difference, until the ratio is known to within {PRECISION:.0%} or {PAIRS} pairs are spent")
    print("  ratio    pairs, median   within precision   direction right   wrong   cannot tell   interval holds ratio")
    for ratio in (1.0, 1.01, 1.02, 1.05, 1.1):
        _true(ratio)
    return 0 if max(wrong[:2]) <= ALLOWED else 1


def _false(name: str, scatter: Callable[[Generator], Floats]) -> float:
    noise = scatter(np.random.default_rng([SEED, *name.encode()]))
    middle, deviation = _running(noise[:, :, 1] - noise[:, :, 0])
    sequence = _share(np.abs(middle) > deviation * SEQUENCE / UNIT)
    looks = np.abs(middle) > deviation * ORDINARY
    print(f"  {name:46} {sequence:8.1%} {_share(looks):14.1%} {np.mean(looks[:, -1]):19.1%}")
    return sequence


def _true(ratio: float) -> None:
    noise = independent(np.random.default_rng([SEED, round(1000 * ratio)]))
    middle, deviation = _running(np.log(ratio) + noise[:, :, 1] - noise[:, :, 0])
    half = deviation * SEQUENCE / UNIT
    precise = np.expm1(half) <= PRECISION
    at = np.where(precise.any(axis=1), precise.argmax(axis=1), middle.shape[1] - 1)
    rows = np.arange(SERIES)
    middle, half, precise = middle[rows, at], half[rows, at], precise[rows, at]
    clear = np.abs(middle) > half
    right = clear & (np.sign(middle) == np.sign(np.log(ratio)))
    held = np.abs(middle - np.log(ratio)) <= half
    print(
        f"  {ratio:5.2f} {np.median(at) + FEWEST_PAIRS:13.0f} {np.mean(precise):18.1%} {np.mean(right):17.1%}"
        f" {np.mean(clear & ~right):9.1%} {np.mean(~clear & ~precise):12.1%} {np.mean(held):19.1%}"
    )


def _running(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation after each pair from the third on (series x looks)."""
    n = np.arange(1, PAIRS + 1)
    sums, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
    variance = (squares - sums**2 / n)[:, 1:] / n[:-1]
    looks = slice(FEWEST_PAIRS - 1, None)
    return (sums / n)[:, looks], np.sqrt(variance[:, FEWEST_PAIRS - 2 :])


def _share(is_different: NDArray[np.bool_]) -> float:
    return float(np.mean(is_different.any(axis=1)))


if __name__ == "__main__":
    sys.exit(main())
