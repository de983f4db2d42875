"""Find doubts about a result by arithmetic between numbers that must agree.

A doubt does not say which of the numbers is wrong: it names them, so that a person can look. What is not
known (None) is not checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .doubt import Doubt, weighed

# The code of a doubt, and its sentence.
Finding = tuple[str, str]

LITTLES_LAW_TOLERANCE = 0.05
RATE_TOLERANCE = 0.02
CONNECTING_TOLERANCE = 0.02
# pgbench prints latencies with three decimals: half of the last one is unknown.
PRINTED_LATENCY_ROUNDING_MS = 0.0005
# A sampled count further than this from what was expected comes up once in 1.7 million sound runs.
SAMPLING_DEVIATIONS = 5.0
# Commits that are not the load's: two for each connection (seen on 15 to 18), pgbench's own look at the data
# set, and per second of the run what autovacuum and the collectors of a run's telemetry commit.
COMMITS_PER_CONNECTION = 2
COMMITS_BESIDE = 100
COMMITS_BESIDE_PER_S = 10
FEWEST_TRANSACTIONS_PER_CLIENT = 10
# Failed transactions keep clients busy but are in no TPS; beyond this share Little's law says nothing.
FAILED_SHARE_IGNORED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers of one run, as asked for, as printed and as counted elsewhere.

    `latency_is_derived`: pgbench computed the printed average from clients and transactions, so it proves
    nothing; leave it False for published figures, where a mislabelled row shows in it. `logged_*` come from
    the per-transaction log. `xact_commit_growth` is of pg_stat_database over the run, and
    `commits_per_transaction` says how often one transaction of the script commits (None: not known, as with
    custom scripts). `rate_limited` is an open loop (-R), where clients wait by design. `connect_each` is -C.
    """

    clients: int
    tps: float
    threads: int | None = None
    duration_s: float | None = None
    transactions: int | None = None
    failed_transactions: int = 0
    latency_average_ms: float | None = None
    latency_is_derived: bool = False
    initial_connection_time_ms: float = 0.0
    tps_including: float | None = None
    tps_excluding: float | None = None
    logged_transactions: int | None = None
    logged_latency_average_ms: float | None = None
    log_sampling_rate: float = 1.0
    xact_commit_growth: int | None = None
    commits_per_transaction: int | None = 1
    rate_limited: bool = False
    connect_each: bool = False
    asked_scale: int | None = None
    reported_scale: int | None = None


def audit(evidence: Evidence) -> tuple[Doubt, ...]:
    """Return the doubts, each with its numbers in the sentence; () when everything agrees."""
    checks = (
        _littles_law,
        _rate,
        _logged_count,
        _commits,
        _connecting,
        _threads,
        _scale,
        _few_transactions,
    )
    return tuple(weighed(*finding) for check in checks if (finding := check(evidence)))


def _littles_law(evidence: Evidence) -> Finding | None:
    """Check that clients = TPS x latency, which holds in a closed loop whose clients only wait for the server."""
    latency = _latency_range_ms(evidence)
    failed_share = evidence.failed_transactions / max(1, evidence.transactions or 0)
    if latency is None or evidence.rate_limited or evidence.connect_each or failed_share > FAILED_SHARE_IGNORED:
        return None
    least, most = (evidence.tps * latency_ms / 1000 for latency_ms in latency)
    middle = (least + most) / 2
    product = f"{evidence.tps:,.0f} TPS x {sum(latency) / 2:.4g} ms of average latency = {middle:.4g} clients"
    if least > evidence.clients * (1 + LITTLES_LAW_TOLERANCE):
        return "littles-law", f"{product}, more than the {evidence.clients} there were."
    if most < evidence.clients * (1 - LITTLES_LAW_TOLERANCE):
        return "clients-idle", (
            f"{product} of {evidence.clients}: the rest of the time was not spent waiting for the server, so the "
            "load generator may be the limit, or the numbers do not belong together."
        )
    return None


def _latency_range_ms(evidence: Evidence) -> tuple[float, float] | None:
    """Return the lowest and highest average that the evidence leaves room for.

    A whole log is exact. The average of a sample is not: one slow transaction among a thousand moves it by more than
    the tolerance, so that it stands for nothing here.
    """
    if evidence.logged_latency_average_ms is not None and evidence.log_sampling_rate >= 1:
        return evidence.logged_latency_average_ms, evidence.logged_latency_average_ms
    if evidence.latency_average_ms is None or evidence.latency_is_derived:
        return None
    average_ms = evidence.latency_average_ms
    return max(0.0, average_ms - PRINTED_LATENCY_ROUNDING_MS), average_ms + PRINTED_LATENCY_ROUNDING_MS


