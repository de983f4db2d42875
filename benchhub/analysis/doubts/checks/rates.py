"""Check rates against counts and times."""

from __future__ import annotations

import math
from itertools import pairwise

from benchhub.analysis.doubts.evidence import Evidence, Finding

from .latencies import PRINTED_LATENCY_ROUNDING_MS, connecting_s

RATE_TOLERANCE = 0.02
CONNECTING_TOLERANCE = 0.02
# A run never ends before its time, but for what clocks differ by: of 3,039 outputs none did by a tenth of a ms.
EARLY_SHARE, EARLY_S = 0.001, 0.02
# A thread starts late and its last client is waited for, on a machine that has other things to do.
SLACK_S = 0.25
# A gap between transactions offered at random that is this many times the average comes once in 500 million.
LONGEST_GAPS = 20
THINKING_END_SHARE = 0.01
THINKING_BOUND_SHARE = 0.95
PROGRESS_TOLERANCE = 0.05
# Less than a backend takes to start.
LEAST_CONNECTING_MS = 0.5
# Half of a tenth, to which reports print a rate.
PRINTED_RATE = 0.05
# How many more than on average or ever before may have been due in a moment.
FASTEST_AFTER = 3.0


def busy_clients(evidence: Evidence) -> Finding | None:
    """Check that the seconds' transactions took no more time than their clients had, with what was before them."""
    seconds = len(evidence.progress_busy_s)
    busy_s, lasted_s = sum(evidence.progress_busy_s), evidence.lasted_s or 0.0
    span_s = max(seconds + 1, lasted_s + evidence.initial_connection_time_ms / 1000) + evidence.stalled_before_s
    had_s = evidence.clients * span_s
    if not seconds or evidence.rate_limited or busy_s <= had_s * (1 + PROGRESS_TOLERANCE):
        return None
    return "progress", (
        f"The reports of progress come to {busy_s:,.4g} s of transactions in {seconds:,} s, more than the "
        f"{evidence.clients:,} clients had."
    )


def progress_latency(evidence: Evidence) -> Finding | None:
    """Check that the seconds' latencies come to no more than those of all transactions."""
    average_ms, busy_s = evidence.latency_average_ms, sum(evidence.progress_busy_s)
    if not evidence.progress_busy_s or average_ms is None or evidence.latency_is_derived or not evidence.transactions:
        return None
    total_s, most_s = (
        evidence.transactions * (average_ms + rounding_ms) / 1000 for rounding_ms in (0.0, PRINTED_LATENCY_ROUNDING_MS)
    )
    if busy_s <= most_s * (1 + 2 * PROGRESS_TOLERANCE) + SLACK_S * evidence.clients:
        return None
    return "progress", (
        f"The reports of progress come to {busy_s:,.4g} s of transactions, but {evidence.transactions:,} of "
        f"{average_ms:.4g} ms are {total_s:,.4g} s."
    )


def rate(evidence: Evidence) -> Finding | None:
    """Check that transactions / duration = TPS, without the time of the first connecting, as TPS leaves it out."""
    if evidence.transactions is None or evidence.duration_s is None:
        return None
    loaded_s = evidence.duration_s - evidence.initial_connection_time_ms / 1000
    if evidence.duration_is_planned:
        return _against_plan(evidence, loaded_s)
    room = RATE_TOLERANCE * evidence.tps + evidence.rate_rounding
    if loaded_s > 0 and abs(evidence.transactions / loaded_s - evidence.tps) <= room:
        return None
    rate = f"{evidence.transactions / loaded_s:,.0f} per second" if loaded_s > 0 else "no rate"
    return "rate", (
        f"{evidence.transactions:,} transactions in {loaded_s:,.3f} s are {rate}, but the TPS is {evidence.tps:,.0f}."
    )


def _against_plan(evidence: Evidence, loaded_s: float) -> Finding | None:
    """Compare how long the run lasted with its plan: it ends with the last transaction that it has begun."""
    lasted_s, planned_s = evidence.lasted_s, evidence.duration_s or 0
    if lasted_s is None or evidence.rounding_share == math.inf:
        return None
    rate = evidence.tps_including or evidence.tps
    numbers = f"{evidence.transactions:,} transactions at {rate:,.6g} TPS took {lasted_s:,.6g} s"
    if lasted_s < loaded_s * (1 - EARLY_SHARE - evidence.rounding_share) - EARLY_S - _longest_gap_s(evidence, lasted_s):
        return "rate", f"{numbers}, less than the {planned_s:,.4g} s that were asked for."
    if lasted_s <= planned_s * (1 + RATE_TOLERANCE) + SLACK_S:
        return None
    late_text = f"{numbers}, {planned_s:,.4g} s were asked for"
    if evidence.latency_max_ms is None:
        return "overrun", f"{late_text}: the last transaction took that long."
    if lasted_s <= planned_s * (1 + RATE_TOLERANCE) + SLACK_S + _longest_s(evidence):
        return None
    # One that fails at the end, and a load generator that is stopped while its clients wait, are in no latency.
    return "overrun", f"{late_text}, and no transaction took that long: the load may have stood still at its end."


