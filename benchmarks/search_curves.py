"""Throughput curves whose truth is known, for benchmarks/search.py. Heights are arbitrary; clients are an array.

`FAMILIES` were looked at while the search was made. `OF_THE_KINDS` are other curves of the same kinds: by the first
seven it was decided which of several ways to search is better, the last five were tried only when that was done.
`HELD_OUT` have other forms, and no shape was made for them; `cliff`, which was one of them, moved over when it led to
the belief in jumps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats, Generator], Floats]


def usl(n: Floats, rng: Generator) -> Floats:
    """Return the Universal Scalability Law with its peak between 4 and 400 clients."""
    contention, peak = ratio(rng, 0.001, 0.3), ratio(rng, 4, 400)
    coherency = (1 - contention) / peak**2
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def smt_steps(n: Floats, rng: Generator) -> Floats:
    """Return a curve nearly linear up to the cores, slower up to the hardware threads, then flat or falling."""
    cores = rng.integers(4, 65)
    threads = 2 * cores
    second = rng.uniform(0.1, 0.45)
    fall = rng.uniform(0, 0.004) * rng.integers(0, 2)
    gained = np.minimum(n, cores) + second * np.clip(n - cores, 0, threads - cores)
    return gained ** rng.uniform(0.9, 1) / (1 + fall * np.clip(n - threads, 0, None))


def plateau(n: Floats, rng: Generator) -> Floats:
    """Return a rise to a bottleneck, more or less sharp, then level or sagging a little."""
    at, sharpness = ratio(rng, 6, 150), ratio(rng, 2, 12)
    sag = rng.uniform(0, 0.1) * rng.integers(0, 2)
    return n / (1 + (n / at) ** sharpness) ** (1 / sharpness) * (n / at).clip(min=1) ** -sag


def two_humps(n: Floats, rng: Generator) -> Floats:
    """Return two peaks, the second 0.8 to 1.2 times as high as the first."""
    first = ratio(rng, 6, 40)
    second = first * rng.uniform(2.5, 6)
    width = rng.uniform(0.25, 0.6, 2)
    height = rng.uniform(0.8, 1.2)
    each = zip((first, second), width, (1, height), strict=True)
    humps = [high * np.exp(-0.5 * (np.log(n / at) / wide) ** 2) for at, wide, high in each]
    return np.maximum(*humps) + 0.3 * np.minimum(n / first, 1)


def queueing_network(n: Floats, rng: Generator) -> Floats:
    """Return a closed network by mean value analysis: processors, a disk, a lock that slows under contention."""
    cpus, demand, disk = rng.integers(4, 65), 1.0, ratio(rng, 0.002, 0.1)
    lock, slowing = ratio(rng, 0.001, 0.03), ratio(rng, 1e-5, 2e-3)
    queues, throughputs = np.zeros(3), np.zeros(int(n.max()) + 1)
    for clients in range(1, throughputs.size):
        service = np.array([demand / min(cpus, clients), disk, lock * (1 + slowing * clients**1.5)])
        times = service * (1 + queues)
        times[0] = max(demand, times[0])
        throughputs[clients] = clients / times.sum()
        queues = throughputs[clients] * times
    return throughputs[n.astype(int)]


def cliff(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with a sudden loss beyond some number of clients."""
    at, loss, half = ratio(rng, 10, 150), rng.uniform(0.05, 0.5), ratio(rng, 5, 80)
    return n / (n + half) * (1 - loss * (n > at))


def gamma_like(n: Floats, rng: Generator) -> Floats:
    """Return N^a exp(-N / b): one round peak, at a x b clients."""
    power = rng.uniform(0.3, 1)
    return n**power * np.exp(-power * n / ratio(rng, 6, 400))


