"""Compute Student's t and Fisher's F, for degrees of freedom that need not be whole: Welch's seldom are.

Both follow from the regularised incomplete beta function (NIST Digital Library of Mathematical Functions, 8.17).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

CONFIDENCE = 0.95
_SMALLEST = 1e-300
_MOST_TERMS = 400


@lru_cache(maxsize=4096)
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Return the t that a Student variable stays within, on both sides, with this confidence.

    Newton's steps begin at the normal quantile, which lies below, and P is concave there: they only climb.
    """
    if degrees < 1 or not 0 < confidence < 1:
        raise ValueError("A t quantile needs at least one degree of freedom and a confidence between 0 and 1.")
    t = NormalDist().inv_cdf((1 + confidence) / 2)
    for _ in range(_MOST_TERMS):
        step = (confidence - t_within(t, degrees)) / (2 * _t_density(t, degrees))
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t


def t_within(t: float, degrees: float) -> float:
    """Return P(-t < T < t)."""
    return 1 - t_outside(t, degrees)


def t_outside(t: float, degrees: float) -> float:
    """Return P(|T| > |t|): the p-value of a two-sided test."""
    return regularised_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def f_above(f: float, numerator_degrees: float, denominator_degrees: float) -> float:
    """Return P(F > f)."""
    if f <= 0:
        return 1.0
    share = denominator_degrees / (denominator_degrees + numerator_degrees * f)
    return regularised_beta(denominator_degrees / 2, numerator_degrees / 2, share)


def regularised_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), by its continued fraction on the side where that converges quickly."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _by_fraction(b, a, 1 - x)
    return _by_fraction(a, b, x)


def _by_fraction(a: float, b: float, x: float) -> float:
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Return 1 / (1 + d1 / (1 + d2 / (1 + ...))) of 8.17.22, evaluated from the front by Lentz's method."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


def _t_density(t: float, degrees: float) -> float:
    logarithm = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)
    return math.exp(logarithm - (degrees + 1) / 2 * math.log1p(t * t / degrees))
