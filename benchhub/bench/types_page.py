"""Transactions by type, for load generators that tell them apart: how often each ran and succeeded, and how fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.tools.tatp import EXECUTIONS, SUCCESS, SUCCESS_HIGH, SUCCESS_LOW

from .models import LatencyHistogram

PER_TYPE = (EXECUTIONS, SUCCESS_LOW, SUCCESS_HIGH, SUCCESS)


@dataclass(frozen=True, slots=True)
class Type:
    """One type; shares in percent, None where nothing is known. `histogram` is of what counts alone."""

    name: str
    executions: float
    success: float | None
    lowest: float | None
    highest: float | None
    histogram: LatencyHistogram | None

    @property
    def is_doubtful(self) -> bool:
        if self.success is None or self.lowest is None or self.highest is None:
            return False
        return not self.lowest <= self.success <= self.highest


def is_per_type(measure: str) -> bool:
    return measure.startswith(PER_TYPE)


def types(measures: Mapping[str, Any], histograms: Sequence[LatencyHistogram]) -> list[Type]:
    """In the order of the most executed; none for a load generator that does not tell types apart."""
    of_name = {histogram.name.lower(): histogram for histogram in histograms}
    keys = [name.removeprefix(EXECUTIONS) for name in measures if name.startswith(EXECUTIONS)]

    def value(what: str, key: str) -> float | None:
        found = measures.get(what + key)
        return None if found is None else float(found["value"])

    rows = [
        Type(
            name=key.upper(),
            executions=value(EXECUTIONS, key) or 0.0,
            success=value(SUCCESS, key),
            lowest=value(SUCCESS_LOW, key),
            highest=value(SUCCESS_HIGH, key),
            histogram=of_name.get(key),
        )
        for key in keys
    ]
    return sorted(rows, key=lambda row: (-row.executions, row.name))
