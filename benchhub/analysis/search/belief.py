"""What is believed of a throughput curve after some runs: many possible curves, each as likely as the next.

Bayes' rule over a library of shapes, each with a difference of unknown kind and size (a Gaussian process over the
logarithm of the clients, or over the clients), possibly one jump or kink, an unknown height, and noise of unknown size
that is proportional to throughput. All is integrated over, nothing is fitted. Logarithms are natural. The same runs
give the same curves: seeds are fixed. Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
ch. 2, 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .hypotheses import DIFFERENCES, NOISES, Chosen, Hypotheses
from .shapes import Floats, library

SEED = 20_260_102
DRAWS = 1024
MOST_TRIALS = 400
# The height is unknown: so wide that it does not matter where it is centred.
HEIGHT_SD = 2.0


class Trial(NamedTuple):
    """One run that gave a result: clients, and throughput in any unit."""

    clients: int
    throughput: float


class Belief(NamedTuple):
    """`curves` (draws x levels) of the logarithm of throughput; `noises` (draws), relative standard deviations."""

    curves: Floats
    noises: Floats


class Prior(NamedTuple):
    """Before any run, on K levels: shapes, and for each kind of difference its covariance and draws of it."""

    shapes: Floats  # shapes x K
    log_shares: Floats  # shapes
    covariances: Floats  # kinds x K x K
    differences: Floats  # kinds x draws x K
    errors: Floats  # draws x MOST_TRIALS, standard normal
    dice: Floats  # draws x 2: standard normal, and uniform from 0 to 1
    order: Floats  # draws, a permutation


@lru_cache(maxsize=8)
def prior(levels: tuple[int, ...]) -> Prior:
    """Kept, as every step of a search asks for the same."""
    shapes = library(np.array(levels, float))
    covariances = _covariances(np.array(levels, float))
    rng = np.random.default_rng(SEED)
    factors = np.linalg.cholesky(covariances + 1e-8 * np.eye(len(levels)))
    return Prior(
        shapes.curves,
        shapes.log_shares,
        covariances,
        differences=rng.standard_normal((DRAWS, len(levels))) @ np.swapaxes(factors, 1, 2),
        errors=rng.standard_normal((DRAWS, MOST_TRIALS)),
        dice=np.column_stack([rng.standard_normal(DRAWS), rng.random(DRAWS)]),
        order=rng.permutation((np.arange(DRAWS) + 0.5) / DRAWS),
    )


def _covariances(levels: Floats) -> Floats:
    places = {"ratios": np.log(levels), "clients": levels / levels[-1]}
    distances = {over: np.abs(np.subtract.outer(at, at)) for over, at in places.items()}
    kinds = [kind.size**2 * CORRELATIONS[kind.form](distances[kind.over] / kind.length) for kind in DIFFERENCES]
    return np.array(kinds) + HEIGHT_SD**2


def _bent(distance: Floats) -> Floats:
    """Matern 3/2: smooth, with bends."""
    scaled = np.sqrt(3) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _round(distance: Floats) -> Floats:
    """Squared exponential: round humps."""
    return np.asarray(np.exp(-0.5 * distance**2))


def _rough(distance: Floats) -> Floats:
    """Exponential: a random walk that is drawn back."""
    return np.asarray(np.exp(-distance))


CORRELATIONS = {"bent": _bent, "round": _round, "rough": _rough}


def believe(levels: Sequence[int], trials: Sequence[Trial]) -> Belief:
    """Draws from what is believed after at least one trial, each at one of the levels."""
    before = prior(tuple(levels))
    at = np.array([levels.index(trial.clients) for trial in trials])
    log_throughputs = np.log([trial.throughput for trial in trials])
    height = log_throughputs.mean()
    shapes = before.shapes - before.shapes[:, at].mean(axis=1, keepdims=True)
    among = Hypotheses(
        before.covariances, before.log_shares, at, (log_throughputs - height) - shapes[:, at], np.log(levels)
    )
    hypotheses = among.choose(before.order, before.dice)
    return Belief(
        _drawn(before, among, hypotheses, shapes, log_throughputs - height) + height, NOISES[hypotheses.noise]
    )


def _drawn(before: Prior, among: Hypotheses, hypotheses: Chosen, shapes: Floats, log_throughputs: Floats) -> Floats:
    """Draws made beforehand, each moved so that it goes through what was seen, but for its noise (Matheron's rule)."""
    curves = shapes[hypotheses.shape] + hypotheses.extras + before.differences[hypotheses.kind, np.arange(DRAWS)]
    gaps = log_throughputs - curves[:, among.at] - NOISES[hypotheses.noise, None] * before.errors[:, : among.at.size]
    for kind in range(len(DIFFERENCES)):
        own = hypotheses.kind == kind
        curves[own] += among.solve(kind, hypotheses.noise[own], gaps[own]) @ before.covariances[kind, among.at]
    return np.asarray(curves)