def connecting_end(evidence: Evidence) -> Finding | None:
    """Check that connecting and the transactions after it fit into the planned time, but for the last transactions.

    The time runs from before connecting. Where it passes meanwhile, each client makes a single transaction.
    """
    connecting_s, planned_s = evidence.initial_connection_time_ms / 1000, evidence.duration_s
    lasted_s, ended = evidence.lasted_s, evidence.transactions
    is_open = evidence.connect_each or evidence.rate_limited
    if not connecting_s or not evidence.duration_is_planned or not planned_s or is_open:
        return None
    if lasted_s is None or ended is None or ended <= evidence.clients:
        return None
    latest_s = planned_s * (1 + RATE_TOLERANCE) + SLACK_S + min(lasted_s, _longest_possible_s(evidence))
    if connecting_s + lasted_s <= latest_s or _may_wait_for_a_retry(evidence, latest_s - connecting_s):
        return None
    return "rate", (
        f"{connecting_s:,.4g} s of connecting and {lasted_s:,.4g} s of transactions are more than the "
        f"{planned_s:,.4g} s that were asked for, and no last transaction took that long."
    )


def _may_wait_for_a_retry(evidence: Evidence, counted_s: float) -> bool:
    """Tell whether the run may have waited for a transaction that was to be tried again, which is in no count.

    Meanwhile no client began another: all that are counted fit into `counted_s`. Retries are only counted, be they 0,
    where several tries are allowed.
    """
    average_ms = None if evidence.latency_is_derived else evidence.latency_average_ms
    if not evidence.failed_transactions and evidence.retries is None:
        return False
    if average_ms is None or evidence.transactions is None:
        return True
    least_ms = evidence.transactions * (average_ms - PRINTED_LATENCY_ROUNDING_MS)
    return least_ms / 1000 <= evidence.clients * counted_s


def _longest_possible_s(evidence: Evidence) -> float:
    """Return how long a transaction and its pause may have taken: as if one alone made the deviation (Samuelson)."""
    if evidence.latency_max_ms is not None:
        return _longest_s(evidence)
    if evidence.latency_average_ms is None or evidence.latency_stddev_ms is None or not evidence.transactions:
        return math.inf
    longest_ms = evidence.latency_average_ms + math.sqrt(evidence.transactions) * evidence.latency_stddev_ms
    return (longest_ms + evidence.longest_pause_ms) / 1000


def _longest_s(evidence: Evidence) -> float:
    return ((evidence.latency_max_ms or 0.0) + evidence.longest_pause_ms) / 1000


def thinking_end(evidence: Evidence) -> Finding | None:
    """Check that the run did not wait long for clients that still thought at its end: TPS has that time in it."""
    lasted_s, planned_s = evidence.lasted_s, evidence.duration_s
    if not evidence.longest_pause_ms or not evidence.duration_is_planned or lasted_s is None or not planned_s:
        return None
    # What a run takes longer than any pause has other reasons, which `rate` says.
    waited_s = min(lasted_s - planned_s, evidence.longest_pause_ms / 1000)
    if waited_s <= THINKING_END_SHARE * planned_s + SLACK_S:
        return None
    return "thinking-end", (
        f"After {planned_s:,.4g} s the run waited {waited_s:,.3g} s for clients that still thought: its TPS is up to "
        f"{waited_s / lasted_s:.1%} too low. Run longer."
    )


def bounded_by_thinking(evidence: Evidence) -> Finding | None:
    """Check that the server had a say in TPS: clients that think make at most one transaction in each pause."""
    most_tps = 1000 * evidence.clients / evidence.pause_average_ms if evidence.pause_average_ms else math.inf
    # Numbers above it contradict each other, which Little's law says.
    if not THINKING_BOUND_SHARE <= evidence.tps / most_tps <= 1 + RATE_TOLERANCE:
        return None
    return "bounded-by-thinking", (
        f"The TPS of {evidence.tps:,.4g} is bounded by thinking: {evidence.clients:,} clients that think "
        f"{evidence.pause_average_ms:,.4g} ms make at most {most_tps:,.4g}. It says nothing of what the server can do: "
        "compare response times, or take more clients."
    )


