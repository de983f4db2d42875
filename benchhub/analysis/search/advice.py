"""Advise a search for the best load: from the results so far to the level to run next, or to a reasoned end.

Every step chooses the run after which, by what is believed now, one level would most probably be known to be good
enough (one-step look-ahead; the knowledge gradient of Frazier, Powell and Dayanik, 2008, with that as the gain).
The answer depends on the results alone: a search can be taken up again from what is stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from .belief import MOST_TRIALS, Belief, Trial, believe
from .shapes import Floats

# Where between the lowest and the highest level, by ratio, a search begins.
LADDER = (0.9, 0.6, 0.3)
# Before so many runs nothing is called known: fewer tell too little of the shape. So often the best level was run.
FEWEST, CONFIRMED = 9, 2
# Curves may have forms that nobody thought of: a search ends where no more than this share of the doubt that it may end
# with remains.
CAUTION = 0.4
# Beliefs that lie no further apart are equal.
EQUAL = 0.01
# In the last runs nothing counts but that the level chosen is good.
LAST = 2
# So many repeats tell noise from a rough curve; before so many runs what seems to be noise may well be the shape.
REPEATS, LEARNT = 2, 6
# Noise is high where it is believed to be above `NOISY` with `SURE`.
NOISY, SURE = 0.015, 0.94
# The look-ahead: draws that it weighs, outcomes of each run that it considers, and the share of its gain that it gives
# for being near the best, falling off by `NEAR`, so that it finds its way before anything is good enough.
LOOKED_AHEAD, OUTCOMES, NEARNESS, NEAR = 256, 16, 0.5, 0.03
# Added to the noise there, so that a few draws do not seem to tell more than they can.
SMOOTHING = 0.002

# Belief from which on a curve is called rough, a host drifting, and a run stalled.
ROUGH, DRIFTING, STALLED = 0.2, 0.3, 0.5

Stopped = Literal["", "known", "spent", "refused"]
Doubt = Literal["rough", "noise", "drift", "stalls", "unconfirmed"]
# With any of these nothing is called known.
UNKNOWN: frozenset[Doubt] = frozenset({"rough", "drift", "unconfirmed"})


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a search: the level with the highest throughput; with `ceiling_ms`, among those whose average
    latency stays at or below it.

    A level is good enough within `precision` (a share) of the best. The search ends when that is known of one level
    with `confidence`, or after `runs`; where the noise of a run turns out to be high, after `noisy_runs`.
    """

    runs: int
    noisy_runs: int
    precision: float = 0.01
    confidence: float = 0.95
    ceiling_ms: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.runs <= self.noisy_runs <= MOST_TRIALS:
            raise ValueError(f"A search takes 1 to {MOST_TRIALS} runs, and no fewer where noise is high.")
        if not (0 < self.precision < 1 and 0 < self.confidence < 1):
            raise ValueError("Precision and confidence are shares between 0 and 1.")
        if self.ceiling_ms is not None and not self.ceiling_ms > 0:
            raise ValueError("A latency ceiling is more than 0 ms.")


@dataclass(frozen=True, slots=True)
class Advice:
    """The next step after some runs.

    `clients` is the level to run next; it is None where `stopped` says why the search has ended. `best` is the level
    that would be chosen now, one that was run: None where nothing is known yet, or where no level seems to stay below
    the ceiling. `estimate` of its throughput, and `low` to `high` that hold it with 95% belief, are in the trials'
    unit; `probability` is the belief that it is good enough; `noise` the standard deviation of a run, as a share.
    `doubts` say why it is not known, or what else is amiss. `is_first`: the next level is one of those that every
    search begins with; `is_confirming`: it is the best level once more.
    """

    clients: int | None
    stopped: Stopped
    runs_left: int
    best: int | None = None
    probability: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    noise: float | None = None
    doubts: tuple[Doubt, ...] = ()
    is_first: bool = False
    is_confirming: bool = False


