"""Decide which of two systems is faster, while they are measured in interleaved pairs.

Looking after every pair and stopping when the answer seems clear makes false differences common with an ordinary
interval. This one is a confidence sequence: it holds the true ratio at all looks together with the stated confidence,
so it may be looked at as often as one likes. It assumes that the logarithms of the pairs' ratios scatter normally and
independently, with an unknown standard deviation; what both runs of a pair share, such as a drift of the host, cancels.

Source: the t-test as a test martingale with a normal prior on the effect in standard deviations; Lai, On confidence
sequences (1976); Wang and Ramdas, Anytime-valid t-tests and confidence sequences (2023); Gronau, Ly and Wagenmakers,
Informed Bayesian t-tests (2019), for the Bayes factor.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import ratio as ratios

# The effect that is expected, in standard deviations of a pair: it shapes the interval, and no value makes it wrong.
EFFECT = 2.0
FEWEST_PAIRS = 3

Answer = Literal["", "faster", "slower", "no difference", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Question:
    """A wanted ratio: to within `precision` (0.02: from 2% below to 2% above), in `pairs` at most.

    With `direction_is_enough` it also ends as soon as it is clear which of the two is faster.
    """

    pairs: int
    precision: float
    confidence: float = 0.95
    direction_is_enough: bool = False

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise ValueError("A decision needs at least one pair.")
        if not (0 < self.precision < 1 and 0 < self.confidence < 1):
            raise ValueError("Precision and confidence are shares between 0 and 1.")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a decision after `n` pairs. While `answer` is empty, more pairs are needed; `pairs_left` is the
    budget.

    `value` is how many times the throughput of the baseline the other system gives (geometric mean of the pairs),
    `low` to `high` its interval; None while there is none. `is_precise` says whether the precision was reached.
    """

    answer: Answer
    n: int
    pairs_left: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_precise: bool = False

    def sentence(self, name: str, baseline: str) -> str:
        """Say in words which of the two is faster, and how sure that is."""
        pairs_text = "1 pair" if self.n == 1 else f"{self.n} pairs"
        if self.low is None or self.high is None or self.value is None:
            return f"{pairs_text} of {name} and {baseline}: too few for an interval."
        bounds = f"between {ratios.number(self.low)} and {ratios.number(self.high)}, {pairs_text}"
        claim = f"{name} gives {ratios.times(self.value)} the throughput of {baseline} ({bounds})"
        return f"{claim}{_ENDINGS[self.answer]}."


_ENDINGS = {
    "": ": not decided yet",
    "faster": ": it is faster",
    "slower": ": it is slower",
    "no difference": ": no difference was found, and one larger than this is ruled out",
    "cannot tell": ": the budget is spent, and it cannot be told which is faster",
}


def decide(pairs: Sequence[tuple[float, float]], question: Question, *, spoilt: int = 0) -> Verdict:
    """Judge pairs of throughputs (of the baseline, of the other). `spoilt` pairs lack a result but cost theirs.

    Raises ValueError for what is no positive finite number.
    """
    pairs_left = max(0, question.pairs - spoilt - len(pairs))
    logs = [_log_ratio(*pair) for pair in pairs]
    half = half_width(logs, question.confidence)
    if half is None:
        return Verdict("" if pairs_left else "cannot tell", len(pairs), pairs_left)
    middle = statistics.fmean(logs)
    is_precise = math.expm1(half) <= question.precision
    answer = _answer(middle, half, is_precise or not pairs_left, question.direction_is_enough)
    if answer == "no difference" and not is_precise:  # a larger difference is not ruled out
        answer = "cannot tell"
    bounds = math.exp(middle), math.exp(middle - half), math.exp(middle + half)
    return Verdict(answer, len(pairs), pairs_left, *bounds, is_precise)


def _log_ratio(baseline: float, other: float) -> float:
    if not all(math.isfinite(value) and value > 0 for value in (baseline, other)):
        raise ValueError("A throughput must be a positive, finite number.")
    return math.log(other / baseline)


def _answer(middle: float, half: float, is_end: bool, direction_is_enough: bool) -> Answer:
    is_clear = abs(middle) > half
    if not (is_end or (direction_is_enough and is_clear)):
        return ""
    if not is_clear:
        return "no difference"
    return "faster" if middle > 0 else "slower"


def half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Return half of the confidence sequence of the mean after these values; None while it is unbounded.

    The means m0 that the test martingale of t = (mean - m0) / (s / sqrt(n)) does not reject: with r = 1 / (1 + n c^2)
    it is sqrt(r) ((1 + t^2 / (n - 1)) / (1 + r t^2 / (n - 1)))^(n / 2), which rejects at 1 / (1 - confidence).
    """
    n = len(values)
    if n < FEWEST_PAIRS:
        return None
    shrink = 1 / (1 + n * EFFECT**2)
    bound = math.exp((-2 * math.log(1 - confidence) - math.log(shrink)) / n)
    if bound * shrink >= 1:
        return None
    t_squared = (n - 1) * (bound - 1) / (1 - bound * shrink)
    mean = statistics.fmean(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return math.sqrt(t_squared * variance / n)


def baseline_goes_first(pair: int, seed: int) -> bool:
    """Tell whether the baseline runs first in this pair (from 1): at random, but each two pairs have both orders."""
    first = random.Random(f"{seed}/{(pair - 1) // 2}").random() < 0.5
    return first if pair % 2 else not first
