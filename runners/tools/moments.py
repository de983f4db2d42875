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
from itertools import accumulate, pairwise
from operator import add

from runners.contract import Doubt, Measure
from runners.tools import gaps

# Times are printed to a tenth; rates to a tenth, latencies to a thousandth; and threads count while they are read.
TIME_ROUNDING_S, RATE_ROUNDING, LATENCY_ROUNDING_MS, UNLOCKED_SHARE = 0.051, 0.05, 0.0005, 0.001
# Of a client that has ended, and by how much the busy clients of other reports may differ.
LOST_CLIENT, STEADY_CLIENTS, FEWEST_REPORTS = 0.8, 0.3, 2
# Its share of the time, at least, that no transaction of the summary has.
IDLE_SHARE = 0.5
LAG, CLIENTS, CONNECTING = "rate_limit_lag_average_ms", "reported_clients", "initial_connection_time_ms"
THREADS, PLANNED = "reported_threads", "planned_transactions"
# By which the thread that reports may be late with its last one.
LATE_S = 0.5


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


@dataclass(frozen=True, slots=True)
class _Drop:
    """The reports after the first up to which so many clients were busy on average, and how many were after them."""

    place: int
    before: float
    after: float


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


def ended_client(moments: Sequence[Moment], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where from a report on fewer clients were busy, up to the end, and nothing else was there to do.

    In a closed loop TPS x latency are the clients. The first report has connecting in it, the one in which a client
    ended a part of its time. A transaction that lasts until the run ends is in no report, but in the summary. Clients
    with a number of transactions each (-t) end when they are through.
    """
    stated, counted = (LAG, "planned_transactions"), ("skipped_transactions", "failed_transactions")
    has_others = any(name in measures and measures[name].value for name in counted)
    if has_others or any(name in measures for name in stated) or CLIENTS not in measures or _has_gaps(moments):
        return
    for drop in _drops([moment.tps * moment.average_ms / 1000 for moment in moments[1:]]):
        since_s, fewer = moments[drop.place].at_s, round(drop.before - drop.after)
        # Where load generators idle more than what is lost, they may idle more from some moment on.
        has_idled = measures[CLIENTS].value - drop.before >= drop.before - drop.after
        if not has_idled and _has_idle_time(since_s, fewer, measures):
            clients = "one client fewer was" if fewer == 1 else f"{fewer:,} clients fewer were"
            numbers = f"{drop.after:.3g} instead of {drop.before:.3g}"
            text = f"From second {since_s:,.4g} on {clients} busy, {numbers} by the reports of progress"
            yield Doubt("client-ended", f"{text}: {'it' if fewer == 1 else 'they'} may have ended early.")
            return


def _drops(busy: Sequence[float]) -> Iterator[_Drop]:
    """Yield where busy clients stay at one number, and from then on at a lower one; each number is looked at once."""
    least, most, sums = (list(accumulate(busy, take)) for take in (min, max, add))
    least_after, most_after, sums_after = (list(accumulate(reversed(busy), take))[::-1] for take in (min, max, add))
    # Ended with the report before, or else within the one at this place.
    for within in (0, 1):
        for place in range(FEWEST_REPORTS, len(busy) - within - FEWEST_REPORTS + 1):
            if most[place - 1] - least[place - 1] >= STEADY_CLIENTS:
                break
            start, before = place + within, sums[place - 1] / place
            is_steady = most_after[start] - least_after[start] < STEADY_CLIENTS
            if is_steady and most_after[start] <= before - LOST_CLIENT:
                yield _Drop(place, before, sums_after[start] / (len(busy) - start))


def _has_idle_time(since_s: float, fewer: int, measures: Mapping[str, Measure]) -> bool:
    """Tell whether the summary's transactions leave so many clients idle since then, too."""
    names = (CLIENTS, "transactions", "latency_average_ms", "tps")
    if not all(name in measures for name in names):
        return False
    clients, count, average_ms, tps = (measures[name].value for name in names)
    lasted_s = count / measures.get("tps_including", measures["tps"]).value if tps else 0.0
    idle_s = clients * lasted_s - count * (average_ms - LATENCY_ROUNDING_MS) / 1000
    connecting_s = measures[CONNECTING].value / 1000 if CONNECTING in measures else 0.0
    return idle_s >= IDLE_SHARE * fewer * (lasted_s + connecting_s - since_s)


def _most_left_ms(moments: Sequence[Moment], measures: Mapping[str, Measure], lasted_ms: float, squares: Rest) -> float:
    """Return how long the latencies after the last report may be together; transactions at a rate wait for each other.

    Each client has one that may have begun before it, and all of these together are longest where they are equal.
    The clients of the thread that reports end within an interval after it where they have a number of transactions.
    """
    if LAG in measures or CLIENTS not in measures:
        return math.inf
    connecting_ms = measures[CONNECTING].value if CONNECTING in measures else 0.0
    clients, ended_s = measures[CLIENTS].value, (lasted_ms + connecting_ms) / 1000
    left_s = max(0.0, ended_s - moments[-1].at_s) + TIME_ROUNDING_S
    idle_s = max(0.0, left_s - gaps.reports_interval_s([0.0, *(moment.at_s for moment in moments)]) - LATE_S)
    busy_s = clients * left_s - _ended_first(measures) * idle_s
    return 1000 * busy_s + math.sqrt(clients * squares.most)


def _ended_first(measures: Mapping[str, Measure]) -> float:
    """Return of how many clients the first thread is, with whose number of transactions the reports end.

    They are divided as pgbench deals them: the first thread has no fewer than others (src/bin/pgbench/pgbench.c, main).
    """
    if PLANNED not in measures or THREADS not in measures or not measures[THREADS].value:
        return 0.0
    return math.ceil(measures[CLIENTS].value / measures[THREADS].value)


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