def _longest_gap_s(evidence: Evidence, lasted_s: float) -> float:
    """Return how long before its end a run may have had nothing more to do: only where it waits for its schedule."""
    if not evidence.rate_limited or not evidence.transactions:
        return 0.0
    return LONGEST_GAPS * lasted_s * (evidence.threads or 1) / evidence.transactions


def progress(evidence: Evidence) -> Finding | None:
    """Check that the seconds' transactions come to their number; what ended after the last line is not in them."""
    lasted_s = evidence.lasted_s
    if not evidence.progress or evidence.transactions is None or lasted_s is None:
        return None
    reported, peak = sum(evidence.progress), max(evidence.progress)
    # A time that is off moves only the difference to the next report.
    moved = sum(abs(rate - before) for before, rate in pairwise([*evidence.progress, 0.0]))
    rounding = PRINTED_RATE * len(evidence.progress) + evidence.report_rounding_s * moved
    allowed = PROGRESS_TOLERANCE * evidence.transactions + rounding + evidence.clients
    # Reports count from before connecting.
    ended_s = lasted_s + evidence.initial_connection_time_ms / 1000
    unreported_s = max(0.0, ended_s - len(evidence.progress)) + evidence.report_rounding_s
    after = _most_after(evidence, unreported_s, peak)
    if -allowed <= evidence.transactions - reported <= allowed + after:
        return None
    return "progress", (
        f"The reports of progress come to {reported:,.0f} transactions in {len(evidence.progress):,} s, but "
        f"{evidence.transactions:,} were counted in {lasted_s:,.4g} s."
    )


def _most_after(evidence: Evidence, unreported_s: float, peak: float) -> float:
    """Return how many transactions may have ended after the last report: the load may have stood still up to then.

    The quickest transaction bounds it, or the schedule: no more are begun than are due, and those that had to wait.
    At a rate a latency counts from when it was due, so that those of one client overlap.
    """
    if evidence.latency_min_ms and not evidence.rate_limited:
        return evidence.clients * (1 + 1000 * unreported_s / evidence.latency_min_ms)
    # Up to 13 the rate of a number of transactions has the time of connecting in it: it may all have been at once.
    is_at_once = evidence.planned_transactions is not None and evidence.tps_including is not None
    if evidence.rate_limited and evidence.lag_max_ms is not None and not is_at_once:
        return FASTEST_AFTER * max(peak, evidence.tps) * (unreported_s + evidence.lag_max_ms / 1000)
    return math.inf


def connecting(evidence: Evidence) -> Finding | None:
    """Check TPS with and without connecting: up to 13, 'excluding' overstates TPS with many clients."""
    including, excluding = evidence.tps_including, evidence.tps_excluding
    if including is None or excluding is None or evidence.connect_each:
        return None
    numbers = f"TPS is {including:,.0f} including connecting and {excluding:,.0f} excluding it"
    if excluding < including:
        return "excluding-below-including", f"{numbers}: leaving time out cannot lower it."
    if excluding > including * (1 + CONNECTING_TOLERANCE) and not _keeps_clients_busy(evidence, excluding):
        return "excluding-overstated", (
            f"{numbers}, {excluding / including - 1:.0%} apart although each client connects once."
        )
    return None


def _keeps_clients_busy(evidence: Evidence, rate: float) -> bool:
    """Tell whether the transactions took their clients all of the time by which a rate divides: then it leaves out no
    more than connecting took. Where each of them would have had time for a connection of its own, nothing tells.

    Clients wait while their thread connects all of its own, so that transactions and connecting fit into the run.
    """
    average_ms = None if evidence.latency_is_derived or evidence.rate_limited else evidence.latency_average_ms
    each_ms = 1000 * evidence.clients * (1 / (evidence.tps_including or rate) - 1 / rate)
    if average_ms is None or each_ms > LEAST_CONNECTING_MS:
        return False
    left_s = (evidence.lasted_s or 0.0) - _least_busy_s(evidence, average_ms)
    is_within = connecting_s(evidence)[1] * (1 - CONNECTING_TOLERANCE) <= left_s + SLACK_S
    return is_within and rate * average_ms / 1000 <= evidence.clients * (1 + CONNECTING_TOLERANCE)


def _least_busy_s(evidence: Evidence, average_ms: float) -> float:
    """Return how long the transactions kept each client busy at least, on average."""
    least_ms = max(0.0, average_ms - PRINTED_LATENCY_ROUNDING_MS)
    return (evidence.transactions or 0) * least_ms / 1000 / evidence.clients
