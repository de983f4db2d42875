"""By how much numbers of transactions vary, and for how long none ends, where nothing but chance makes it so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

# So unlikely by chance is what counts as none: once in 3 million.
CHANCE = 15.0
# And so unlikely are several times together, where they matter: once in 20,000.
CHANCE_TOGETHER = 10.0
# By how many standard errors a variance is above that of chance.
VARIANCE_ERRORS = 4.0
# Latencies always differ somewhat, by more than a run of few transactions shows: their least variance for its average.
LEAST_SPREAD = 0.05
# Of the run: what few transactions lack in less than this hardly moves the mean.
FEWEST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Clients that only wait for the server: their rate, the average latency, and its coefficient of variation."""

    tps: float
    latency_s: float
    variation: float

    @property
    def clients(self) -> float:
        """Return how many were busy on average (Little's law)."""
        return self.tps * self.latency_s

    @property
    def in_step_share(self) -> float:
        """Return for what share of a latency nothing ends between clients that began together and keep in step.

        Latencies that vary by half of their average leave no gap between two waves of them.
        """
        return max(0.0, 1 - 2 * self.variation)


@dataclass(frozen=True, slots=True)
class Chance:
    """What chance does to a series of which each `interval_s` seconds are a report. `loop` is None where it is open, or
    its latencies are not known. `first_s` is how long a first transaction takes, before which none ends.
    """

    interval_s: float = 1.0
    loop: ClosedLoop | None = None
    first_s: float = 0.0

    @property
    def dispersion(self) -> float:
        """Return the highest variance, for its mean, of the number of transactions in a report.

        It is 1 where they come one by one at random (Poisson). In a closed loop it is that of a renewal process: the
        square of the latencies' variation, and where all clients keep in step, at most a quarter of their number
        squared, as they all end within an interval or do not.
        """
        if self.loop is None:
            return 1.0
        spread = self.loop.variation**2
        in_step = self.loop.tps * self.loop.latency_s**2 / (4 * self.interval_s)
        return max(spread, min(1.0, spread + in_step), in_step * self.loop.in_step_share)

    def most_dispersion(self, seconds: float) -> float:
        """Return the highest variance, for its mean, that a sample of so many seconds may show."""
        reports = max(2.0, seconds / self.interval_s)
        return self.dispersion * (1 + VARIANCE_ERRORS * math.sqrt(2 / (reports - 1)))

    def stalls(self, lengths_s: Sequence[float], tps: float, seconds: float) -> list[bool]:
        """Tell of each time in which next to nothing ended, at a usual rate, whether it is no chance: alone or together
        with others of a run of so many seconds.
        """
        least_s = self._shortest_stall_s(sorted(lengths_s, reverse=True), seconds) if self.loop else math.inf
        in_step_s = self.loop.latency_s * self.loop.in_step_share if self.loop else 0.0
        return [(length_s - in_step_s) * tps >= CHANCE or length_s >= least_s for length_s in lengths_s]

    def _shortest_stall_s(self, longest_s: Sequence[float], seconds: float) -> float:
        """Return how long a time has to be to be no chance together with all that are as long; infinite for none.

        The most are taken that, as often as they come, come by chance less than once in 20,000 runs.
        """
        total_s = list(accumulate(longest_s))
        for count in range(len(longest_s), 0, -1):
            length_s = longest_s[count - 1]
            each = self._unlikeliness(length_s) - math.log(max(1.0, seconds / max(1.0, length_s)))
            if (
                count * each + math.lgamma(count + 1) >= CHANCE_TOGETHER
                and total_s[count - 1] >= FEWEST_SHARE * seconds
            ):
                return length_s
        return math.inf

    def _unlikeliness(self, length_s: float) -> float:
        """Return the logarithm of how often none of a closed loop's transactions ends for so long, at the least.

        Where clients keep in step, that is so for as long as a latency. Where they do not, all of them have to be in a
        transaction that has as long to go, which of any distribution is at most as likely as Scarf's bound (1958).
        """
        if self.loop is None:
            return 0.0
        beyond_s, deviation_s = length_s - self.loop.latency_s, self.loop.variation * self.loop.latency_s
        in_step = self.loop.tps * max(0.0, beyond_s) / max(LEAST_SPREAD, self.loop.variation**2)
        if self.loop.in_step_share:
            return in_step
        # Of a quick load hypot(...) - beyond_s is nothing but rounding.
        both_s = math.hypot(deviation_s, beyond_s) + abs(beyond_s)
        longer_s = deviation_s**2 / both_s if beyond_s > 0 else both_s
        return max(in_step, -self.loop.clients * math.log(longer_s / (2 * self.loop.latency_s)))
