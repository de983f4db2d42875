"""Check counts of transactions against each other, against the log, and against the server."""

from __future__ import annotations

import math

from benchhub.analysis import words
from benchhub.analysis.doubts.evidence import Evidence, Finding

# A sampled count further than this from what was expected comes up once in 1.7 million sound runs.
SAMPLING_DEVIATIONS = 5.0
# Commits that are not the load's: two for each connection (seen on 15 to 18), pgbench's own look at the data
# set, and per second of the run what autovacuum and the collectors of a run's telemetry commit.
COMMITS_PER_CONNECTION = 2
COMMITS_BESIDE = 100
COMMITS_BESIDE_PER_S = 10
FEWEST_TRANSACTIONS_PER_CLIENT = 10
# Of which the number differs by a tenth from run to run.
FEWEST_AT_A_RATE = 100
# pgbench prints a planned number by 32 bits.
WRAPS = 2**32


def logged_count(evidence: Evidence) -> Finding | None:
    """Check that each transaction is in the log; of a sampled log the count is binomial."""
    logged_count, rate = evidence.logged_transactions, evidence.log_sampling_rate
    if logged_count is None or evidence.transactions is None or rate == 0:
        return None
    expected = evidence.transactions * rate
    allowed = SAMPLING_DEVIATIONS * math.sqrt(expected * (1 - rate))
    if abs(logged_count - expected) <= allowed or _may_be_sampled(logged_count, evidence.transactions, rate):
        return None
    sampling_text = "" if rate == 1 else f" x sampling rate {rate:.4g} = {expected:,.0f} +/- {allowed:,.0f}"
    return "logged-count", (
        f"The log has {logged_count:,} transactions, but pgbench counted {evidence.transactions:,}{sampling_text}. "
        "One of them is wrong: run it again."
    )


def _may_be_sampled(count: int, transactions: int, rate: float) -> bool:
    """Return whether chance may draw so many: of few, a normal distribution says too little (Chernoff's bound)."""
    if rate == 1 or count > transactions:
        return False
    pairs = ((count, transactions * rate), (transactions - count, transactions * (1 - rate)))
    return sum(drawn * math.log(drawn / expected) for drawn, expected in pairs if drawn) <= SAMPLING_DEVIATIONS**2 / 2


def commits(evidence: Evidence) -> Finding | None:
    """Check that the server committed every transaction, and little beside them."""
    growth, commits = evidence.xact_commit_growth, evidence.commits_per_transaction
    if growth is None or commits is None or evidence.transactions is None:
        return None
    expected = evidence.transactions * commits
    allowance = _commit_allowance(evidence)
    load_text = f"pgbench's {evidence.transactions:,} transactions need {expected:,}"
    counts_text = f"the server counted {growth:,} commits, {load_text}"
    if growth < expected:
        return "commits-missing", f"Too few: {counts_text}. Not all was committed there, or one count is wrong."
    if growth > expected + allowance:
        return (
            "commits-beside",
            f"Too many: {counts_text} (and up to {allowance:,} beside). Other load may have slowed the run: find it, "
            "and run again.",
        )
    return None


def _commit_allowance(evidence: Evidence) -> int:
    connections = evidence.clients
    if evidence.connect_each:
        connections += (evidence.transactions or 0) + evidence.failed_transactions
    beside = COMMITS_BESIDE + math.ceil(COMMITS_BESIDE_PER_S * (evidence.duration_s or 0))
    return COMMITS_PER_CONNECTION * connections + beside


def few_transactions(evidence: Evidence) -> Finding | None:
    busy, ended = _busy_clients(evidence), evidence.transactions
    if ended is None or ended >= FEWEST_TRANSACTIONS_PER_CLIENT * busy:
        return _few_at_a_rate(evidence)
    clients = words.count(evidence.clients, "client")
    if busy < evidence.clients:
        clients = f"{clients}, of which about {words.significant(busy, 3)} were busy,"
    return "few-transactions", (
        f"{words.count(ended, 'transaction')} by {clients} are fewer than "
        f"{FEWEST_TRANSACTIONS_PER_CLIENT} each: TPS depends on where the run happened to end. Run longer."
    )


def _few_at_a_rate(evidence: Evidence) -> Finding | None:
    """Check that so many came at a rate that their number, which is drawn at random, hardly varies."""
    ended = evidence.transactions
    if not evidence.rate_limited or not ended or ended >= FEWEST_AT_A_RATE:
        return None
    return "few-transactions", (
        f"{words.count(ended, 'transaction')} at a rate came at random: their number, and TPS with it, differs by "
        f"{1 / math.sqrt(ended):.0%} from run to run by chance alone. Run longer."
    )


def _busy_clients(evidence: Evidence) -> float:
    """Return how many clients had a transaction under way when the run ended: at a rate the average, but at least 1."""
    if not evidence.rate_limited or evidence.latency_average_ms is None:
        return evidence.clients
    return min(evidence.clients, max(1.0, evidence.tps * evidence.latency_average_ms / 1000))


def failures(evidence: Evidence) -> Finding | None:
    """Check that the failures by kind come to all failures."""
    kinds = evidence.failures_by_kind
    if not kinds or sum(kinds) == evidence.failed_transactions:
        return None
    return "failure-count", (
        f"{' + '.join(f'{count:,}' for count in kinds)} failures by kind are {sum(kinds):,}, but "
        f"{evidence.failed_transactions:,} transactions failed."
    )


def retries(evidence: Evidence) -> Finding | None:
    """Check that no more transactions were retried than there were, nor than there were retries."""
    retried, retry_count, ended = evidence.retried_transactions, evidence.retries, evidence.transactions
    if retried is None or retry_count is None or ended is None:
        return None
    if (
        retried <= retry_count
        and retried <= ended + evidence.failed_transactions
        and bool(retried) == bool(retry_count)
    ):
        return None
    return "retry-count", (
        f"{retried:,} transactions were retried by {retry_count:,} retries, of {ended:,} that succeeded and "
        f"{evidence.failed_transactions:,} that failed: that cannot be."
    )


def late(evidence: Evidence) -> Finding | None:
    """Check that no more transactions were late than there were."""
    if evidence.late_transactions is None or evidence.transactions is None:
        return None
    if evidence.late_transactions <= evidence.transactions:
        return None
    return "late-count", (
        f"{evidence.late_transactions:,} transactions were above the latency limit, more than the "
        f"{evidence.transactions:,} that there were."
    )


def planned(evidence: Evidence) -> Finding | None:
    """Check that as many transactions ended, failed or were skipped as were planned, where a number of them was."""
    number, ended = evidence.planned_transactions, evidence.transactions
    if number is None or ended is None:
        return None
    total = ended + evidence.failed_transactions + evidence.skipped_transactions
    if (total - number) % WRAPS == 0:
        return None
    return "count", f"{total:,} transactions ended, failed or were skipped, of {number:,} that were planned."
