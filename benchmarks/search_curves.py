"""Throughput curves whose truth is known, for benchmarks/search.py. Heights are arbitrary; clients are an array.

`FAMILIES` were looked at while the search was made. `HELD_OUT` have other forms: their results were seen, and `cliff`,
which was one of them, moved over when it led to the belief in jumps, but no shape was made for those that are left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats, Generator], Floats]


def usl(n: Floats, rng: Generator) -> Floats:
    """The Universal Scalability Law: its peak between 4 and 400 clients."""
    contention, peak = _ratio(rng, 0.001, 0.3), _ratio(rng, 4, 400)
    coherency = (1 - contention) / peak**2
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def smt_steps(n: Floats, rng: Generator) -> Floats:
    """Nearly linear up to the cores, slower up to the hardware threads, then flat or falling."""
    cores = rng.integers(4, 65)
    threads = 2 * cores
    second = rng.uniform(0.1, 0.45)
    fall = rng.uniform(0, 0.004) * rng.integers(0, 2)
    gained = np.minimum(n, cores) + second * np.clip(n - cores, 0, threads - cores)
    return gained ** rng.uniform(0.9, 1) / (1 + fall * np.clip(n - threads, 0, None))


def plateau(n: Floats, rng: Generator) -> Floats:
    """Up to a bottleneck, more or less sharply, then level or sagging a little."""
    at, sharpness = _ratio(rng, 6, 150), _ratio(rng, 2, 12)
    sag = rng.uniform(0, 0.1) * rng.integers(0, 2)
    return n / (1 + (n / at) ** sharpness) ** (1 / sharpness) * (n / at).clip(min=1) ** -sag


def two_humps(n: Floats, rng: Generator) -> Floats:
    """Two peaks, the second 0.8 to 1.2 times as high as the first."""
    first = _ratio(rng, 6, 40)
    second = first * rng.uniform(2.5, 6)
    width = rng.uniform(0.25, 0.6, 2)
    height = rng.uniform(0.8, 1.2)
    each = zip((first, second), width, (1, height), strict=True)
    humps = [high * np.exp(-0.5 * (np.log(n / at) / wide) ** 2) for at, wide, high in each]
    return np.maximum(*humps) + 0.3 * np.minimum(n / first, 1)


def queueing_network(n: Floats, rng: Generator) -> Floats:
    """Mean value analysis of a closed network: processors, a disk, a lock whose service slows under contention."""
    cpus, demand, disk = rng.integers(4, 65), 1.0, _ratio(rng, 0.002, 0.1)
    lock, slowing = _ratio(rng, 0.001, 0.03), _ratio(rng, 1e-5, 2e-3)
    queues, shown = np.zeros(3), np.zeros(int(n.max()) + 1)
    for clients in range(1, shown.size):
        service = np.array([demand / min(cpus, clients), disk, lock * (1 + slowing * clients**1.5)])
        times = service * (1 + queues)
        times[0] = max(demand, times[0])
        shown[clients] = clients / times.sum()
        queues = shown[clients] * times
    return shown[n.astype(int)]


def cliff(n: Floats, rng: Generator) -> Floats:
    """Saturating, and a sudden loss beyond some number of clients."""
    at, loss, half = _ratio(rng, 10, 150), rng.uniform(0.05, 0.5), _ratio(rng, 5, 80)
    return n / (n + half) * (1 - loss * (n > at))


def gamma_like(n: Floats, rng: Generator) -> Floats:
    """N^a exp(-N / b): one round peak, at a x b clients."""
    power = rng.uniform(0.3, 1)
    return n**power * np.exp(-power * n / _ratio(rng, 6, 400))


def ripples(n: Floats, rng: Generator) -> Floats:
    """Saturating, with waves of up to 4% over clients: threads that share out unevenly."""
    base = 1 - np.exp(-n / _ratio(rng, 8, 60))
    waves = rng.uniform(0.005, 0.04) * np.sin(2 * np.pi * n / rng.uniform(16, 64) + rng.uniform(0, 6.3))
    return base * (1 + waves) * np.exp(-n * rng.uniform(0, 0.003))


def wandering(n: Floats, rng: Generator) -> Floats:
    """A smoothed random walk over the logarithm of clients upon a saturating rise."""
    grid = np.linspace(np.log(n[0]), np.log(n[-1]), 200)
    walk = np.cumsum(np.convolve(rng.standard_normal(220), np.ones(21) / 21, "valid")) * rng.uniform(0.005, 0.02)
    return n / (n + _ratio(rng, 4, 40)) * np.exp(np.interp(np.log(n), grid, walk))


def shelves(n: Floats, rng: Generator) -> Floats:
    """Two to four shelves, each reached by a rise, the last ones possibly lower."""
    starts = np.sort(np.exp(rng.uniform(np.log(4), np.log(140), rng.integers(2, 5))))
    steps = rng.uniform(-0.2, 0.4, starts.size)
    rise = np.minimum(n / starts[0], 1) ** 0.9
    shelf = [step / (1 + (at / n) ** 8) for step, at in zip(steps[1:], starts[1:], strict=True)]
    return rise * (1 + sum(shelf))


def collapse(n: Floats, rng: Generator) -> Floats:
    """A logistic rise over the logarithm of clients, and a logistic collapse to a floor."""
    up, down = _ratio(rng, 4, 40), _ratio(rng, 30, 300)
    steep, floor = rng.uniform(1, 3), rng.uniform(0.2, 0.8)
    rise = 1 / (1 + (n / up) ** -rng.uniform(1, 1.6))
    return rise * (floor + (1 - floor) / (1 + (n / down) ** (2 * steep)))


FAMILIES: dict[str, Curve] = {
    "USL": usl,
    "SMT steps": smt_steps,
    "plateau": plateau,
    "two humps": two_humps,
    "cliff": cliff,
}
HELD_OUT: dict[str, Curve] = {
    "queueing network": queueing_network,
    "gamma": gamma_like,
    "ripples": ripples,
    "wandering": wandering,
    "shelves": shelves,
    "collapse": collapse,
}


def _ratio(rng: Generator, low: float, high: float) -> float:
    """Uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
