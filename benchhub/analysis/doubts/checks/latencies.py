"""Check latencies against clients, against each other, and against their histogram."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from itertools import pairwise

from benchhub.analysis.doubts.evidence import Evidence, Finding

from .counts import FEWEST_TRANSACTIONS_PER_CLIENT

LITTLES_LAW_TOLERANCE = 0.05
# Of printed counts and latencies: of 129 outputs none has more clients busy than there were by a hundredth of 1%.
PRINTED_TOLERANCE = 0.01
# Of what is left where the greater part was lag.
OPEN_LOOP_TOLERANCE = 0.25
# pgbench prints latencies with three decimals: half of the last one is unknown.
PRINTED_LATENCY_ROUNDING_MS = 0.0005
# A log has whole us of what pgbench adds up in parts of them.
LOGGED_ROUNDING_MS = 0.001
# Failed transactions keep clients busy but are in no TPS; beyond this share Little's law says nothing.
FAILED_SHARE_IGNORED = 0.01
DERIVED_TOLERANCE = 0.001
# Threads begin and end at other moments than the clock of the run.
LONGEST_TOLERANCE, LONGEST_SLACK_S = 0.05, 0.25
# sysbench prints two decimals.
PRINTED_MS = 0.006
AVERAGE_TOLERANCE = 0.002
BIN_TOLERANCE = 0.02
# Of the usual rate: with less in a second, clients may have ended; and how many of the slowest transactions but for a
# few may follow on each other there.
USUAL_SHARE, USUAL_ENDS = 0.9, 3.0


def littles_law(evidence: Evidence) -> Finding | None:
    """Check that clients = TPS x latency, which holds in a closed loop whose clients only wait for the server.

    Of transactions at a rate, and where many failed, there is only the upper bound: clients also did something else.
    """
    latency, rate = _spent_range_ms(evidence), evidence.tps
    if latency is None:
        return None
    if evidence.connect_each and evidence.connection_time_ms is None:
        rate = evidence.tps_excluding or rate
    tolerance = _excess_tolerance(evidence) + evidence.rounding_share
    least, most = (rate * latency_ms / 1000 for latency_ms in latency)
    product = f"{rate:,.0f} TPS x {sum(latency) / 2:.4g} ms of average latency = {(least + most) / 2:.4g} clients"
    # What old versions leave out as connecting, they may overstate.
    overstated = 1.0 if evidence.connect_each else rate / (evidence.tps_including or rate or 1.0)
    if least > evidence.clients * (1 + tolerance) * max(1.0, overstated):
        return "littles-law", f"{product}, more than the {evidence.clients} there were: TPS or latency is wrong."
    failed_share = evidence.failed_transactions / max(1, evidence.transactions or 0)
    # Up to 13 no number has the time of disconnecting (-C).
    leaves_time_out = evidence.connect_each and evidence.connection_time_ms is None
    if evidence.rate_limited or leaves_time_out or failed_share > FAILED_SHARE_IGNORED:
        return None
    if most < evidence.clients * _busy_share(evidence) * (1 - LITTLES_LAW_TOLERANCE - evidence.rounding_share):
        return "clients-idle", (
            f"{product} of {evidence.clients}: the rest of the time was not spent waiting for the server, so the "
            "load generator may be the limit, a client ended early, or the numbers do not belong together."
        )
    return None


def _excess_tolerance(evidence: Evidence) -> float:
    """Return by what share more clients may seem busy than there were: little, where the numbers are printed ones."""
    if evidence.rate_limited:
        return OPEN_LOOP_TOLERANCE
    is_exact = evidence.transactions is not None and not (evidence.connect_each or evidence.pause_average_ms)
    return PRINTED_TOLERANCE if is_exact else LITTLES_LAW_TOLERANCE


def _spent_range_ms(evidence: Evidence) -> tuple[float, float] | None:
    """Return what a transaction took its client: with its own connection and pause, without waiting its turn."""
    latency = _latency_range_ms(evidence)
    is_unknown = evidence.connect_each and evidence.connection_time_ms is None and not evidence.tps_excluding
    if latency is None or is_unknown:
        return None
    beside_ms = (evidence.connection_time_ms or 0.0) if evidence.connect_each else 0.0
    # Up to 14 the average lag is divided by those that were skipped as well, which had none.
    lag_share = 1 + evidence.skipped_transactions / (evidence.transactions or 1)
    beside_ms -= (evidence.lag_average_ms or 0.0) * lag_share if evidence.rate_limited else 0.0
    beside_ms += evidence.pause_average_ms
    return max(0.0, latency[0] + beside_ms), max(0.0, latency[1] + beside_ms)


def _busy_share(evidence: Evidence) -> float:
    """Return for what share of the run every client had transactions to begin, by the plan.

    The planned time runs from before connecting. After it each client ends with its transaction, and of a planned
    number of transactions the quickest client ends first; with few of them for each client the ends are most of it.
    """
    if not evidence.duration_is_planned:
        return max(0.0, 1 - _ending_s(evidence) / (evidence.lasted_s or math.inf))
    if evidence.duration_s is None or (evidence.transactions or 0) < FEWEST_TRANSACTIONS_PER_CLIENT * evidence.clients:
        return 0.0
    loaded_s = max(0.0, evidence.duration_s - connecting_s(evidence)[0])
    return min(1.0, loaded_s / (evidence.lasted_s or evidence.duration_s))


def _ending_s(evidence: Evidence) -> float:
    """Return for how long clients may have ended one after the other, each with its transaction, where none idled.

    The first of them ends by the longest transaction before the last, wherever in the run that was. Reports of progress
    tell more: while as many transactions end as usual, their clients are there; and no client ends before its time.
    """
    longest_s = (evidence.latency_max_ms or 0.0) / 1000
    # The seconds of a warm-up of the load generator's own are none of the time that it counts.
    if not evidence.lasted_s or not 0 < len(evidence.progress) <= evidence.lasted_s + 1:
        return longest_s
    usual = statistics.median(evidence.progress)
    busy = [place for place, rate in enumerate(evidence.progress, start=1) if rate >= USUAL_SHARE * usual]
    fading_s = evidence.lasted_s - (busy[-1] - 1 if busy else 0)
    late_s = evidence.lasted_s - (evidence.planned_s or 0.0)
    percentile_s = max(evidence.percentiles_ms.values(), default=0.0) / 1000
    return min(longest_s, max(fading_s, late_s, USUAL_ENDS * percentile_s))


def connecting_s(evidence: Evidence) -> tuple[float, float]:
    """Return for how long at least and at most a thread connected its clients, one after the other.

    Of the sum of these times old versions leave a thread's share out of TPS, and from 9.6 to 13 a client's.
    """
    including, excluding = evidence.tps_including, evidence.tps_excluding
    if not including or not excluding or evidence.connect_each:
        return (initial_s := evidence.initial_connection_time_ms / 1000), initial_s
    left_out_s = (evidence.lasted_s or 0.0) * max(0.0, 1 - including / excluding)
    of_clients_s = left_out_s * evidence.clients / (evidence.threads or 1)
    if evidence.leaves_out_by_thread is None:
        return min(left_out_s, of_clients_s), max(left_out_s, of_clients_s)
    return (left_out_s, left_out_s) if evidence.leaves_out_by_thread else (of_clients_s, of_clients_s)


def _latency_range_ms(evidence: Evidence) -> tuple[float, float] | None:
    """Return the lowest and highest average that the evidence leaves room for.

    A whole log is exact. The average of a sample is not: one slow transaction among a thousand moves it by more than
    the tolerance, so that it stands for nothing here.
    """
    if evidence.logged_latency_average_ms is not None and evidence.log_sampling_rate >= 1:
        return evidence.logged_latency_average_ms, evidence.logged_latency_average_ms
    if evidence.latency_average_ms is None or evidence.latency_is_derived:
        return None
    if evidence.latency_sum_ms is not None and evidence.transactions:
        return (exact_ms := evidence.latency_sum_ms / evidence.transactions), exact_ms
    average_ms = evidence.latency_average_ms
    return max(0.0, average_ms - PRINTED_LATENCY_ROUNDING_MS), average_ms + PRINTED_LATENCY_ROUNDING_MS


def derived_average(evidence: Evidence) -> Finding | None:
    """Check that an average that was derived from clients and rate gives the clients again."""
    average_ms, lasted_s = evidence.latency_average_ms, evidence.lasted_s
    if not evidence.average_is_of_clients or average_ms is None or not lasted_s or evidence.transactions is None:
        return None
    count = evidence.transactions + evidence.failed_transactions
    if any(_implies_clients(evidence, count / span_s, average_ms) for span_s in _derived_of_s(evidence, lasted_s)):
        return None
    rate = count / lasted_s
    implied = rate * average_ms / 1000
    return "derived-average", (
        f"An average of {average_ms:.4g} ms at {rate:,.6g} transactions a second is derived from {implied:.4g} "
        f"clients, not {evidence.clients}."
    )


def _derived_of_s(evidence: Evidence, lasted_s: float) -> list[float]:
    """Return the seconds out of which the average may be derived: up to 9.6 those that were planned."""
    if evidence.tps_including is None or not evidence.duration_is_planned or not evidence.duration_s:
        return [lasted_s]
    return [lasted_s, evidence.duration_s]


def _implies_clients(evidence: Evidence, rate: float, average_ms: float) -> bool:
    implied, room = rate * average_ms / 1000, rate * PRINTED_LATENCY_ROUNDING_MS / 1000
    return abs(implied - evidence.clients) <= room + DERIVED_TOLERANCE * evidence.clients


def average_in_sum(evidence: Evidence) -> Finding | None:
    """Check that the sum of latencies is their average times their number."""
    average_ms, sum_ms, events = evidence.latency_average_ms, evidence.latency_sum_ms, evidence.transactions
    if average_ms is None or sum_ms is None or not events:
        return None
    if abs(sum_ms / events - average_ms) <= PRINTED_MS + AVERAGE_TOLERANCE * average_ms:
        return None
    return "latency-sum", (
        f"Latencies of {sum_ms:,.6g} ms together, of {events:,} transactions, are {sum_ms / events:.4g} ms on average, "
        f"but {average_ms:.4g} ms are printed."
    )


def order(evidence: Evidence) -> Finding | None:
    """Check that minimum, percentiles and maximum do not fall, and that the average lies between the ends."""
    least, most = ("minimum", evidence.latency_min_ms), ("maximum", evidence.latency_max_ms)
    percentiles = [(f"p{100 * share:g}", ms) for share, ms in sorted(evidence.percentiles_ms.items())]
    # A derived average of up to 13 has the time of connecting in it.
    average = ("average", None if evidence.latency_is_derived else evidence.latency_average_ms)
    lags = [("average lag", evidence.lag_average_ms), ("maximum lag", evidence.lag_max_ms)]
    waits = [lags[0], average]
    # A derived average of transactions that connect has connecting in it.
    derived = ("average", evidence.latency_average_ms if evidence.latency_is_derived else None)
    connecting = [("average time of connecting", evidence.connection_time_ms), derived]
    chains = ([least, *percentiles, most], [least, average, most], lags, waits, connecting)
    falls = (fall for chain in chains for fall in _falls(chain))
    return next(falls, None)


def _falls(chain: Iterable[tuple[str, float | None]]) -> Iterator[Finding]:
    values = [(name, ms) for name, ms in chain if ms is not None]
    for (lower_name, lower_ms), (upper_name, upper_ms) in pairwise(values):
        # Percentiles are read at the middle of bins, up to 1.8% wide.
        if lower_ms > upper_ms * 1.02 + PRINTED_MS:
            yield (
                "latency-order",
                f"The {lower_name} of {lower_ms:.4g} ms is above the {upper_name} of {upper_ms:.4g} ms: one is wrong.",
            )


def percentiles(evidence: Evidence) -> Finding | None:
    """Check that percentiles leave room for the average: so many transactions took no less, and so many no more."""
    average_ms, count = evidence.latency_average_ms, evidence.transactions
    is_other = evidence.latency_is_derived or evidence.log_sampling_rate < 1 or evidence.pause_average_ms
    if average_ms is None or not count or is_other:
        return None
    least_ms, most_ms = evidence.latency_min_ms or 0.0, evidence.latency_max_ms or math.inf
    for share, percentile_ms in sorted(evidence.percentiles_ms.items()):
        # Their rank is rounded, and they are read at the middle of bins, up to 1.8% wide.
        above, below = (max(0.0, part - 1 / count) for part in (1 - share, share))
        lowest_ms = above * (1 - BIN_TOLERANCE) * percentile_ms + (1 - above) * least_ms
        highest_ms = below * (1 + BIN_TOLERANCE) * percentile_ms + (1 - below) * most_ms
        if not lowest_ms - PRINTED_MS <= average_ms * (1 + AVERAGE_TOLERANCE) or average_ms - PRINTED_MS > highest_ms:
            return "latency-order", (
                f"The average of {average_ms:.4g} ms cannot be: {100 * share:g}% of the transactions took "
                f"{percentile_ms:.4g} ms at most, and the others no less."
            )
    return None


def deviation(evidence: Evidence) -> Finding | None:
    """Check that latencies between nothing and the whole run can deviate so much from their average."""
    average_ms, stddev_ms = evidence.latency_average_ms, evidence.latency_stddev_ms
    lasted_ms = 1000 * (evidence.lasted_s or 0.0)
    if average_ms is None or stddev_ms is None or evidence.latency_is_derived or average_ms >= lasted_ms:
        return None
    if evidence.rounding_share == math.inf:
        return None
    highest_ms = average_ms + PRINTED_LATENCY_ROUNDING_MS
    most_ms = math.sqrt(highest_ms * max(0.0, lasted_ms - average_ms))
    if stddev_ms <= (1 + LONGEST_TOLERANCE + evidence.rounding_share) * most_ms + PRINTED_MS:
        return None
    return "latency-order", (
        f"Latencies of {average_ms:.4g} ms on average, none longer than the run of {lasted_ms / 1000:,.4g} s, deviate "
        f"from that by {most_ms:,.4g} ms at most, but {stddev_ms:,.4g} ms are printed."
    )


def longest(evidence: Evidence) -> Finding | None:
    """Check that no transaction took longer than the run."""
    longest_ms, lasted_s = evidence.latency_max_ms, evidence.lasted_s
    if (
        longest_ms is None
        or not lasted_s
        or longest_ms <= 1000 * ((1 + LONGEST_TOLERANCE + evidence.rounding_share) * lasted_s + LONGEST_SLACK_S)
    ):
        return None
    return "latency-order", f"A transaction took {longest_ms / 1000:,.4g} s, longer than the run of {lasted_s:,.4g} s."


def histogram(evidence: Evidence) -> Finding | None:
    """Check number, average, deviation and ends of the latencies against their histogram."""
    shape = evidence.histogram
    if shape is None or evidence.log_sampling_rate < 1:
        return None
    average_ms = None if evidence.latency_is_derived else evidence.latency_average_ms
    pairs = (
        ("average", average_ms, shape.average_ms),
        ("standard deviation", evidence.latency_stddev_ms, shape.stddev_ms),
        ("minimum", evidence.latency_min_ms, shape.lowest_ms),
        ("maximum", evidence.latency_max_ms, shape.highest_ms),
    )
    for name, printed_ms, counted_ms in pairs:
        room_ms = PRINTED_MS + max(AVERAGE_TOLERANCE, shape.error) * max(counted_ms, shape.average_ms)
        if printed_ms is not None and abs(printed_ms - counted_ms) > room_ms:
            text = f"The {name} of {printed_ms:.4g} ms is not that of the histogram, {counted_ms:.4g} ms."
            return "histogram", text
    return None


def logged_average(evidence: Evidence) -> Finding | None:
    """Check that the average of transactions that were timed one by one is that of a whole log, to a us."""
    average_ms, logged_ms = evidence.latency_average_ms, evidence.logged_latency_average_ms
    is_other = evidence.latency_is_derived or evidence.log_sampling_rate < 1 or evidence.pause_average_ms
    if average_ms is None or logged_ms is None or is_other:
        return None
    if abs(average_ms - logged_ms) <= PRINTED_LATENCY_ROUNDING_MS + LOGGED_ROUNDING_MS:
        return None
    return "histogram", f"The average of {average_ms:,.6g} ms is not that of the log, {logged_ms:,.6g} ms."


def histogram_total(evidence: Evidence) -> Finding | None:
    """Check that a report's histogram has every transaction; of a log that is checked by its own count."""
    shape = evidence.histogram
    if shape is None or evidence.logged_transactions is not None or evidence.transactions in (None, shape.total):
        return None
    return "histogram", f"The histogram has {shape.total:,} transactions, but {evidence.transactions:,} were counted."