def advise(
    levels: Sequence[int], trials: Sequence[Trial], goal: Goal, *, spoilt: int = 0, refused: Sequence[int] = ()
) -> Advice:
    """Advise the next step. `levels` rise; `spoilt` runs gave no result but cost theirs; `refused` levels stay out.

    Raises ValueError for levels that do not rise, and for trials elsewhere or without throughput.
    """
    _require(levels, trials)
    used = spoilt + len(trials)
    offered = [clients for clients in levels if clients not in refused]
    belief = believe(levels, trials) if trials else None
    advice = _standing(belief, levels, trials, goal, used) if belief else Advice(None, "", max(0, goal.runs - used))
    is_sure = used >= FEWEST and (advice.probability or 0) >= 1 - CAUTION * (1 - goal.confidence)
    if is_sure and UNKNOWN.isdisjoint(advice.doubts):
        return replace(advice, stopped="known")
    if not advice.runs_left:
        return replace(advice, stopped="spent")
    if not offered:
        return replace(advice, stopped="refused")
    rung = _next_rung(offered, trials)
    if rung is not None or belief is None:
        return replace(advice, clients=rung, is_first=True)
    # Whether noise is high may change with every run: what is last is so by either budget.
    last = goal.runs - used if used < goal.runs else advice.runs_left
    is_settled = is_sure or (last == 1 and (advice.probability or 0) >= goal.confidence)
    is_repeat = advice.best in offered and _needs_repeat(advice, trials, is_settled, last)
    clients = advice.best if is_repeat else _next(belief, levels, goal, offered, trials, last)
    return replace(advice, clients=clients, is_confirming=clients == advice.best)


def rungs(levels: Sequence[int]) -> list[int]:
    """Return the levels that every search begins with, in order: spread by ratio, as throughput bends by ratio."""
    low, high = math.log(levels[0]), math.log(levels[-1])
    targets = [low + share * (high - low) for share in LADDER]
    return list(dict.fromkeys(min(levels, key=lambda n: (abs(math.log(n) - log_n), n)) for log_n in targets))


class Scores(NamedTuple):
    """The worth of choosing each level on each curve: draws x (levels + 1). The last is the choice of none."""

    good: Floats  # 1 where the level is good enough
    near: Floats  # falls from 1 with the distance to the best


def scores(curves: Floats, clients: Floats, goal: Goal) -> Scores:
    """Score the choice of each level on each curve.

    Without a ceiling some level is always right; with one, none is where all latencies lie above it.
    The loop is closed and without think time, so by Little's law clients = throughput x average latency.
    """
    excess = np.zeros(curves.shape)
    if goal.ceiling_ms is not None:
        excess = np.log(clients) - curves - math.log(goal.ceiling_ms / 1000)
    best = np.where(excess <= 0, curves, -np.inf).max(axis=1, keepdims=True)
    is_none = np.isinf(best)
    gaps = np.where(is_none, np.inf, np.where(is_none, 0, best) - curves)
    good = (gaps <= -math.log1p(-goal.precision)) & (excess <= math.log1p(goal.precision))
    near = np.exp(-(gaps.clip(min=0) + 2 * excess.clip(min=0)) / NEAR)
    return Scores(np.column_stack([good, is_none]).astype(float), np.column_stack([near, is_none]))


def _require(levels: Sequence[int], trials: Sequence[Trial]) -> None:
    if not levels or levels[0] < 1 or any(b <= a for a, b in pairwise(levels)):
        raise ValueError("A search needs levels that rise, from 1 client on.")
    for trial in trials:
        if trial.clients not in levels:
            raise ValueError(f"{trial.clients} clients is none of the levels that are searched.")
        if not (math.isfinite(trial.throughput) and trial.throughput > 0):
            raise ValueError(f"{trial.throughput} is not a throughput: it must be a positive, finite number.")


def _standing(belief: Belief, levels: Sequence[int], trials: Sequence[Trial], goal: Goal, used: int) -> Advice:
    """Return what is believed of the best of the levels that were run, and how many runs are left."""
    good = scores(belief.curves, np.array(levels, float), goal).good.mean(axis=0)
    runs = [trial for trial, stall in zip(trials, belief.stalls, strict=True) if stall <= STALLED]
    best = _best(good, [sum(trial.clients == clients for trial in runs) for clients in levels])
    is_noisy = float(np.mean(belief.noises > NOISY)) >= SURE
    runs_left = max(0, (goal.noisy_runs if is_noisy else goal.runs) - used)
    advice = Advice(None, "", runs_left, probability=float(good[best]), noise=float(np.median(belief.noises)))
    if best == len(levels):
        return replace(advice, doubts=_doubts(belief, CONFIRMED))
    values = [trial.throughput for trial in runs if trial.clients == levels[best]]
    low, middle, high = np.exp(np.quantile(belief.curves[:, best], [0.025, 0.5, 0.975]))
    return replace(
        advice,
        best=levels[best],
        estimate=float(middle),
        # Never beyond all that was seen there.
        low=min(float(low), max(values)),
        high=max(float(high), min(values)),
        doubts=_doubts(belief, len(values)),
    )


