"""Curves that only judge: written when the search was finished, and first run for the figures in docs/measured.

Nobody may look at them to change the search; who does writes others. `SMOOTH` change slowly with clients. `ROUGH`
change from level to level throughout, so that a dozen runs can show it. `ISOLATED` do so at a few levels alone: where
no run meets one of these, the results are those of a smooth curve, and nothing can tell.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from .search_curves import Curve, Floats, ratio


def haldane(n: Floats, rng: Generator) -> Floats:
    """Return Haldane's inhibition: n / (k + n + n^2 / i), highest at the root of k x i."""
    return n / (ratio(rng, 3, 80) + n + n**2 / ratio(rng, 30, 3000))


def gompertz(n: Floats, rng: Generator) -> Floats:
    """Return Gompertz's growth with an exponential loss."""
    return np.exp(-rng.uniform(1, 5) * np.exp(-n / ratio(rng, 4, 50))) * np.exp(-n / ratio(rng, 80, 5000))


def weibull(n: Floats, rng: Generator) -> Floats:
    """Return Weibull's distribution, and a gentle power of the clients that takes it down."""
    rise = 1 - np.exp(-((n / ratio(rng, 6, 100)) ** rng.uniform(0.8, 1.6)))
    return rise * (1 + n / ratio(rng, 20, 200)) ** -rng.uniform(0, 0.5)


def retries(n: Floats, rng: Generator) -> Floats:
    """Return the softer of two bounds, latency and capacity, less transactions that are tried again."""
    power = rng.uniform(1.5, 5)
    bound = (n**-power + ratio(rng, 8, 120) ** -power) ** (-1 / power)
    return bound / (1 + ratio(rng, 0.01, 0.6) * (n / 160) ** rng.uniform(1, 2.5))


def parabola(n: Floats, rng: Generator) -> Floats:
    """Return a parabola over clients, highest at 20 to 150."""
    return 1 - rng.uniform(0.2, 0.9) * ((n - rng.uniform(20, 150)) / 160) ** 2


def second_wind(n: Floats, rng: Generator) -> Floats:
    """Return two logistic rises over the logarithm of clients, and a loss by each client."""
    first = ratio(rng, 4, 20)
    second = first * ratio(rng, 3, 8)
    rises = 1 / (1 + (first / n) ** 1.5) + rng.uniform(0.1, 0.6) / (1 + (second / n) ** rng.uniform(2, 5))
    return rises * np.exp(-n * rng.uniform(0, 0.004))


def broad_dip(n: Floats, rng: Generator) -> Floats:
    """Return a saturating curve with a broad dip of up to a fifth."""
    dip = np.exp(-0.5 * (np.log(n / ratio(rng, 8, 120)) / rng.uniform(0.4, 0.9)) ** 2)
    return n / (n + ratio(rng, 4, 40)) * (1 - rng.uniform(0.03, 0.2) * dip)


def cubic(n: Floats, rng: Generator) -> Floats:
    """Return a polynomial of the third degree in the logarithm of clients, for the logarithm of throughput."""
    place = np.log(n / n[0]) / np.log(n[-1] / n[0])
    return np.exp(rng.uniform(1, 3) * place + rng.uniform(-3, 0) * place**2 + rng.uniform(-1, 1) * place**3)


def two_states(n: Floats, rng: Generator) -> Floats:
    """Return a curve whose levels are in one of two states, 5 to 20% apart, for 2 to 8 levels at a time."""
    states = np.concatenate([np.full(rng.integers(2, 9), state % 2) for state in range(n.size)])[: n.size]
    return _base(n, rng) * (1 - rng.uniform(0.05, 0.2) * states)


def odd_and_even(n: Floats, rng: Generator) -> Floats:
    """Return a curve of which every other level is 3 to 15% slower."""
    return _base(n, rng) * (1 - rng.uniform(0.03, 0.15) * (np.arange(n.size) % 2))


def granules(n: Floats, rng: Generator) -> Floats:
    """Return steps: capacity comes in units of 6 to 30 clients, and each client costs."""
    size = rng.integers(6, 31)
    return _base(np.floor(n / size) * size + 1, rng) * (1 - rng.uniform(0.002, 0.01) * (n % size))


def many_cliffs(n: Floats, rng: Generator) -> Floats:
    """Return a curve with four to eight losses or gains of 5 to 20%, anywhere."""
    count = rng.integers(4, 9)
    steps = rng.uniform(0.05, 0.2, count) * rng.choice([-1, 1], count)
    return _base(n, rng) * np.exp((steps * (n[:, None] > rng.uniform(4, 158, count))).sum(axis=1))


def resonances(n: Floats, rng: Generator) -> Floats:
    """Return a curve with dips of 5 to 30% wherever clients come near a multiple of 10 to 24."""
    size = rng.integers(10, 25)
    distance = np.abs((n + size / 2) % size - size / 2)
    return _base(n, rng) * (1 - rng.uniform(0.05, 0.3) * np.exp(-0.5 * (distance / 2) ** 2))


def needles(n: Floats, rng: Generator) -> Floats:
    """Return a curve of which one to three levels alone are 4 to 20% faster."""
    gains = np.zeros(n.size)
    gains[rng.choice(n.size, rng.integers(1, 4), replace=False)] = rng.uniform(0.04, 0.2)
    return _base(n, rng) * (1 + gains)


def _base(n: Floats, rng: Generator) -> Floats:
    return (1 - np.exp(-n / ratio(rng, 6, 60))) * (1 - rng.uniform(0, 0.003) * n)


SMOOTH: dict[str, Curve] = {
    "Haldane": haldane,
    "Gompertz": gompertz,
    "Weibull": weibull,
    "retries": retries,
    "parabola": parabola,
    "second wind": second_wind,
    "broad dip": broad_dip,
    "cubic": cubic,
}
ROUGH: dict[str, Curve] = {
    "two states": two_states,
    "odd and even": odd_and_even,
    "granules": granules,
    "many cliffs": many_cliffs,
    "resonances": resonances,
}
ISOLATED: dict[str, Curve] = {"needles": needles}
