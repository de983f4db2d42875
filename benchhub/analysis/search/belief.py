"""Draw the throughput curves that are believed after some runs: many possible ones, each as likely as the next.

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

from .hypotheses import DIFFERENCES, IS_ROUGH, NOISES, Choice, Flags, Hypotheses
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
    """`curves` (draws x levels) of the logarithm of throughput, as of the last run; `noises` (draws), relative standard
    deviations. `is_rough` are draws whose levels say little of each other, `is_drift` those on which the host became
    slower or faster; `stalls` (trials) the belief that a run lies apart from all others.
    """

    curves: Floats
    noises: Floats
    is_rough: Flags
    is_drift: Flags
    stalls: Floats


class Prior(NamedTuple):
    """The belief before any run, on K levels: shapes, and for each kind of difference its covariance and draws."""

    shapes: Floats  # shapes x K
    log_shares: Floats  # shapes
    covariances: Floats  # kinds x K x K
    differences: Floats  # kinds x draws x K
    errors: Floats  # draws x MOST_TRIALS, standard normal
    dice: Floats  # draws x 2: standard normal, and uniform from 0 to 1
    order: Floats  # draws, a permutation


@lru_cache(maxsize=8)
def prior(levels: tuple[int, ...]) -> Prior:
    """Return the prior of these levels. It is cached, as every step of a search asks for the same."""
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
    places_by_axis = {"ratios": np.log(levels), "clients": levels / levels[-1]}
    distances = {axis: np.abs(np.subtract.outer(places, places)) for axis, places in places_by_axis.items()}
    kinds = [kind.size**2 * CORRELATIONS[kind.form](distances[kind.axis] / kind.length) for kind in DIFFERENCES]
    return np.array(kinds) + HEIGHT_SD**2


def _bent(distance: Floats) -> Floats:
    """Correlate by Matern 3/2: smooth, with bends."""
    scaled = np.sqrt(3) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _round(distance: Floats) -> Floats:
    """Correlate by a squared exponential: round humps."""
    return np.asarray(np.exp(-0.5 * distance**2))


def _rough(distance: Floats) -> Floats:
    """Correlate by an exponential: a random walk that is drawn back."""
    return np.asarray(np.exp(-distance))


def _ragged(distance: Floats) -> Floats:
    """Correlate nothing: no level says anything of another."""
    return np.asarray((distance == 0).astype(float))


CORRELATIONS = {"bent": _bent, "round": _round, "rough": _rough, "ragged": _ragged}
# Above this belief a run is taken for one that stalled, and is left out: only one at a time is weighed.
STALLED = 0.5


def believe(levels: Sequence[int], trials: Sequence[Trial]) -> Belief:
    """Draw curves from the belief after at least one trial, each at one of the levels; trials are in their order."""
    is_counted = np.ones(len(trials), bool)
    stalls = np.zeros(len(trials))
    while True:
        belief = _believe(levels, [trial for trial, counts in zip(trials, is_counted, strict=True) if counts])
        stalls[is_counted] = belief.stalls
        worst = int(np.argmax(np.where(is_counted, stalls, 0)))
        if stalls[worst] <= STALLED or is_counted.sum() <= 0.75 * len(trials):
            return belief._replace(stalls=stalls)
        is_counted[worst] = False


def _believe(levels: Sequence[int], trials: Sequence[Trial]) -> Belief:
    prior_belief = prior(tuple(levels))
    places = np.array([levels.index(trial.clients) for trial in trials])
    log_throughputs = np.log([trial.throughput for trial in trials])
    height = log_throughputs.mean()
    shapes = prior_belief.shapes - prior_belief.shapes[:, places].mean(axis=1, keepdims=True)
    hypotheses = Hypotheses(
        prior_belief.covariances,
        prior_belief.log_shares,
        places,
        (log_throughputs - height) - shapes[:, places],
        np.log(levels),
    )
    choice = hypotheses.choose(prior_belief.order, prior_belief.dice)
    curves = _moved_draws(prior_belief, hypotheses, choice, shapes, log_throughputs - height) + height
    stalls = (choice.shifts[choice.is_stall] != 0).sum(axis=0) / DRAWS
    return Belief(curves, NOISES[choice.noise], IS_ROUGH[choice.kind], choice.is_drift, stalls)


def _moved_draws(
    prior_belief: Prior, hypotheses: Hypotheses, choice: Choice, shapes: Floats, log_throughputs: Floats
) -> Floats:
    """Move draws of the prior so that each goes through the trials, but for its noise (Matheron's rule)."""
    curves = shapes[choice.shape] + choice.extras + prior_belief.differences[choice.kind, np.arange(DRAWS)]
    gaps = (
        log_throughputs
        - curves[:, hypotheses.places]
        - choice.shifts
        - NOISES[choice.noise, None] * prior_belief.errors[:, : hypotheses.places.size]
    )
    for kind in range(len(DIFFERENCES)):
        is_kind = choice.kind == kind
        curves[is_kind] += (
            hypotheses.solve(kind, choice.noise[is_kind], gaps[is_kind])
            @ prior_belief.covariances[kind, hypotheses.places]
        )
    return np.asarray(curves)