def _best(good: Floats, run_counts: Sequence[int]) -> int:
    """Return the place that is most probably good, of those that were run or are none; of equals the one run most."""
    worth = np.append(np.where(np.array(run_counts) > 0, good[:-1], -1), good[-1])
    equals = [place for place, value in enumerate(worth) if value >= worth.max() - EQUAL]
    return max(equals, key=lambda place: ([*run_counts, 0][place], worth[place]))


def _doubts(belief: Belief, run_count: int) -> tuple[Doubt, ...]:
    """Return what makes the runs tell less than they seem to."""
    has_doubt: dict[Doubt, bool] = {
        "rough": belief.is_rough.mean() > ROUGH,
        "noise": float(np.median(belief.noises)) > NOISY,
        "drift": belief.is_drift.mean() > DRIFTING,
        "stalls": belief.stalls.max() > STALLED,
        "unconfirmed": run_count < CONFIRMED,
    }
    return tuple(doubt for doubt, is_present in has_doubt.items() if is_present)


def _needs_repeat(advice: Advice, trials: Sequence[Trial], is_settled: bool, last: int) -> bool:
    """Tell whether the best level is to be run once more: to confirm it, and to tell noise from a rough curve."""
    if is_settled and "unconfirmed" in advice.doubts:
        return True
    repeat_count = len(trials) - len({trial.clients for trial in trials})
    is_unclear = not {"noise", "rough"}.isdisjoint(advice.doubts)
    return is_unclear and len(trials) >= LEARNT and repeat_count < REPEATS and last > 1


def _next_rung(offered: Sequence[int], trials: Sequence[Trial]) -> int | None:
    """Return the first of the rungs that has no result; a search without any result stays on the first one."""
    levels_run = {trial.clients for trial in trials}
    return next((rung for rung in rungs(offered) if rung not in levels_run), None)


def _next(
    belief: Belief,
    levels: Sequence[int],
    goal: Goal,
    offered: Sequence[int],
    trials: Sequence[Trial],
    last: int,
) -> int:
    """Return the level after whose run the best choice is worth most, with so many runs left.

    After the last one only a level that was run can be chosen.
    """
    gains = scores(belief.curves, np.array(levels, float), goal)
    nearness = NEARNESS if last > LAST else 0
    values = _look_ahead(belief, (1 - nearness) * gains.good + nearness * gains.near)
    if last == 1:
        levels_run = {trial.clients for trial in trials}
        is_open = np.array([[*(n in levels_run or n == m for n in levels), True] for m in levels])
        values = np.where(is_open[:, None], values, 0)
    worth = dict(zip(levels, values.max(axis=2).mean(axis=1), strict=True))
    return max(offered, key=lambda clients: worth[clients])


def _look_ahead(belief: Belief, gain: Floats) -> Floats:
    """Return what each choice is worth after a run at each level and each of its outcomes: levels x outcomes x choices.

    `gain` (draws x choices) is what each choice is worth on each curve.
    """
    curves, noises = belief.curves[:LOOKED_AHEAD].T, belief.noises[:LOOKED_AHEAD]
    truths = np.arange(OUTCOMES) * (LOOKED_AHEAD // OUTCOMES)
    outcomes = curves[:, truths] + noises[truths] * np.random.default_rng(OUTCOMES).standard_normal(OUTCOMES)
    width = np.hypot(noises, SMOOTHING)
    weights = np.exp(-0.5 * ((outcomes[:, :, None] - curves[:, None, :]) / width) ** 2) / width
    weights[:, np.arange(OUTCOMES), truths] = 0  # a draw must not confirm itself
    weights += 1e-12
    weights /= weights.sum(axis=2, keepdims=True)
    return np.asarray(weights @ gain[:LOOKED_AHEAD])
