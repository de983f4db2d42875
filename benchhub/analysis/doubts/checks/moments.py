"""Check number, sum and sum of squares of the latencies that reports of progress leave over for the run's last moment.

Reports cover a run but for what ended after the last of them. The summary minus the reports is what that moment had:
its squares can be neither too few for its sum (Cauchy-Schwarz) nor so many that a transaction took longer than the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchhub.analysis.doubts.evidence import Evidence, Finding

# Times are printed to a tenth; rates to a tenth, latencies to a thousandth; and threads count while they are read.
TIME_ROUNDING_S, RATE_ROUNDING, LATENCY_ROUNDING_MS, UNLOCKED_SHARE = 0.051, 0.05, 0.0005, 0.001


@dataclass(frozen=True, slots=True)
class Rest:
    """A total that is left over, and by how much it may be more or less."""

    total: float
    error: float

    @property
    def least(self) -> float:
        return self.total - self.error

    @property
    def most(self) -> float:
        return max(0.0, self.total + self.error)


def _rest(total: float, per_s: Sequence[float], rounding: float) -> Rest:
    """Subtract what the seconds have; a report's time that is off moves only the difference to its neighbour."""
    moved = per_s[-1] + sum(abs(after - before) for before, after in pairwise(per_s))
    return Rest(total - sum(per_s), TIME_ROUNDING_S * moved + rounding + UNLOCKED_SHARE * total)


def progress_moments(evidence: Evidence) -> Finding | None:
    """Check the average and the standard deviation of the latencies against those of the seconds."""
    average_ms, stddev_ms = evidence.latency_average_ms, evidence.latency_stddev_ms
    # Old versions count what they skipped among the transactions of a second.
    is_open = evidence.skipped_transactions or evidence.pause_average_ms or evidence.latency_is_derived
    if is_open or average_ms is None or stddev_ms is None or not evidence.lasted_s or not evidence.progress_latencies:
        return None
    counts, sums, squares = _rests(evidence, average_ms, stddev_ms)
    has_too_few = squares.total < -squares.error or max(0.0, sums.least) ** 2 > squares.most * counts.most
    if not has_too_few and squares.least <= sums.most * 1000 * evidence.lasted_s:
        return None
    return "progress", (
        f"An average of {average_ms:.4g} ms and a standard deviation of {stddev_ms:.4g} ms do not follow from the "
        "reports of progress: what is left over for the run's last moment cannot be."
    )


def _rests(evidence: Evidence, average_ms: float, stddev_ms: float) -> tuple[Rest, Rest, Rest]:
    """Return the number, the sum and the sum of squares of the latencies that no report has."""
    count, seconds = evidence.transactions or 0, evidence.progress_latencies
    squares = [second.stddev_ms**2 + second.average_ms**2 for second in seconds]
    sums = [second.tps * (second.average_ms + second.stddev_ms) for second in seconds]
    rounding_ms = 4 * LATENCY_ROUNDING_MS * (count * (average_ms + stddev_ms) + sum(sums))
    return (
        _rest(count, [second.tps for second in seconds], RATE_ROUNDING * len(seconds)),
        _rest(
            count * average_ms,
            [second.tps * second.average_ms for second in seconds],
            RATE_ROUNDING * sum(second.average_ms for second in seconds) + 2 * LATENCY_ROUNDING_MS * count,
        ),
        _rest(
            count * (average_ms**2 + stddev_ms**2),
            [second.tps * square for second, square in zip(seconds, squares, strict=True)],
            RATE_ROUNDING * sum(squares) + rounding_ms,
        ),
    )
