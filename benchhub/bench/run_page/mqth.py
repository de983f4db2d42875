"""How a run's rates in MQTh were computed, step by step, from the counts that stand with its result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from benchhub.bench.models import Result

ENDED, REFUSED, SECONDS = MADE_OF = ("ended_transactions", "refused_transactions", "measured_s")
EMPTY, STRICT = "empty_reads", "strict_mqth"
LOOKED_AT, LOGGED, READS = "reads_looked_at", "logged_transactions", ("get_new_destination", "get_access_data")
NORMAL_95 = 1.96
WHY_NOT_ALL = "pgbench counts the time from before its clients connect, and stops between transactions"


def steps(of: Result, asked: Mapping[str, Any]) -> list[str]:
    """Of MQTh, then of the strict rate; none where the result does not say what it is made of. `asked`: the spec."""
    found = {name: float(measure["value"]) for name, measure in of.measures.items()}
    if not found.keys() >= set(MADE_OF):
        return []
    seconds = f"{found[SECONDS]:,.3f} s"
    counted = f"{found[ENDED]:,.0f} - {found[REFUSED]:,.0f}"
    return [
        f"In the measured part {found[ENDED]:,.0f} transactions ended; {found[REFUSED]:,.0f} of them, writes "
        "that were refused, do not count.",
        f"({counted}) / {seconds} = {of.throughput:,.1f} MQTh.",
        *_strict(found, counted, seconds, is_sampled(asked)),
        _seconds(seconds, asked.get("duration_s")),
    ]


def is_sampled(asked: Mapping[str, Any]) -> bool:
    """Whether not every transaction was logged, and fewer reads looked at."""
    return float(asked.get("log_sampling_rate") or 1) < 1


def strict_rate(of: Result) -> float | None:
    measure = of.measures.get(STRICT)
    return measure and float(measure["value"])


def _strict(found: Mapping[str, float], counted: str, seconds: str, is_estimate: bool) -> list[str]:
    if not found.keys() >= {EMPTY, STRICT}:
        return []
    empty = f"{found[EMPTY]:,.0f}"
    said = (
        f"About {empty}{_off_by(found)} reads, by those that were looked at, found"
        if is_estimate
        else f"{empty} reads found"
    )
    rate = f"({counted} - {empty}) / {seconds} = {found[STRICT]:,.1f} MQTh"
    return [f"{said} nothing. The strict rate leaves them out too: {rate}."]


def _off_by(found: Mapping[str, float]) -> str:
    """Of empty reads with 95%: the share of empty ones is of those looked at, how many reads there were of the log."""
    reads = sum(found.get(f"executions_{name}", 0) for name in READS)
    looked_at, logged = (found.get(name, 0) for name in (LOOKED_AT, LOGGED))
    if not reads or not looked_at or not logged:
        return ""
    lines, share = logged * reads / (found[ENDED] - found[REFUSED]), found[EMPTY] / reads
    off = NORMAL_95 * reads * math.sqrt(share**2 / lines + max(0, share * (1 - share)) / looked_at)
    return f" (± {off:,.0f})"


def _seconds(seconds: str, asked_s: float | None) -> str:
    said = f"The {seconds} go from the end of the warm-up to the last transaction"
    return f"{said}; {asked_s:g} s were asked for. The two differ because {WHY_NOT_ALL}." if asked_s else f"{said}."
