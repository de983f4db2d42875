"""Weigh how well each kind of difference, noise, shape and extra explains a few trials: Bayes' rule in closed form."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .shapes import Floats

Places = NDArray[np.intp]
Flags = NDArray[np.bool_]
# As precise as weights have to be, and twice as quick.
Singles = NDArray[np.float32]


class Difference(NamedTuple):
    """A way for a curve to differ from its shape: its correlation, its size (standard deviation of the logarithm), its
    length (in the logarithm of clients, or as a share of the most clients), and the belief in it beforehand,
    relative to the others.
    """

    form: Literal["bent", "round", "rough", "ragged"]
    size: float
    length: float
    share: float
    axis: Literal["ratios", "clients"] = "ratios"


DIFFERENCES = (
    Difference("bent", 0.004, 0.5, 0.16),
    Difference("bent", 0.015, 0.3, 0.08),
    Difference("bent", 0.015, 1.0, 0.08),
    Difference("bent", 0.05, 0.3, 0.066),
    Difference("bent", 0.05, 1.0, 0.066),
    Difference("bent", 0.2, 0.6, 0.066),
    Difference("round", 0.3, 0.25, 0.066),
    Difference("round", 0.3, 0.45, 0.08),
    Difference("round", 0.3, 0.8, 0.047),
    Difference("rough", 0.03, 1.0, 0.061),
    Difference("rough", 0.12, 2.0, 0.047),
    # More belief in these takes noise of 15% for waves.
    Difference("round", 0.3, 0.08, 0.03, axis="clients"),
    Difference("round", 0.3, 0.14, 0.03, axis="clients"),
    Difference("round", 0.3, 0.25, 0.03, axis="clients"),
    # What no shape explains: levels that say nothing of each other, or little.
    Difference("rough", 0.12, 0.06, 0.019, axis="clients"),
    Difference("ragged", 0.02, 1.0, 0.019),
    Difference("ragged", 0.06, 1.0, 0.019),
    Difference("ragged", 0.2, 1.0, 0.019),
)
IS_ROUGH = np.array([kind.form == "ragged" or (kind.form, kind.axis) == ("rough", "clients") for kind in DIFFERENCES])
# Of one run, as a share of the throughput, and the belief in each beforehand: most hosts scatter by a few percent.
NOISES = np.array([0.003, 0.005, 0.008, 0.013, 0.02, 0.03, 0.045, 0.065, 0.1, 0.16, 0.25, 0.4, 0.6])
NOISE_SHARES = np.array([0.1] * 8 + [0.06, 0.05, 0.04, 0.03, 0.02])


class Extra(NamedTuple):
    """An addition to the shape of a curve, which has at most one: the belief in it, relative to plain curves and so
    much more often (`alone`) where there is no shape, the standard deviation of its size, and on which shapes it is
    tried (every n-th, to save time).
    """

    share: float
    alone: float
    size: float
    every: int


# A jump between two levels, as where something runs out: in the logarithm.
JUMP = Extra(share=0.12, alone=8, size=0.3, every=24)
# A kink at a level, as where cores or threads are used up: its change of slope, in log-log.
KINK = Extra(share=0.15, alone=40, size=0.8, every=120)
# A host that becomes slower or faster, little by little or at once: how much before the last run it was otherwise.
DRIFT = Extra(share=0.05, alone=1, size=0.15, every=48)
# A run that lies apart from all others, as where the host stalled: for each run.
STALL = Extra(share=0.02, alone=1, size=0.7, every=48)

# What is less likely than the likeliest by this, in the logarithm, is never drawn: it saves a fifth of a step's time.
NEGLIGIBLE = 25


# Noises whose best explanation without an extra is less likely than that by another noise by this are left out: an
# extra explains more, and so needs less noise.
HOPELESS = 14
THINNED = 24


class Choice(NamedTuple):
    """The kind of difference, noise and shape of each draw by their places; its jump or kink (draws x levels); by how
    much each trial lies off the curve for a drift or a stall (draws x trials), and which of both it is.
    """

    kind: Places
    noise: Places
    shape: Places
    extras: Floats
    shifts: Floats
    is_drift: Flags
    is_stall: Flags


class Extras(NamedTuple):
    """Hypotheses with one extra: kinds x noises x extras x some shapes, the logarithm of share times likelihood.

    `sizes` are the extras' sizes where that hypothesis is true, in units of their standard deviations: `doubts`
    (without shapes).
    """

    extra: Extra
    log_weights: Singles
    sizes: Singles
    doubts: Floats


class Hypotheses:
    """Every kind of difference x noise x shape: plain, with a jump in a gap between tried levels, with a kink, with a
    drift of the host, with a run that stalled.

    Turned into the axes of a kind's covariance (kinds x n x n) the trials' deviations are independent, whatever the
    noise; `precisions` are kinds x noises x n. `deviations` (shapes x n) are what the trials, in the order of time and
    at `places` among the levels, show beyond each shape.
    """

    def __init__(
        self, covariances: Floats, log_shares: Floats, places: Places, deviations: Floats, log_levels: Floats
    ) -> None:
        self.places, self.tried = places, np.unique(places)
        scales, self.axes = np.linalg.eigh(covariances[:, places[:, None], places])
        self.precisions = 1 / (scales.clip(min=0)[:, None, :] + NOISES[:, None] ** 2)
        turned = deviations.astype(np.float32) @ self.axes.astype(np.float32)
        thinned = self._plain(log_shares[::THINNED], turned[:, ::THINNED]).max(axis=(0, 2))
        self.precisions = self.precisions[:, : np.flatnonzero(thinned > thinned.max() - HOPELESS)[-1] + 1]
        self.plain = self._plain(log_shares, turned)
        self.steps = (log_levels > log_levels[:-1, None]).astype(float)
        self.hinges = (log_levels - log_levels[1:-1, None]).clip(min=0)
        widths = np.diff(self.tried) / max(1, log_levels.size - 1)
        evenly = np.full(len(self.hinges), 1 / max(1, len(self.hinges)))
        self.drifts, drift_shares = _drifts(places.size)
        self.groups = [
            self._extras(JUMP, self.steps[self.tried[:-1]][:, places], widths, turned),
            self._extras(KINK, self.hinges[:, places], evenly, turned),
            self._extras(DRIFT, self.drifts, drift_shares, turned),
            self._extras(STALL, np.eye(places.size), np.ones(places.size), turned),
        ]

    def _plain(self, log_shares: Floats, turned: Singles) -> Singles:
        """Return the logarithm of share times likelihood, up to a constant: kinds x noises x shapes."""
        logs = self.precisions.astype(np.float32) @ np.swapaxes(turned**2, 1, 2)
        logs *= -0.5
        noise_count = self.precisions.shape[1]
        shares = np.log(np.outer([kind.share for kind in DIFFERENCES], NOISE_SHARES[:noise_count]))
        logs += (shares + 0.5 * np.log(self.precisions).sum(axis=2)).astype(np.float32)[..., None]
        logs += log_shares.astype(np.float32)
        return np.asarray(logs)

    def _extras(self, extra: Extra, forms: Floats, shares: Floats, turned: Singles) -> Extras:
        """Add each of these forms (forms x trials) as an extra, whose size is integrated over: it stays normal."""
        turned_forms = forms @ self.axes
        weighted = turned_forms[:, None] * self.precisions[:, :, None, :]
        certainty = extra.size**-2 + (weighted * turned_forms[:, None]).sum(axis=3)
        gain = np.log(extra.share * shares) - 0.5 * np.log(extra.size**2 * certainty)
        # In units of their standard deviations.
        pull = (weighted * certainty[..., None] ** -0.5).astype(np.float32) @ np.swapaxes(
            turned[:, None, :: extra.every], 2, 3
        )
        bases = self.plain[:, :, :: extra.every] + np.float32(np.log(extra.every))
        bases[..., 0] += np.log(extra.alone / extra.every)  # the first is no shape, and stands for itself alone
        log_weights = 0.5 * pull**2
        log_weights += bases[:, :, None]
        log_weights += gain.astype(np.float32)[..., None]
        return Extras(extra, log_weights, pull, certainty**-0.5)

    def choose(self, order: Floats, dice: Floats) -> Choice:
        """Choose as many hypotheses as `order` has values, each as often as it weighs (systematic sampling).

        `dice` (draws x 2): standard normal, and uniform from 0 to 1.
        """
        weights = [self.plain.ravel(), *(group.log_weights.ravel() for group in self.groups)]
        places = _sample(np.concatenate(weights), order)
        bounds = np.cumsum([0, *(weight.size for weight in weights)])
        kind, noise, shape = np.unravel_index(np.where(places < bounds[1], places, 0), self.plain.shape)
        extras, shifts = np.zeros((order.size, self.hinges.shape[1])), np.zeros((order.size, self.places.size))
        groups = [(bounds[i] <= places) & (places < bounds[i + 1]) for i in range(1, len(weights))]
        choice = Choice(kind, noise, shape, extras, shifts, groups[2], groups[3])
        index, sizes = np.zeros(order.size, int), np.zeros((order.size, 1))
        for group, is_chosen, first in zip(self.groups, groups, bounds[1:], strict=False):
            index[is_chosen], sizes[is_chosen, 0] = _filled(choice, is_chosen, group, places[is_chosen] - first, dice)
        jumps, kinks, drifts, stalls = groups
        # Anywhere within its gap a jump explains the trials as well.
        gaps = index[jumps]
        levels = self.tried[gaps] + np.floor(dice[jumps, 1] * np.diff(self.tried)[gaps]).astype(int)
        extras[jumps] = sizes[jumps] * self.steps[levels]
        extras[kinks] = sizes[kinks] * self.hinges[index[kinks]]
        shifts[drifts] = sizes[drifts] * self.drifts[index[drifts]]
        shifts[stalls, index[stalls]] = sizes[stalls, 0]
        return choice

    def solve(self, kind: int, noises: Places, deviations: Floats) -> Floats:
        """Return the inverse of the trials' covariance times the deviations (draws x n), each draw with its noise."""
        axes = self.axes[kind]
        return np.asarray(((deviations @ axes) * self.precisions[kind, noises]) @ axes.T)


