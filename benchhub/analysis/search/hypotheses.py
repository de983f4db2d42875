"""Which kind of difference, noise, shape and jump explain a few trials, and how well: Bayes' rule in closed form."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .shapes import Floats

Places = NDArray[np.intp]


class Difference(NamedTuple):
    """What a curve may differ by from its shape: its correlation, its size (standard deviation of the logarithm), its
    length (in the logarithm of clients), and the belief in it beforehand.
    """

    form: Literal["bent", "round", "rough"]
    size: float
    length: float
    share: float


DIFFERENCES = (
    Difference("bent", 0.004, 0.5, 0.18),
    Difference("bent", 0.015, 0.3, 0.10),
    Difference("bent", 0.015, 1.0, 0.10),
    Difference("bent", 0.05, 0.3, 0.08),
    Difference("bent", 0.05, 1.0, 0.08),
    Difference("bent", 0.2, 0.6, 0.08),
    Difference("round", 0.3, 0.25, 0.08),
    Difference("round", 0.3, 0.45, 0.10),
    Difference("round", 0.3, 0.8, 0.06),
    Difference("rough", 0.03, 1.0, 0.08),
    Difference("rough", 0.12, 2.0, 0.06),
)
# Of one run, as a share of the throughput; each as likely beforehand.
NOISES = np.array([0.003, 0.005, 0.008, 0.013, 0.02, 0.03, 0.045, 0.065])
# A jump between two levels, as where something runs out: belief that there is one, its size in the logarithm.
JUMP_SHARE = 0.15
JUMP_SD = 0.3
# Tried on every eighth shape, to save time.
JUMPING = 8


class Chosen(NamedTuple):
    """Of each draw its kind of difference, noise and shape by their places, and its jump (draws x levels)."""

    kind: Places
    noise: Places
    shape: Places
    jumps: Floats


class Hypotheses:
    """Every kind of difference x noise x shape, without a jump and with one in each gap between tried levels.

    Turned into the axes of a kind's covariance (kinds x n x n) the trials' deviations are independent, whatever the
    noise; `precisions` are kinds x noises x n. `deviations` (shapes x n) are what the trials, at the places `at`, show
    beyond each shape.
    """

    def __init__(
        self, covariances: Floats, log_shares: Floats, at: Places, deviations: Floats, level_count: int
    ) -> None:
        self.at, self.level_count = at, level_count
        self.tried = np.unique(at)
        scales, self.axes = np.linalg.eigh(covariances[:, at[:, None], at])
        self.precisions = 1 / (scales.clip(min=0)[:, None, :] + NOISES[:, None] ** 2)
        turned = deviations @ self.axes
        self.plain = self._without_jump(log_shares, turned)
        self.jumping, self.sizes, self.doubts = self._with_jump(turned[:, ::JUMPING])

    def _without_jump(self, log_shares: Floats, turned: Floats) -> Floats:
        """kinds x noises x shapes: the logarithm of share times likelihood, up to a constant."""
        misfits = self.precisions @ np.swapaxes(turned**2, 1, 2)
        volumes = np.log(self.precisions).sum(axis=2)[:, :, None]
        shares = np.log([kind.share for kind in DIFFERENCES])[:, None, None]
        return np.asarray(shares + log_shares + 0.5 * (volumes - misfits))

    def _with_jump(self, turned: Floats) -> tuple[Floats, Floats, Floats]:
        """kinds x noises x gaps x some shapes: as without, and the jump's size, and (without shapes) its deviation.

        The size is integrated over: it is normal beforehand, and so it is afterwards.
        """
        steps = (self.at > self.tried[:-1, None]).astype(float) @ self.axes
        weighted = steps[:, None] * self.precisions[:, :, None, :]
        pull = weighted @ np.swapaxes(turned[:, None], 2, 3)
        certainty = JUMP_SD**-2 + (weighted * steps[:, None]).sum(axis=3)
        width = np.diff(self.tried) / max(1, self.level_count - 1)
        share = np.log(JUMP_SHARE * JUMPING * width) - 0.5 * np.log(JUMP_SD**2 * certainty)
        gain = share[..., None] + 0.5 * pull**2 / certainty[..., None]
        return self.plain[:, :, None, ::JUMPING] + gain, pull / certainty[..., None], certainty**-0.5

    def choose(self, order: Floats, dice: Floats) -> Chosen:
        """As many as there are in `order`, each hypothesis as often as it weighs (systematic sampling)."""
        places = _sample(np.concatenate([self.plain.ravel(), self.jumping.ravel()]), order)
        jumps = places >= self.plain.size
        kind, noise, shape = np.unravel_index(np.where(jumps, 0, places), self.plain.shape)
        chosen = Chosen(kind, noise, shape, np.zeros((order.size, self.level_count)))
        if jumps.any():
            self._jump(chosen, jumps, places[jumps] - self.plain.size, dice[jumps])
        return chosen

    def _jump(self, chosen: Chosen, jumps: NDArray[np.bool_], places: Places, dice: Floats) -> None:
        """Fill in those with a jump; anywhere within its gap it explains the trials as well."""
        kind, noise, gap, shape = np.unravel_index(places, self.jumping.shape)
        chosen.kind[jumps], chosen.noise[jumps], chosen.shape[jumps] = kind, noise, shape * JUMPING
        size = self.sizes[kind, noise, gap, shape] + dice[:, 0] * self.doubts[kind, noise, gap]
        last_below = self.tried[gap] + np.floor(dice[:, 1] * np.diff(self.tried)[gap])
        chosen.jumps[jumps] = size[:, None] * (np.arange(self.level_count) > last_below[:, None])

    def solve(self, kind: int, noises: Places, deviations: Floats) -> Floats:
        """The inverse of the trials' covariance times the deviations (draws x n), each draw with its noise."""
        axes = self.axes[kind]
        return np.asarray(((deviations @ axes) * self.precisions[kind, noises]) @ axes.T)


def _sample(log_weights: Floats, order: Floats) -> Places:
    ladder = np.cumsum(np.exp(log_weights - log_weights.max()))
    return np.asarray(np.searchsorted(ladder, order * ladder[-1]))
