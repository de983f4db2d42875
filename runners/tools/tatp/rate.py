"""How a run's rates in MQTh were computed, step by step, from the counts that stand with its result."""

from __future__ import annotations

import math
from collections.abc import Mapping

from runners.contract import READS_PER_LOOK

ENDED, REFUSED, SECONDS = MADE_OF = ("ended_transactions", "refused_transactions", "measured_s")
RATE, EMPTY, STRICT = "mqth", "empty_reads", "strict_mqth"
LOOKED_AT, LOGGED, READS = "reads_looked_at", "logged_transactions", ("get_new_destination", "get_access_data")
NORMAL_95 = 1.96
WHY_NOT_ALL = "pgbench counts the time from before its clients connect, and stops between transactions"


def steps(measures: Mapping[str, float], duration_s: float | None, is_sampled: bool) -> list[str]:
    """Explain how the MQTh rate and the strict rate were computed, as sentences. Empty if the counts are missing."""
    if not measures.keys() >= {RATE, *MADE_OF}:
        return []
    seconds = f"{measures[SECONDS]:,.3f} s"
    counted = f"{measures[ENDED]:,.0f} - {measures[REFUSED]:,.0f}"
    return [
        f"In the measured part {measures[ENDED]:,.0f} transactions ended; {measures[REFUSED]:,.0f} of them, writes "
        "that were refused, do not count.",
        f"({counted}) / {seconds} = {measures[RATE]:,.1f} MQTh.",
        *_strict(measures, counted, seconds, is_sampled or READS_PER_LOOK in measures),
        _seconds(seconds, duration_s),
    ]


def _strict(measures: Mapping[str, float], counted: str, seconds: str, is_estimate: bool) -> list[str]:
    if not measures.keys() >= {EMPTY, STRICT}:
        return []
    empty = f"{measures[EMPTY]:,.0f}"
    reads = (
        f"About {empty}{_off_by(measures)} reads, by those that were looked at, found"
        if is_estimate
        else f"{empty} reads found"
    )
    rate = f"({counted} - {empty}) / {seconds} = {measures[STRICT]:,.1f} MQTh"
    return [f"{reads} nothing. The strict rate leaves them out too: {rate}."]


def _off_by(measures: Mapping[str, float]) -> str:
    """Write how far the count of empty reads may be off, with 95%.

    The share of empty ones comes from the reads looked at, the number of reads from the log.
    """
    reads = sum(measures.get(f"executions_{name}", 0) for name in READS)
    looked_at, logged = (measures.get(name, 0) for name in (LOOKED_AT, LOGGED))
    if not reads or not looked_at or not logged:
        return ""
    lines, share = logged * reads / (measures[ENDED] - measures[REFUSED]), measures[EMPTY] / reads
    off = NORMAL_95 * reads * math.sqrt(share**2 / lines + max(0, share * (1 - share)) / looked_at)
    return f" (± {off:,.0f})"


def _seconds(seconds: str, planned_s: float | None) -> str:
    span = f"The {seconds} go from the end of the warm-up to the last transaction"
    return f"{span}; {planned_s:g} s were asked for. The two differ because {WHY_NOT_ALL}." if planned_s else f"{span}."
