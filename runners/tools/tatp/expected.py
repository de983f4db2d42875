"""Compute the success shares that TATP's transactions must have, from the population's rule and its churn.

The definition fixes all probabilities. A subscriber has each type of access data or special facility with 5/8, for
one to four of four are equally likely; 85% of the facilities are active; each start time is taken with 1/2, for none
to three of three are equally likely. Inserts and deletes in equal number leave these shares as they are, but what is
inserted ends at 1 to 24 whatever its start, so that a new destination is found the more often the more was replaced.

A forwarding that x deletes are expected for is still the populated one with e^-x; an empty place is still untouched
with e^-x. Non-uniform keys hit some subscribers much more often than others, with both, writes and reads, so shares
are summed over the exact distribution of the keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .parameters import LONGEST_FORWARDING, NON_UNIFORM, TRANSACTIONS, Parameters
from .population import STARTS, expected_shares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HAS_TYPE = 5 / 8
IS_ACTIVE = 0.85
FORWARDINGS = 1.5  # per special facility
LATEST_END = 24
ENDS = range(1, LATEST_END + 1)
# A sound run leaves the band of one of its seven shares once in 2,000 times.
DEVIATIONS = 4.0
# Variance over subscribers of the share of four types that they have: k/4, k evenly from 1 to 4.
TYPES_VARIANCE = 1.25 / 16
# ... of the share of their twelve places for forwardings that are taken: k facilities (mean 2.5, variance 1.25) with
# none to three each (mean 1.5, variance 1.25).
PLACES_VARIANCE = (2.5 * 1.25 + 1.25 * 1.5**2) / 144
FEWEST_DELETES, MOST_DELETES = 1e-9, 1e4


@dataclass(frozen=True, slots=True)
class State:
    """call_forwarding at one moment: its rows, and those that end where the population ends none; and other tables."""

    rows: int
    outside: int
    facilities: int
    subscribers: int


@dataclass(frozen=True, slots=True)
class Band:
    low: float
    high: float

    def holds(self, share: float) -> bool:
        return self.low <= share <= self.high


@dataclass(frozen=True, slots=True)
class Keys:
    """Subscribers by how often they are drawn: `share` is the probability of each of `number` subscribers."""

    share: Floats
    number: Floats

    @property
    def concentration(self) -> float:
        """Return the probability that two draws hit one subscriber: 1 / so many subscribers decide what is seen."""
        return float((self.share**2 * self.number).sum())


@lru_cache(maxsize=8)
def keys(subscribers: int, or_mask: int) -> Keys:
    """Return the distribution of ((random(0, A) | random(1, N)) % N) + 1, of uniform keys where `or_mask` is 0.

    A is all ones, so a draw y becomes the low bits v with 2 ** (ones in y) / 2 ** (bits of A), where v has all ones
    of y: a sum over subsets, bit by bit.
    """
    import numpy as np

    if not or_mask:
        return Keys(np.array([1 / subscribers]), np.array([float(subscribers)]))
    size = or_mask + 1
    blocks = subscribers // size + 1
    numbers = np.zeros(blocks * size)
    numbers[1 : subscribers + 1] = 1 / subscribers
    for bit in range(or_mask.bit_length()):
        pairs = numbers.reshape(-1, 2, 1 << bit)
        pairs[:, 0, :] /= 2
        pairs[:, 1, :] += pairs[:, 0, :]
    folded = np.zeros(subscribers)
    for first in range(0, numbers.size, subscribers):
        part = numbers[first : first + subscribers]
        folded[: part.size] += part
    share, number = np.unique(folded.round(18), return_counts=True)
    return Keys(share, number.astype(float))


def keys_of(parameters: Parameters) -> Keys:
    return keys(parameters.subscribers, parameters.or_mask if parameters.keys == NON_UNIFORM else 0)


def rarest_share(parameters: Parameters) -> float:
    """Return about what share of transactions is of the rarest type, counting those whose response times count."""
    nominal = {"UPDATE_SUBSCRIBER_DATA": HAS_TYPE, **dict.fromkeys(TRANSACTIONS[-2:], HAS_TYPE / 2)}
    weights = zip(TRANSACTIONS, parameters.weighed, strict=True)
    return min(weight * nominal.get(name, 1.0) for name, weight in weights if weight) / sum(parameters.weighed)


def destination_share(survival: Floats, longest: int) -> Floats:
    """Return the share of GET_NEW_DESTINATION that finds a row, by the probability e^-x of no delete or insert.

    1.0 gives the fresh population: 14.8% where it ends 1 to 8 after its start. 0.0 gives 20.4% for any population.
    """
    import numpy as np

    ends = np.array(ENDS)
    lasts_beyond = [np.clip((start + longest - ends) / longest, 0, 1) for start in STARTS]
    new_beyond = (LATEST_END - ends) / LATEST_END
    surviving, put_back = survival[:, None], (1 - survival[:, None] ** 2) / 2
    replaced = (1 - surviving) ** 2 / 2
    shares: Floats = np.zeros(len(survival))
    for taken_starts, share in expected_shares(Parameters())["start_time set"].items():
        missed = np.ones((len(survival), len(ends)))
        for place in range(len(STARTS)):
            old = surviving * lasts_beyond[place] + replaced * new_beyond
            missed = missed * (1 - (old if taken_starts >> place & 1 else put_back * new_beyond))
            shares += share * (1 - missed).mean(axis=1) / len(STARTS)
    return HAS_TYPE * IS_ACTIVE * shares


def replaced_share(state: State, longest: int) -> float:
    """Return the share of forwardings that transactions have put, by those that end where the population ends none."""
    within = sum(1 <= end - start <= longest for start in STARTS for end in ENDS) / (len(STARTS) * LATEST_END)
    return min(1.0, state.outside / max(1, state.rows) / (1 - within))


def survival_of(keys: Keys, replaced: float) -> Floats:
    """Return e^-x by the kinds of subscribers in `keys`, with x such that this share of all forwardings is replaced."""
    import numpy as np

    if replaced <= 0:
        return np.ones_like(keys.share)
    total = keys.number.sum()
    low, high = math.log(FEWEST_DELETES), math.log(MOST_DELETES)
    for _ in range(60):
        middle = (low + high) / 2
        survival = np.exp(-math.exp(middle) * keys.share * total)
        if 1 - float((survival * keys.number).sum() / total) < replaced:
            low = middle
        else:
            high = middle
    deletes: Floats = math.exp(high) * keys.share * total
    return np.exp(-deletes)


def expected_destination_share(parameters: Parameters, replaced: float) -> float:
    """Return the share of GET_NEW_DESTINATION that finds a row where this share of all forwardings is replaced."""
    keys_drawn = keys_of(parameters)
    shares = destination_share(survival_of(keys_drawn, replaced), LONGEST_FORWARDING[parameters.population])
    return float((shares * keys_drawn.share * keys_drawn.number).sum())


def bands(parameters: Parameters, before: State, after: State, executions: Mapping[str, float]) -> Mapping[str, Band]:
    """Return by transaction which share of its executions must succeed, from the state before and after the run.

    A band is as wide as chance makes it: of these executions, and of which rows the most drawn subscribers were
    populated with. Unless inserts and deletes come in equal number, what depends on them may be anything.
    """
    concentration = keys_of(parameters).concentration
    is_balanced = keeps_its_number(parameters) and has_its_number(before) and has_its_number(after)
    ranges: dict[str, tuple[float, float, float]] = {
        "GET_ACCESS_DATA": (HAS_TYPE, HAS_TYPE, TYPES_VARIANCE),
        "UPDATE_SUBSCRIBER_DATA": (HAS_TYPE, HAS_TYPE, TYPES_VARIANCE),
        "INSERT_CALL_FORWARDING": _place_range(is_balanced),
        "DELETE_CALL_FORWARDING": _place_range(is_balanced),
        "GET_NEW_DESTINATION": _destination_range(parameters, (before, after), is_balanced),
    }
    certain = Band(1.0, 1.0)
    return {
        name: _band(*ranges[name], executions.get(name, 0), concentration) if name in ranges else certain
        for name in TRANSACTIONS
    }


def keeps_its_number(parameters: Parameters) -> bool:
    """Tell whether a load inserts as many forwardings as it deletes."""
    weights = dict(zip(TRANSACTIONS, parameters.weighed, strict=True))
    return weights["INSERT_CALL_FORWARDING"] == weights["DELETE_CALL_FORWARDING"]


def has_its_number(state: State) -> bool:
    """Tell whether there are as many forwardings as the population has: 1.5 per facility, with variance 1.25."""
    return abs(state.rows - FORWARDINGS * state.facilities) <= 6 * math.sqrt(1.25 * state.facilities)


def _place_range(is_balanced: bool) -> tuple[float, float, float]:
    return (HAS_TYPE / 2, HAS_TYPE / 2, PLACES_VARIANCE) if is_balanced else (0.0, HAS_TYPE, PLACES_VARIANCE)


def _destination_range(
    parameters: Parameters, states: tuple[State, State], is_balanced: bool
) -> tuple[float, float, float]:
    """Return the lowest and highest share, and at most their variance over subscribers (Bhatia and Davis).

    The variance is from that of one facility, whose share lies between 0 and that of three forwardings until the last
    hour.
    """
    longest = LONGEST_FORWARDING[parameters.population]
    shares = [expected_destination_share(parameters, replaced_share(state, longest)) for state in states]
    low, high = (min(shares), max(shares)) if is_balanced else (0.0, HAS_TYPE * IS_ACTIVE)
    per_type, most = high / HAS_TYPE, (LATEST_END - 1) / LATEST_END
    return low, high, (2.5 * per_type * (most - per_type) + 1.25 * per_type**2) / 16


def _band(low: float, high: float, variance: float, executions: float, concentration: float) -> Band:
    def deviation(share: float) -> float:
        return DEVIATIONS * math.sqrt(share * (1 - share) / max(1.0, executions) + variance * concentration)

    return Band(max(0.0, low - deviation(low)), min(1.0, high + deviation(high)))
