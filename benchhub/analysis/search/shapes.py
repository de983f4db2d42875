"""Build a library of curves of throughput against clients that are possible before anything is measured.

Only shapes matter, so every curve is a natural logarithm up to a constant. No curve has to be right: `belief` lets the
truth differ from each, smoothly and by any amount.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEED = 20_260_101
# Share of belief and number of curves.
SHARES = {
    "scalability": (0.27, 1440),
    "bends": (0.20, 1800),
    "pieces": (0.23, 2520),
    "dips": (0.08, 1800),
    "peaks": (0.12, 1800),
}
# No shape at all: everything is left to the smooth difference.
LEVEL_SHARE = 0.10


class Library(NamedTuple):
    """Curves (number of curves x number of levels) and the natural logarithm of the belief in each. The first is level:
    no shape at all.
    """

    curves: Floats
    log_shares: Floats


def library(levels: Floats) -> Library:
    """Return the library for these levels. The same levels give the same curves: the seed is fixed."""
    rng = np.random.default_rng(SEED)
    families = [FAMILIES[name](np.log(levels), count, rng) for name, (_, count) in SHARES.items()]
    shares = [np.full(count, np.log(share / count)) for share, count in SHARES.values()]
    level = np.zeros((1, levels.size))
    return Library(np.concatenate([level, *families]), np.concatenate([[np.log(LEVEL_SHARE)], *shares]))


def _scalability(log_n: Floats, count: int, rng: Generator) -> Floats:
    """Draw from the Universal Scalability Law (Gunther 2007), N / (1 + a (N - 1) + b N (N - 1)), its peak anywhere."""
    n = np.exp(log_n)
    peak = np.exp(rng.uniform(log_n[0] - 0.7, log_n[-1] + 1.4, (count, 1)))
    contention = np.exp(rng.uniform(np.log(1e-4), np.log(0.6), (count, 1)))
    coherency = (1 - contention) / peak**2
    return np.asarray(log_n - np.log1p(contention * (n - 1) + coherency * n * (n - 1)))


def _bends(log_n: Floats, count: int, rng: Generator) -> Floats:
    """Draw up to three straight pieces in log-log, rounded where they meet: cores, threads, saturation, decline."""
    first = rng.uniform(log_n[0] - 0.5, log_n[-1] + 0.3, (count, 1))
    second = first + rng.exponential(0.7, (count, 1))
    middle = rng.uniform(0, 0.9, (count, 1)) * rng.integers(0, 2, (count, 1))
    fall = rng.exponential(0.25, (count, 1)) * rng.integers(0, 3, (count, 1)).clip(max=1)
    width = np.exp(rng.uniform(np.log(0.01), np.log(0.4), (count, 1)))
    rise = rng.uniform(0.7, 1.0, (count, 1))
    bent = rise * log_n - (rise - middle) * _hinge(log_n - first, width)
    return np.asarray(bent - (middle + fall) * _hinge(log_n - second, width))


def _pieces(log_n: Floats, count: int, rng: Generator) -> Floats:
    """Draw straight pieces against clients with sharp corners, where something runs out and each client adds less."""
    n = np.exp(log_n)
    first = np.exp(rng.uniform(log_n[0], log_n[-1] + 0.3, (count, 1)))
    second = first * rng.choice([1.5, 2, 2, 2, 3, 4], (count, 1))
    slope = rng.uniform(0, 0.6, (count, 1)) * rng.integers(0, 2, (count, 1))
    fall = rng.exponential(0.004, (count, 1)) * rng.integers(0, 3, (count, 1)).clip(max=1)
    sums = np.minimum(n, first) + slope * np.clip(n - first, 0, second - first)
    end = np.where(slope > 0, second, first)
    return np.asarray(rng.uniform(0.85, 1, (count, 1)) * np.log(sums) - np.log1p(fall * np.clip(n - end, 0, None)))


def _dips(log_n: Floats, count: int, rng: Generator) -> Floats:
    """Draw a curve of one of the families above with a dip in it, so that there are two humps."""
    base = np.concatenate([_scalability(log_n, count // 2, rng), _bends(log_n, count - count // 2, rng)])
    middle = rng.uniform(log_n[0], log_n[-1], (count, 1))
    width = np.exp(rng.uniform(np.log(0.08), np.log(0.6), (count, 1)))
    depth = rng.uniform(0.03, 0.6, (count, 1))
    return np.asarray(base - depth * np.exp(-0.5 * ((log_n - middle) / width) ** 2))


def _peaks(log_n: Floats, count: int, rng: Generator) -> Floats:
    """Draw two round peaks upon a rise, also narrow ones far apart: their sum, or the higher of them."""
    first = rng.uniform(log_n[0], log_n[-1], (count, 1))
    second = first + rng.uniform(0.3, 2.6, (count, 1))
    widths = np.exp(rng.uniform(np.log(0.05), np.log(0.8), (2, count, 1)))
    heights = np.exp(rng.uniform(-0.35, 0.35, (2, count, 1)))
    rounds = heights * np.exp(-0.5 * ((log_n - np.array([first, second])) / widths) ** 2)
    base = rng.uniform(0.05, 1, (count, 1)) / (1 + np.exp(rng.uniform(log_n[0], log_n[-1], (count, 1)) - log_n))
    humps = np.where(rng.random((count, 1)) < 0.5, rounds.sum(axis=0), rounds.max(axis=0))
    return np.asarray(np.log(base + humps))


def _hinge(x: Floats, width: Floats) -> Floats:
    """Return 0 left of 0 and x right of it, with a bend as wide as `width`."""
    return np.asarray(width * np.logaddexp(0, x / width))


FAMILIES: dict[str, Callable[[Floats, int, Generator], Floats]] = {
    "scalability": _scalability,
    "bends": _bends,
    "pieces": _pieces,
    "dips": _dips,
    "peaks": _peaks,
}
