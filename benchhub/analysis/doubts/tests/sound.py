"""A run whose numbers agree, and what is said of others."""

from __future__ import annotations

from typing import Any

from benchhub.analysis.doubts.audit import Evidence, audit

# 10 clients x 1,000 TPS x 10 ms; every other number follows.
SOUND = Evidence(
    clients=10,
    threads=5,
    duration_s=60.0,
    tps=1_000.0,
    transactions=60_000,
    latency_average_ms=10.0,
    logged_transactions=60_000,
    logged_latency_average_ms=10.0,
    xact_commit_growth=60_020,
    tps_including=999.0,
    tps_excluding=1_000.0,
)


WITHOUT_LATENCY: dict[str, Any] = {"latency_average_ms": None, "logged_latency_average_ms": None}


def codes(evidence: Evidence) -> list[str]:
    return [doubt.code for doubt in audit(evidence)]


def the_sentence(evidence: Evidence) -> str:
    [doubt] = audit(evidence)
    return doubt.text
