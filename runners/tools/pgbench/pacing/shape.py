"""A load shape: rates that follow on each other within a run, and the processes of pgbench that make them.

pgbench cannot change its rate (-R) while it runs. So the lowest rate has a process for the whole run, and each further
step up has one of its own, which begins later and ends earlier: rates add up, transactions stay offered at random, and
the connections of what goes on are kept. Clients are divided over the processes in proportion to their rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

MOST_SEGMENTS, MOST_RATE_TPS, LONGEST_S = 20, 1_000_000, 86_400
# A process that is due so many transactions has none, by chance, once in 500 million runs: pgbench then has no summary.
FEWEST_TRANSACTIONS = 20
LONGEST_TEXT = 1_000
SEGMENT = re.compile(r"([0-9]{1,7}) (?:tps )?for ([0-9]{1,5})(?: s)?")


@dataclass(frozen=True, slots=True)
class Segment:
    """A rate that is held for some seconds."""

    rate_tps: int
    duration_s: int


@dataclass(frozen=True, slots=True)
class Layer:
    """One process of pgbench: from where to where in the run, at which rate, with how many clients and threads."""

    start_s: int
    duration_s: int
    rate_tps: int
    clients: int
    threads: int


@dataclass(frozen=True, slots=True)
class Shape:
    """Segments in the order in which they are run."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """Return the text that `read` reads, in its one form."""
        return ", ".join(f"{segment.rate_tps} for {segment.duration_s}" for segment in self.segments)

    @property
    def duration_s(self) -> int:
        return sum(segment.duration_s for segment in self.segments)

    @property
    def peak_tps(self) -> int:
        return max(segment.rate_tps for segment in self.segments)

    @property
    def peak_ratio(self) -> float:
        """Return the highest rate over the average."""
        return self.peak_tps * self.duration_s / sum(self.planned_tps)

    @property
    def fewest_threads(self) -> int:
        """Return how many processes are at work at the highest rate: each has a thread of its own."""
        return len({segment.rate_tps for segment in self.segments})

    @property
    def ends_s(self) -> tuple[int, ...]:
        """Return when each segment ends, in seconds from the beginning of the run."""
        return tuple(accumulate(segment.duration_s for segment in self.segments))

    @property
    def planned_tps(self) -> list[float]:
        """Return the planned rate of each second."""
        return [float(segment.rate_tps) for segment in self.segments for _ in range(segment.duration_s)]

    def layers(self, clients: int, threads: int) -> list[Layer]:
        """Return the processes, the one of the whole run first. Raises ValueError if there are too few clients."""
        levels, rates_tps = zip(*self._rises_tps(), strict=True)
        if clients < len(levels):
            raise ValueError(
                f"A load shape of {len(levels)} different rates needs at least {len(levels)} clients, not {clients}."
            )
        divided = zip(levels, rates_tps, shares(clients, rates_tps), shares(threads, rates_tps), strict=True)
        return [
            Layer(start_s, end_s - start_s, rate_tps, layer_clients, min(layer_threads, layer_clients))
            for level_tps, rate_tps, layer_clients, layer_threads in divided
            for start_s, end_s in self._spans(level_tps)
        ]

    def check_steps(self) -> None:
        """Raise ValueError for a step so low and short that it may have no transaction, by chance."""
        for level_tps, rate_tps in self._rises_tps():
            for start_s, end_s in self._spans(level_tps):
                if (expected := rate_tps * (end_s - start_s)) < FEWEST_TRANSACTIONS:
                    raise ValueError(
                        f"The step of {rate_tps} TPS for {end_s - start_s} s, to {level_tps} TPS, has some {expected} "
                        f"transactions and may have none by chance: make it higher or longer, for "
                        f"{FEWEST_TRANSACTIONS} at least."
                    )

    def _rises_tps(self) -> list[tuple[int, int]]:
        """Return each different rate, the lowest first, and by how much it is above the one before."""
        levels = sorted({segment.rate_tps for segment in self.segments})
        return [(upper, upper - lower) for lower, upper in zip([0, *levels], levels, strict=False)]

    def _spans(self, level_tps: int) -> Iterator[tuple[int, int]]:
        """Yield from where to where the rate is so high, in seconds."""
        start_s: int | None = None
        for end_s, segment in zip(self.ends_s, self.segments, strict=True):
            if segment.rate_tps < level_tps:
                if start_s is not None:
                    yield start_s, end_s - segment.duration_s
                start_s = None
            elif start_s is None:
                start_s = end_s - segment.duration_s
        if start_s is not None:
            yield start_s, self.duration_s


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole numbers in proportion to the weights, each at least 1; they come to the total where that is enough.

    What is left over goes to those that were rounded down most.
    """
    sum_of_weights, spare = sum(weights), max(0, total - len(weights))
    exact = [spare * weight / sum_of_weights for weight in weights]
    numbers = [1 + int(share) for share in exact]
    left = max(0, total - sum(numbers))
    order = sorted(range(len(weights)), key=lambda i: int(exact[i]) - exact[i])
    return [number + (place in order[:left]) for place, number in enumerate(numbers)]


def read(text: str) -> Shape:
    """Return the shape of a text such as '100 for 30, 400 for 10'. Raises ValueError with one sentence."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"A load shape has at most {LONGEST_TEXT:,} characters.")
    parts = [" ".join(part.split()) for part in text.replace("\n", ",").split(",")]
    segments = tuple(_segment(part) for part in parts if part)
    if not 2 <= len(segments) <= MOST_SEGMENTS:
        raise ValueError(f"A load shape has 2 to {MOST_SEGMENTS} segments, not {len(segments)}.")
    shape = Shape(segments)
    if shape.duration_s > LONGEST_S:
        raise ValueError(f"A load shape takes at most {LONGEST_S:,} s, not {shape.duration_s:,} s.")
    return shape


def _segment(part: str) -> Segment:
    match = SEGMENT.fullmatch(part.lower())
    if not match:
        raise ValueError(f"'{part[:40]}' is no segment: write a rate and seconds, such as 100 for 30.")
    rate_tps, duration_s = int(match[1]), int(match[2])
    if not 1 <= rate_tps <= MOST_RATE_TPS or duration_s < 1:
        raise ValueError(f"'{part[:40]}': a rate is from 1 to {MOST_RATE_TPS:,} TPS, for at least 1 s.")
    return Segment(rate_tps, duration_s)


def canonical(text: str) -> str:
    """Return the text in its one form; empty for no shape. Raises ValueError with one sentence."""
    if not text.strip():
        return ""
    shape = read(text)
    shape.check_steps()
    return shape.text