def ripples(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with waves of up to 4% over clients: threads that share out unevenly."""
    base = 1 - np.exp(-n / ratio(rng, 8, 60))
    waves = rng.uniform(0.005, 0.04) * np.sin(2 * np.pi * n / rng.uniform(16, 64) + rng.uniform(0, 6.3))
    return base * (1 + waves) * np.exp(-n * rng.uniform(0, 0.003))


def wandering(n: Floats, rng: Generator) -> Floats:
    """Return a smoothed random walk over the logarithm of clients upon a saturating rise."""
    grid = np.linspace(np.log(n[0]), np.log(n[-1]), 200)
    walk = np.cumsum(np.convolve(rng.standard_normal(220), np.ones(21) / 21, "valid")) * rng.uniform(0.005, 0.02)
    return n / (n + ratio(rng, 4, 40)) * np.exp(np.interp(np.log(n), grid, walk))


def shelves(n: Floats, rng: Generator) -> Floats:
    """Return two to four shelves, each reached by a rise, the last ones possibly lower."""
    starts = np.sort(np.exp(rng.uniform(np.log(4), np.log(140), rng.integers(2, 5))))
    steps = rng.uniform(-0.2, 0.4, starts.size)
    rise = np.minimum(n / starts[0], 1) ** 0.9
    shelf = [step / (1 + (at / n) ** 8) for step, at in zip(steps[1:], starts[1:], strict=True)]
    return rise * (1 + sum(shelf))


def collapse(n: Floats, rng: Generator) -> Floats:
    """Return a logistic rise over the logarithm of clients, and a logistic collapse to a floor."""
    up, down = ratio(rng, 4, 40), ratio(rng, 30, 300)
    steep, floor = rng.uniform(1, 3), rng.uniform(0.2, 0.8)
    rise = 1 / (1 + (n / up) ** -rng.uniform(1, 1.6))
    return rise * (floor + (1 - floor) / (1 + (n / down) ** (2 * steep)))


def hybrid(n: Floats, rng: Generator) -> Floats:
    """Return the speed of fast cores, then slow ones, then hardware threads, and a slow decline."""
    fast = rng.integers(4, 33)
    cores = fast + rng.integers(4, 33)
    slow, thread = rng.uniform(0.3, 0.8), rng.uniform(0, 0.3)
    gained = np.minimum(n, fast) + slow * np.clip(n - fast, 0, cores - fast) + thread * np.clip(n - cores, 0, cores)
    return gained * (n / (2 * cores)).clip(min=1) ** -rng.uniform(0, 0.5)


def sockets(n: Floats, rng: Generator) -> Floats:
    """Return a curve rising within each socket, with a loss of 2 to 20% for each further one."""
    size, loss = rng.integers(8, 41), rng.uniform(0.02, 0.2)
    return n * (1 - loss) ** (np.ceil(n / size) - 1) / (1 + ratio(rng, 0.001, 0.05) * (n - 1))


def thrashing(n: Floats, rng: Generator) -> Floats:
    """Return a knee, a plateau, and an exponential decay from where memory is full."""
    knee, full = ratio(rng, 6, 60), ratio(rng, 20, 200)
    return np.minimum(n, knee) ** rng.uniform(0.85, 1) * np.exp(-rng.uniform(0.002, 0.02) * np.clip(n - full, 0, None))


def convoy(n: Floats, rng: Generator) -> Floats:
    """Return Amdahl's law with a loss that sets in over a few clients, as where waiters pile up on a lock."""
    contention, at, loss = ratio(rng, 0.005, 0.1), ratio(rng, 15, 150), rng.uniform(0.05, 0.6)
    return n / (1 + contention * (n - 1)) * (1 - loss / (1 + np.exp((at - n) / ratio(rng, 1, 12))))


def tent(n: Floats, rng: Generator) -> Floats:
    """Return two powers of the clients that meet in a corner."""
    at, rise, fall = ratio(rng, 6, 150), rng.uniform(0.3, 1), rng.uniform(0.02, 0.8)
    return np.where(n < at, (n / at) ** rise, (n / at) ** -fall)


def swapping(n: Floats, rng: Generator) -> Floats:
    """Return Amdahl's law, less a share that grows with each client."""
    return n / (1 + ratio(rng, 0.003, 0.2) * (n - 1)) * (1 - ratio(rng, 0.0002, 0.005) * n)


def bump(n: Floats, rng: Generator) -> Floats:
    """Return a broad rise and fall with one bump of up to 25% upon it."""
    base = n / (n + ratio(rng, 4, 60)) * np.exp(-n * rng.uniform(0, 0.004))
    at, wide = ratio(rng, 6, 140), rng.uniform(0.1, 0.5)
    return base * (1 + rng.uniform(0.02, 0.25) * np.exp(-0.5 * (np.log(n / at) / wide) ** 2))


def threads_with_crosstalk(n: Floats, rng: Generator) -> Floats:
    """Return the Universal Scalability Law over cores and hardware threads in place of clients."""
    contention, peak, cores = ratio(rng, 0.001, 0.1), ratio(rng, 40, 600), rng.integers(4, 65)
    gained = np.minimum(n, cores) + rng.uniform(0.1, 0.5) * np.clip(n - cores, 0, cores)
    return gained / (1 + contention * (gained - 1) + (1 - contention) / peak**2 * n * (n - 1))


def usl_of_many_shapes(n: Floats, rng: Generator) -> Floats:
    """Return the Universal Scalability Law, both parameters drawn over many orders of magnitude."""
    contention, coherency = ratio(rng, 1e-4, 0.5), ratio(rng, 1e-7, 1e-2)
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def usl_drawn_evenly(n: Floats, rng: Generator) -> Floats:
    """Return the Universal Scalability Law, both parameters drawn evenly, half of the curves with little coherency."""
    contention, coherency = rng.uniform(0, 0.2), rng.uniform(0, 0.001) * rng.integers(0, 2) + rng.uniform(0, 0.0001)
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def smt_corners(n: Floats, rng: Generator) -> Floats:
    """Return straight lines: up to the cores, up to twice as many, then level or falling."""
    cores = rng.choice([4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64])
    second, fall = rng.uniform(0.1, 0.6), rng.uniform(0, 0.15) * rng.integers(0, 2)
    top = cores * (1 + second)
    beyond = (top * (1 - fall * (n - 2 * cores) / cores)).clip(min=0.3 * top)
    return np.where(n <= cores, n, np.where(n <= 2 * cores, cores + second * (n - cores), beyond))


def smt_rounded(n: Floats, rng: Generator) -> Floats:
    """Return rounded corners at the cores and at twice as many, and a decline by the logarithm of clients."""
    cores, sharpness, second = ratio(rng, 4, 64), rng.uniform(4, 20), rng.uniform(0.15, 0.5)
    over = np.maximum(n - cores, 1e-9)
    on_cores, beyond_cores = (x / (1 + (x / cores) ** sharpness) ** (1 / sharpness) for x in (n, over))
    gained = on_cores + second * np.where(n > cores, beyond_cores, 0)
    return gained * (1 - rng.uniform(0, 0.08) * np.log2((n / (2 * cores)).clip(min=1)))


def smt_of_four(n: Floats, rng: Generator) -> Floats:
    """Return four hardware threads a core, each giving less than the last, under Amdahl's law, then a decline."""
    cores = rng.integers(4, 40)
    gains = np.sort(rng.uniform(0.03, 0.6, 3))[::-1]
    gained = np.minimum(n, cores) + sum(gain * np.clip(n - k * cores, 0, cores) for k, gain in enumerate(gains, 1))
    speed = gained / (1 + ratio(rng, 1e-4, 0.01) * (gained - 1))
    return speed * (1 - rng.uniform(0, 0.002) * np.clip(n - 2 * cores, 0, None)).clip(min=0.2)


def trapezoid(n: Floats, rng: Generator) -> Floats:
    """Return three straight lines: up, level, down."""
    first = ratio(rng, 6, 100)
    second = first * ratio(rng, 1.2, 6)
    return np.minimum(n / first, 1) * (1 - rng.uniform(0, 0.8) * np.clip(n - second, 0, None) / 160).clip(min=0.2)


def soft_knee(n: Floats, rng: Generator) -> Floats:
    """Return a plateau behind a soft knee, sagging by the logarithm of clients."""
    at, sharpness = ratio(rng, 5, 80), rng.uniform(1.5, 8)
    return n / (n**sharpness + at**sharpness) ** (1 / sharpness) * (1 - rng.uniform(0, 0.04) * np.log(n / at).clip(0))


def drawn_to_a_plateau(n: Floats, rng: Generator) -> Floats:
    """Return an exponential approach to a plateau that falls in a straight line from somewhere on."""
    rise = 1 - np.exp(-((n / ratio(rng, 4, 60)) ** rng.uniform(0.8, 1.3)))
    return rise * (1 - rng.uniform(0, 0.003) * np.clip(n - ratio(rng, 30, 160), 0, None))


def humps_over_clients(n: Floats, rng: Generator) -> Floats:
    """Return two humps that are round over clients, not over their logarithm, upon a rise."""
    first = rng.uniform(10, 60)
    second, widths, height = rng.uniform(first + 40, 155), rng.uniform(8, 30, 2), rng.uniform(0.8, 1.2)
    first_hump, second_hump = (
        np.exp(-0.5 * ((n - at) / wide) ** 2) for at, wide in zip((first, second), widths, strict=True)
    )
    return 0.5 * n / (n + 10) + first_hump + height * second_hump


def usl_with_a_dip(n: Floats, rng: Generator) -> Floats:
    """Return the Universal Scalability Law with a dip of 5 to 40% in it."""
    contention, coherency = ratio(rng, 0.002, 0.1), ratio(rng, 1e-6, 1e-3)
    at, wide = ratio(rng, 12, 100), rng.uniform(0.1, 0.5)
    dip = 1 - rng.uniform(0.05, 0.4) * np.exp(-0.5 * (np.log(n / at) / wide) ** 2)
    return n / (1 + contention * (n - 1) + coherency * n * (n - 1)) * dip


def sum_of_humps(n: Floats, rng: Generator) -> Floats:
    """Return two humps over the logarithm of clients upon a level base, the second 0.75 to 1.3 times as high."""
    first = ratio(rng, 5, 30)
    second, widths, height = first * ratio(rng, 3, 8), rng.uniform(0.2, 0.7, 2), rng.uniform(0.75, 1.3)
    first_hump, second_hump = (
        np.exp(-0.5 * (np.log(n / at) / w) ** 2) for at, w in zip((first, second), widths, strict=True)
    )
    return 0.2 + first_hump + height * second_hump


def two_regimes(n: Floats, rng: Generator) -> Floats:
    """Return a Universal Scalability Law that gives way to one with a later peak, 0.8 to 1.2 times as high."""
    first = ratio(rng, 6, 40)
    change = first * ratio(rng, 1.5, 3)
    peaks = (first, change * ratio(rng, 1.3, 3))
    early, late = (_peaked(n, peak, ratio(rng, 0.005, 0.1)) for peak in peaks)
    share = 1 / (1 + (n / change) ** (-1 / rng.uniform(0.05, 0.3)))
    return early * (1 - share) + rng.uniform(0.8, 1.2) * late * share


def _peaked(n: Floats, peak: float, contention: float) -> Floats:
    curve = n / (1 + contention * (n - 1) + (1 - contention) / peak**2 * n * (n - 1))
    return np.asarray(curve / curve.max())


FAMILIES: dict[str, Curve] = {
    "USL": usl,
    "SMT steps": smt_steps,
    "plateau": plateau,
    "two humps": two_humps,
    "cliff": cliff,
}
OF_THE_KINDS: dict[str, Curve] = {
    "USL, any": usl_of_many_shapes,
    "SMT corners": smt_corners,
    "SMT rounded": smt_rounded,
    "trapezoid": trapezoid,
    "soft knee": soft_knee,
    "humps over clients": humps_over_clients,
    "USL with a dip": usl_with_a_dip,
    "USL, evenly": usl_drawn_evenly,
    "SMT of four": smt_of_four,
    "drawn to a plateau": drawn_to_a_plateau,
    "sum of humps": sum_of_humps,
    "two regimes": two_regimes,
}
HELD_OUT: dict[str, Curve] = {
    "queueing network": queueing_network,
    "gamma": gamma_like,
    "ripples": ripples,
    "wandering": wandering,
    "shelves": shelves,
    "collapse": collapse,
    "hybrid cores": hybrid,
    "sockets": sockets,
    "thrashing": thrashing,
    "convoy": convoy,
    "tent": tent,
    "swapping": swapping,
    "bump": bump,
    "threads, crosstalk": threads_with_crosstalk,
}


def ratio(rng: Generator, low: float, high: float) -> float:
    """Return a number between `low` and `high` that is drawn uniformly in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
