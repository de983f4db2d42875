"""Weigh how well each kind of difference, noise, shape and extra explains a few trials: Bayes' rule in closed form."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .shapes import Floats

Places = NDArray[np.intp]


class Difference(NamedTuple):
    """A way for a curve to differ from its shape: its correlation, its size (standard deviation of the logarithm), its
    length (in the logarithm of clients, or as a share of the most clients), and the belief in it beforehand.
    """

    form: Literal["bent", "round", "rough"]
    size: float
    length: float
    share: float
    axis: Literal["ratios", "clients"] = "ratios"


DIFFERENCES = (
    Difference("bent", 0.004, 0.5, 0.17),
    Difference("bent", 0.015, 0.3, 0.095),
    Difference("bent", 0.015, 1.0, 0.095),
    Difference("bent", 0.05, 0.3, 0.075),
    Difference("bent", 0.05, 1.0, 0.075),
    Difference("bent", 0.2, 0.6, 0.075),
    Difference("round", 0.3, 0.25, 0.075),
    Difference("round", 0.3, 0.45, 0.095),
    Difference("round", 0.3, 0.8, 0.055),
    Difference("rough", 0.03, 1.0, 0.075),
    Difference("rough", 0.12, 2.0, 0.055),
    Difference("round", 0.3, 0.08, 0.02, axis="clients"),
    Difference("round", 0.3, 0.14, 0.02, axis="clients"),
    Difference("round", 0.3, 0.25, 0.02, axis="clients"),
)
# Of one run, as a share of the throughput; each as likely beforehand.
NOISES = np.array([0.003, 0.005, 0.008, 0.013, 0.02, 0.03, 0.045, 0.065])


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

# What is less likely than the likeliest by this, in the logarithm, is never drawn: it saves a fifth of a step's time.
NEGLIGIBLE = 25


class Choice(NamedTuple):
    """The kind of difference, noise and shape of each draw by their places, and its jump or kink (draws x levels)."""

    kind: Places
    noise: Places
    shape: Places
    extras: Floats


class Extras(NamedTuple):
    """Hypotheses with one extra: kinds x noises x extras x some shapes, the logarithm of share times likelihood.

    `sizes` are the extras' sizes where that hypothesis is true, `doubts` (without shapes) their standard deviations.
    """

    extra: Extra
    log_weights: Floats
    sizes: Floats
    doubts: Floats


class Hypotheses:
    """Every kind of difference x noise x shape: plain, with a jump in a gap between tried levels, with a kink.

    Turned into the axes of a kind's covariance (kinds x n x n) the trials' deviations are independent, whatever the
    noise; `precisions` are kinds x noises x n. `deviations` (shapes x n) are what the trials, at `places` among the
    levels, show beyond each shape.
    """

    def __init__(
        self, covariances: Floats, log_shares: Floats, places: Places, deviations: Floats, log_levels: Floats
    ) -> None:
        self.places, self.tried = places, np.unique(places)
        scales, self.axes = np.linalg.eigh(covariances[:, places[:, None], places])
        self.precisions = 1 / (scales.clip(min=0)[:, None, :] + NOISES[:, None] ** 2)
        turned = deviations @ self.axes
        self.plain = self._plain(log_shares, turned)
        self.steps = (log_levels > log_levels[:-1, None]).astype(float)
        self.hinges = (log_levels - log_levels[1:-1, None]).clip(min=0)
        widths = np.diff(self.tried) / max(1, log_levels.size - 1)
        self.jumps = self._extras(JUMP, self.steps[self.tried[:-1]], widths, turned)
        self.kinks = self._extras(KINK, self.hinges, np.full(len(self.hinges), 1 / max(1, len(self.hinges))), turned)

    def _plain(self, log_shares: Floats, turned: Floats) -> Floats:
        """Return the logarithm of share times likelihood, up to a constant: kinds x noises x shapes."""
        misfits = self.precisions @ np.swapaxes(turned**2, 1, 2)
        volumes = np.log(self.precisions).sum(axis=2)[:, :, None]
        shares = np.log([kind.share for kind in DIFFERENCES])[:, None, None]
        return np.asarray(shares + log_shares + 0.5 * (volumes - misfits))

    def _extras(self, extra: Extra, forms: Floats, shares: Floats, turned: Floats) -> Extras:
        """Add each of these forms (forms x levels) as an extra, whose size is integrated over: it stays normal."""
        turned_forms = forms[:, self.places] @ self.axes
        weighted = turned_forms[:, None] * self.precisions[:, :, None, :]
        pull = weighted @ np.swapaxes(turned[:, None, :: extra.every], 2, 3)
        certainty = extra.size**-2 + (weighted * turned_forms[:, None]).sum(axis=3)
        gain = np.log(extra.share * shares) - 0.5 * np.log(extra.size**2 * certainty)
        sizes = pull / certainty[..., None]
        bases = self.plain[:, :, :: extra.every] + np.log(extra.every)
        bases[..., 0] += np.log(extra.alone / extra.every)  # the first is no shape, and stands for itself alone
        log_weights = bases[:, :, None] + gain[..., None] + 0.5 * pull * sizes
        return Extras(extra, log_weights, sizes, certainty**-0.5)

    def choose(self, order: Floats, dice: Floats) -> Choice:
        """Choose as many hypotheses as `order` has values, each as often as it weighs (systematic sampling).

        `dice` (draws x 2): standard normal, and uniform from 0 to 1.
        """
        groups = [self.plain, self.jumps.log_weights, self.kinks.log_weights]
        places = _sample(np.concatenate([group.ravel() for group in groups]), order)
        bounds = np.cumsum([group.size for group in groups])
        kind, noise, shape = np.unravel_index(np.where(places < bounds[0], places, 0), self.plain.shape)
        choice = Choice(kind, noise, shape, np.zeros((order.size, self.hinges.shape[1])))
        jumps, kinks = (bounds[0] <= places) & (places < bounds[1]), bounds[1] <= places
        gap = self._add(choice, jumps, self.jumps, places[jumps] - bounds[0], dice)
        # Anywhere within its gap a jump explains the trials as well.
        levels = self.tried[gap] + np.floor(dice[jumps, 1] * np.diff(self.tried)[gap]).astype(int)
        choice.extras[jumps] *= self.steps[levels]
        kink = self._add(choice, kinks, self.kinks, places[kinks] - bounds[1], dice)
        choice.extras[kinks] *= self.hinges[kink]
        return choice

    def _add(self, choice: Choice, draws: NDArray[np.bool_], extras: Extras, places: Places, dice: Floats) -> Places:
        """Fill in the draws with an extra, its size in all of its row. Returns the index of the extra of each."""
        kind, noise, index, shape = np.unravel_index(places, extras.log_weights.shape)
        choice.kind[draws], choice.noise[draws], choice.shape[draws] = kind, noise, shape * extras.extra.every
        sizes = extras.sizes[kind, noise, index, shape] + dice[draws, 0] * extras.doubts[kind, noise, index]
        choice.extras[draws] = sizes[:, None]
        return np.asarray(index)

    def solve(self, kind: int, noises: Places, deviations: Floats) -> Floats:
        """Return the inverse of the trials' covariance times the deviations (draws x n), each draw with its noise."""
        axes = self.axes[kind]
        return np.asarray(((deviations @ axes) * self.precisions[kind, noises]) @ axes.T)


def _sample(log_weights: Floats, order: Floats) -> Places:
    likely = np.flatnonzero(log_weights > log_weights.max() - NEGLIGIBLE)
    ladder = np.cumsum(np.exp(log_weights[likely] - log_weights.max()))
    return np.asarray(likely[np.searchsorted(ladder, order * ladder[-1])])
