"""Curves, and ways to disturb a measurement, that no part of the search was made for: to see what 'known' is worth.

`SMOOTH` are even over clients and have one peak. `ROUGH` change from level to level: steps of sockets, curves periodic
in clients, cliffs, spikes. No function is used by benchhub/analysis/search or was looked at when its shapes were made.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from .search_curves import Curve, Floats, ratio


def hill(n: Floats, rng: Generator) -> Floats:
    """Return Hill's equation, and a decay by the square of the clients."""
    half, power = ratio(rng, 4, 60), rng.uniform(0.9, 2)
    return n**power / (n**power + half**power) * np.exp(-((n / ratio(rng, 60, 600)) ** 2))


def rising_spline(n: Floats, rng: Generator) -> Floats:
    """Return a curve that only rises, its slope by ratio a smooth random walk from 1 towards 0."""
    places = np.log(n)
    knots = np.linspace(places[0], places[-1], 6)
    slopes = np.interp(places, knots, np.cumprod(np.concatenate([[1], rng.uniform(0.2, 1, 5)])))
    return np.exp(_sums(places, slopes))


def arching_spline(n: Floats, rng: Generator) -> Floats:
    """Return a curve that rises, then falls: its slope by ratio falls at random, smoothly, from 1 below 0."""
    places = np.log(n)
    falls = rng.uniform(0.1, 1, 5) ** 2
    slopes = 1 - rng.uniform(1.05, 2) * np.concatenate([[0], np.cumsum(falls) / falls.sum()])
    return np.exp(_sums(places, np.interp(places, np.linspace(places[0], places[-1], 6), slopes)))


def beta(n: Floats, rng: Generator) -> Floats:
    """Return n^a (m - n)^b: it reaches nothing at m clients, beyond the last level."""
    power, most = rng.uniform(0.3, 1), ratio(rng, 175, 600)
    return n**power * (most - n) ** rng.uniform(0.3, 2)


def log_normal(n: Floats, rng: Generator) -> Floats:
    """Return one hump over the logarithm of clients, wider to one side."""
    distance = np.log(n / ratio(rng, 8, 200))
    width = np.where(distance < 0, rng.uniform(0.8, 2), rng.uniform(0.8, 2))
    return np.exp(-0.5 * (distance / width) ** 2)


def saturating(n: Floats, rng: Generator) -> Floats:
    """Return a hyperbolic tangent with a straight loss."""
    return np.tanh(n / ratio(rng, 8, 120)) * (1 - rng.uniform(0, 0.004) * n)


def socket_steps(n: Floats, rng: Generator) -> Floats:
    """Return a rise within each socket, and a loss or gain of up to 25% with each further one."""
    size = int(rng.choice([8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64]))
    steps = rng.uniform(-0.25, 0.15, 20)
    efficiency = np.cumprod(1 + np.concatenate([[0], steps]))[((n - 1) // size).astype(int)]
    return n ** rng.uniform(0.1, 0.9) * efficiency


def sawtooth(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with teeth of 3 to 25%, 6 to 40 clients wide, steep on either side."""
    phase = (n + rng.uniform(0, 40)) % rng.uniform(6, 40)
    teeth = phase / phase.max()
    return _base(n, rng) * (1 - rng.uniform(0.03, 0.25) * (teeth if rng.random() < 0.5 else 1 - teeth))


def comb(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve that is 3 to 20% better at each multiple of 4 to 16 clients."""
    return _base(n, rng) * (1 + rng.uniform(0.03, 0.2) * (n % rng.choice([4, 6, 8, 10, 12, 16]) == 0))


def waves(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with waves of 2 to 15%, 6 to 30 clients long."""
    phase = 2 * np.pi * n / rng.uniform(6, 30) + rng.uniform(0, 6.3)
    return _base(n, rng) * (1 + rng.uniform(0.02, 0.15) * np.sin(phase))


def batches(n: Floats, rng: Generator) -> Floats:
    """Return work that is done in batches of k, of which the last is filled as far as there are clients."""
    size = rng.integers(6, 41)
    return _base(n, rng) * (n / (size * np.ceil(n / size))) ** rng.uniform(0.1, 1)


def shelf_behind_a_cliff(n: Floats, rng: Generator) -> Floats:
    """Return a plateau, a cliff of 5 to 60%, and a recovery that may lead above the plateau."""
    at, loss = ratio(rng, 10, 140), rng.uniform(0.05, 0.6)
    recovery = rng.uniform(0, 1.3) * loss * np.clip((n - at) / (170 - at), 0, None)
    return np.tanh(n / (at / rng.uniform(1, 4))) * (1 - (n > at) * (loss - recovery))


def spikes(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with two spikes of 5 to 30%, some clients wide."""
    at, height, wide = rng.uniform(10, 155, (2, 1)), rng.uniform(0.05, 0.3, (2, 1)), rng.uniform(2, 8, (2, 1))
    return _base(n, rng) * (1 + (height * np.exp(-0.5 * ((n - at) / wide) ** 2)).sum(axis=0))


def ragged(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve of which each level lies 2 to 15% off, for no reason."""
    return _base(n, rng) * np.exp(rng.uniform(0.02, 0.15) * rng.standard_normal(n.size))


def broken(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with three to six jumps of about 8%."""
    places = np.sort(rng.uniform(4, 158, rng.integers(3, 7)))
    jumps = 0.08 * rng.standard_normal(places.size)
    return _base(n, rng) * np.exp((jumps * (n[:, None] > places)).sum(axis=1))


def _base(n: Floats, rng: Generator) -> Floats:
    return n / (n + ratio(rng, 4, 60)) * np.exp(-n * rng.uniform(0, 0.006))


def _sums(places: Floats, slopes: Floats) -> Floats:
    """Return the sums of the trapezoids below the slopes."""
    return np.concatenate([[0], np.cumsum((slopes[1:] + slopes[:-1]) / 2 * np.diff(places))])


SMOOTH: dict[str, Curve] = {
    "Hill": hill,
    "rising spline": rising_spline,
    "arching spline": arching_spline,
    "beta": beta,
    "log-normal": log_normal,
    "saturating": saturating,
}
ROUGH: dict[str, Curve] = {
    "socket steps": socket_steps,
    "sawtooth": sawtooth,
    "comb": comb,
    "waves": waves,
    "batches": batches,
    "shelf behind a cliff": shelf_behind_a_cliff,
    "spikes": spikes,
    "ragged": ragged,
    "broken": broken,
}


# --- what disturbs a measurement: factors of 60 runs in the order of time ----------------------------------------


def calm(_rng: Generator) -> Floats:
    return np.ones(60)


def drift(rng: Generator) -> Floats:
    """Return a host that becomes slower or faster by 5 to 30%: little by little over 24 runs, or at once."""
    change, time = rng.choice([-1, 1]) * rng.uniform(0.05, 0.3), np.arange(60)
    gradual = np.clip(time / 24, 0, 1)
    return 1 + change * (gradual if rng.random() < 0.5 else (time >= rng.integers(3, 12)))


def stalls(rng: Generator) -> Floats:
    """Return 3 to 10% of runs at 10 to 80% of their throughput."""
    return np.where(rng.random(60) < rng.uniform(0.03, 0.1), rng.uniform(0.1, 0.8, 60), 1)