def _filled(choice: Choice, is_chosen: Flags, group: Extras, places: Places, dice: Floats) -> tuple[Places, Floats]:
    """Fill in the draws with an extra of this group; return which it is of each, and its size."""
    kind, noise, index, shape = np.unravel_index(places, group.log_weights.shape)
    choice.kind[is_chosen], choice.noise[is_chosen] = kind, noise
    choice.shape[is_chosen] = shape * group.extra.every
    sizes = (group.sizes[kind, noise, index, shape] + dice[is_chosen, 0]) * group.doubts[kind, noise, index]
    return index, sizes


def _drifts(count: int) -> tuple[Floats, Floats]:
    """Return how a host may have been otherwise before the last of so many trials (forms x trials), and their shares:
    half of the belief for a straight line, half for a change before any trial.
    """
    line = (np.arange(count) - count + 1) / max(count - 1, 8)
    changes = -1.0 * (np.arange(count) < np.arange(1, count)[:, None])
    return np.vstack([line, changes]), np.array([0.5, *[0.5 / max(1, count - 1)] * (count - 1)])


def _sample(log_weights: Singles, order: Floats) -> Places:
    likely = np.flatnonzero(log_weights > log_weights.max() - NEGLIGIBLE)
    ladder = np.cumsum(np.exp((log_weights[likely] - log_weights.max()).astype(float)))
    return np.asarray(likely[np.searchsorted(ladder, order * ladder[-1])])
