"""Check number, sum and sum of squares of the latencies that reports of progress leave over for the run's last moment.

Reports cover a run but for what ended after the last of them. The summary minus the reports is what that moment had:
nothing less than 0, its squares neither too few for its sum (Cauchy-Schwarz) nor so many that a transaction took longer
than the run.
But for one transaction of each client, which may have begun before that moment, it all fits into it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runners.contract import Doubt, Measure
from runners.tools import gaps

# Times are printed to a tenth; rates to a tenth, latencies to a thousandth; and threads count while they are read.
TIME_ROUNDING_S, RATE_ROUNDING, LATENCY_ROUNDING_MS, UNLOCKED_SHARE = 0.051, 0.05, 0.0005, 0.001
LAG, CLIENTS, CONNECTING = "rate_limit_lag_average_ms", "reported_clients", "initial_connection_time_ms"


@dataclass(frozen=True, slots=True)
class Moment:
    """A report of progress: the second of the run at its end, its rate, and average and deviation of its latencies."""

    at_s: float
    tps: float
    average_ms: float
    stddev_ms: float


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


def _steps_s(moments: Sequence[Moment]) -> list[float]:
    """Return the seconds that each report is about: of one that came late more than of others."""
    return [after - before for before, after in pairwise([0.0, *(moment.at_s for moment in moments)])]


def _weighed(steps_s: Sequence[float], values: Sequence[float]) -> float:
    return sum(step_s * value for step_s, value in zip(steps_s, values, strict=True))


def _rest(total: float, steps_s: Sequence[float], per_s: Sequence[float], rounding: float) -> Rest:
    """Subtract what the reports have; a time that is off moves only the difference to the next report."""
    moved = per_s[-1] + sum(abs(after - before) for before, after in pairwise(per_s))
    return Rest(total - _weighed(steps_s, per_s), TIME_ROUNDING_S * moved + rounding + UNLOCKED_SHARE * total)


def doubts(moments: Sequence[Moment], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where number, average and standard deviation of the latencies cannot be those of the reports."""
    names = ("transactions", "latency_average_ms", "latency_stddev_ms", "tps")
    # Old versions count what they skipped among the transactions of a report.
    has_skipped = "skipped_transactions" in measures and measures["skipped_transactions"].value
    if not moments or has_skipped or not all(name in measures for name in names) or _has_gaps(moments):
        return
    count, average_ms, stddev_ms, _ = (measures[name].value for name in names)
    lasted_ms = 1000 * count / measures.get("tps_including", measures["tps"]).value
    counts, sums, squares = _rests(moments, count, average_ms, stddev_ms)
    has_negative_rest = any(rest.total < -rest.error for rest in (counts, sums, squares))
    has_too_few = max(0.0, sums.least) ** 2 > squares.most * counts.most
    is_too_much = sums.least > _most_left_ms(moments, measures, lasted_ms, squares)
    if has_negative_rest or has_too_few or is_too_much or squares.least > sums.most * lasted_ms:
        yield Doubt(
            "progress",
            f"{count:,.0f} transactions, an average of {average_ms:.4g} ms and a standard deviation of "
            f"{stddev_ms:.4g} ms do not follow from the reports of progress: what is left over for the run's last "
            "moment cannot be.",
        )


def _most_left_ms(moments: Sequence[Moment], measures: Mapping[str, Measure], lasted_ms: float, squares: Rest) -> float:
    """Return how long the latencies after the last report may be together; transactions at a rate wait for each other.

    Each client has one that may have begun before it, and all of these together are longest where they are equal.
    """
    if LAG in measures or CLIENTS not in measures:
        return math.inf
    connecting_ms = measures[CONNECTING].value if CONNECTING in measures else 0.0
    clients, ended_s = measures[CLIENTS].value, (lasted_ms + connecting_ms) / 1000
    left_s = max(0.0, ended_s - moments[-1].at_s) + TIME_ROUNDING_S
    return 1000 * clients * left_s + math.sqrt(clients * squares.most)


def _has_gaps(moments: Sequence[Moment]) -> bool:
    spans = gaps.spans([moment.at_s for moment in moments], [moment.tps for moment in moments])
    return any(span.known_s != span.passed_s for span in spans)


def _rests(moments: Sequence[Moment], count: float, average_ms: float, stddev_ms: float) -> tuple[Rest, Rest, Rest]:
    """Return the number, the sum and the sum of squares of the latencies that no report has."""
    steps_s, averages_ms = _steps_s(moments), [moment.average_ms for moment in moments]
    squares = [moment.stddev_ms**2 + moment.average_ms**2 for moment in moments]
    printed = _weighed(steps_s, [moment.tps * (moment.average_ms + moment.stddev_ms) for moment in moments])
    rounding_ms = 4 * LATENCY_ROUNDING_MS * (count * (average_ms + stddev_ms) + printed)
    return (
        _rest(count, steps_s, [moment.tps for moment in moments], RATE_ROUNDING * sum(steps_s)),
        _rest(
            count * average_ms,
            steps_s,
            [moment.tps * moment.average_ms for moment in moments],
            RATE_ROUNDING * _weighed(steps_s, averages_ms) + 2 * LATENCY_ROUNDING_MS * count,
        ),
        _rest(
            count * (average_ms**2 + stddev_ms**2),
            steps_s,
            [moment.tps * square for moment, square in zip(moments, squares, strict=True)],
            RATE_ROUNDING * _weighed(steps_s, squares) + rounding_ms,
        ),
    )
