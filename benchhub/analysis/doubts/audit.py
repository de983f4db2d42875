"""Find doubts about a result by arithmetic between numbers that must agree.

A doubt does not say which of the numbers is wrong: it names them, so that a person can look. What is not
known (None) is not checked.
"""

from __future__ import annotations

from .checks import counts, latencies, rates, threads
from .checks.latencies import LITTLES_LAW_TOLERANCE as LITTLES_LAW_TOLERANCE
from .doubt import Doubt, weighed
from .evidence import Evidence as Evidence
from .evidence import Shape as Shape

CHECKS = (
    latencies.littles_law,
    latencies.derived_average,
    latencies.average_in_sum,
    latencies.order,
    latencies.percentiles,
    latencies.deviation,
    latencies.longest,
    latencies.histogram,
    latencies.histogram_total,
    latencies.logged_average,
    rates.rate,
    rates.thinking_end,
    rates.bounded_by_thinking,
    rates.busy_clients,
    rates.progress,
    rates.progress_latency,
    rates.connecting,
    rates.connecting_end,
    counts.logged_count,
    counts.commits,
    counts.failures,
    counts.retries,
    counts.late,
    counts.planned,
    threads.threads,
    counts.few_transactions,
)


def audit(evidence: Evidence) -> tuple[Doubt, ...]:
    """Return the doubts, each with its numbers in the sentence; () when everything agrees."""
    return tuple(weighed(*finding) for check in CHECKS if (finding := check(evidence)))