def _rate(evidence: Evidence) -> Finding | None:
    """Check that transactions / duration = TPS, without the time of the first connecting, as TPS leaves it out."""
    if evidence.transactions is None or evidence.duration_s is None:
        return None
    loaded_s = evidence.duration_s - evidence.initial_connection_time_ms / 1000
    if loaded_s > 0 and abs(evidence.transactions / loaded_s - evidence.tps) <= RATE_TOLERANCE * evidence.tps:
        return None
    rate = f"{evidence.transactions / loaded_s:,.0f} per second" if loaded_s > 0 else "no rate"
    return "rate", (
        f"{evidence.transactions:,} transactions in {loaded_s:,.3f} s are {rate}, but the TPS is {evidence.tps:,.0f}."
    )


def _logged_count(evidence: Evidence) -> Finding | None:
    """Check that each transaction is in the log; of a sampled log the count is binomial."""
    logged_count, rate = evidence.logged_transactions, evidence.log_sampling_rate
    if logged_count is None or evidence.transactions is None or rate == 0:
        return None
    expected = evidence.transactions * rate
    allowed = SAMPLING_DEVIATIONS * math.sqrt(expected * (1 - rate))
    if abs(logged_count - expected) <= allowed:
        return None
    sampling_text = "" if rate == 1 else f" x sampling rate {rate:.4g} = {expected:,.0f} +/- {allowed:,.0f}"
    return "logged-count", (
        f"The log has {logged_count:,} transactions, but pgbench counted {evidence.transactions:,}{sampling_text}."
    )


def _commits(evidence: Evidence) -> Finding | None:
    """Check that the server committed every transaction, and little beside them."""
    growth, commits = evidence.xact_commit_growth, evidence.commits_per_transaction
    if growth is None or commits is None or evidence.transactions is None:
        return None
    expected = evidence.transactions * commits
    allowance = _commit_allowance(evidence)
    load_text = f"pgbench's {evidence.transactions:,} transactions need {expected:,}"
    counts_text = f"the server counted {growth:,} commits, {load_text}"
    if growth < expected:
        return "commits-missing", f"Too few: {counts_text}."
    if growth > expected + allowance:
        return (
            "commits-beside",
            f"Too many: {counts_text} (and up to {allowance:,} beside): was there other load?",
        )
    return None


def _commit_allowance(evidence: Evidence) -> int:
    connections = evidence.clients
    if evidence.connect_each:
        connections += (evidence.transactions or 0) + evidence.failed_transactions
    beside = COMMITS_BESIDE + math.ceil(COMMITS_BESIDE_PER_S * (evidence.duration_s or 0))
    return COMMITS_PER_CONNECTION * connections + beside


def _connecting(evidence: Evidence) -> Finding | None:
    """Check TPS with and without connecting: up to 13, 'excluding' overstates TPS with many clients."""
    including, excluding = evidence.tps_including, evidence.tps_excluding
    if including is None or excluding is None or evidence.connect_each:
        return None
    numbers = f"TPS is {including:,.0f} including connecting and {excluding:,.0f} excluding it"
    if excluding < including:
        return "excluding-below-including", f"{numbers}: leaving time out cannot lower it."
    if excluding > including * (1 + CONNECTING_TOLERANCE):
        return "excluding-overstated", (
            f"{numbers}, {excluding / including - 1:.0%} apart although each client connects once."
        )
    return None


def _threads(evidence: Evidence) -> Finding | None:
    clients, threads = evidence.clients, evidence.threads
    if threads is None or threads < 1:
        return None
    if threads > clients:
        return "threads-beyond-clients", f"{threads} threads for {clients} clients: pgbench uses {clients}."
    if clients % threads:
        return "threads-uneven", f"{clients} clients cannot be divided evenly over {threads} threads."
    return None


def _scale(evidence: Evidence) -> Finding | None:
    planned, reported = evidence.asked_scale, evidence.reported_scale
    if planned is None or reported is None or planned == reported:
        return None
    return "scale", f"Scale {planned} was asked for, but pgbench found scale {reported}."


def _few_transactions(evidence: Evidence) -> Finding | None:
    needed = FEWEST_TRANSACTIONS_PER_CLIENT * evidence.clients
    if evidence.transactions is None or evidence.transactions >= needed:
        return None
    return "few-transactions", (
        f"{evidence.transactions:,} transactions by {evidence.clients} clients are fewer than "
        f"{FEWEST_TRANSACTIONS_PER_CLIENT} each: TPS depends on where the run happened to end."
    )
