"""Transactions by type, for load generators that tell them apart: how often each ran and succeeded, and how fast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.bench.models import LatencyHistogram
from runners import tools
from runners.contract import EXECUTIONS, SUCCESS, SUCCESS_HIGH, SUCCESS_LOW

NORMAL_95 = 1.96
PER_TYPE = (EXECUTIONS, SUCCESS_LOW, SUCCESS_HIGH, SUCCESS)


@dataclass(frozen=True, slots=True)
class Type:
    """One type; shares in percent, None where nothing is known. `histogram` has only what counts.

    `is_estimate`: its executions are the share of a sampled log.
    """

    name: str
    executions: float
    success: float | None
    lowest: float | None
    highest: float | None
    histogram: LatencyHistogram | None
    is_estimate: bool = False

    @property
    def executions_known(self) -> float:
        """Return the executions; an estimate is rounded to the digits that its logged transactions leave sure (95%)."""
        logged = sum(self.histogram.counts) if self.histogram else 0
        if not self.is_estimate or not self.executions:
            return self.executions
        error = NORMAL_95 * self.executions / math.sqrt(max(NORMAL_95**2, logged))
        return float(round(self.executions, -math.floor(math.log10(error))))

    @property
    def is_doubtful(self) -> bool:
        if self.success is None or self.lowest is None or self.highest is None:
            return False
        return not self.lowest <= self.success <= self.highest


def is_per_type(measure: str) -> bool:
    return measure.startswith(PER_TYPE)


def logged_share(histograms: Sequence[LatencyHistogram], spec: Mapping[str, Any]) -> float:
    """Return the share of transactions that were logged; as planned where nothing is left of a log."""
    return histograms[0].sampling_rate if histograms else float(spec.get("log_sampling_rate", 1))


def types(measures: Mapping[str, Any], histograms: Sequence[LatencyHistogram], spec: Mapping[str, Any]) -> list[Type]:
    """Return the types, the most executed first; none for a load generator that does not tell types apart."""
    exact_types = tools.get(spec["tool"]).counted_transactions
    by_name = {histogram.name.lower(): histogram for histogram in histograms}
    keys = [name.removeprefix(EXECUTIONS) for name in measures if name.startswith(EXECUTIONS)]

    def value(prefix: str, key: str) -> float | None:
        measure = measures.get(prefix + key)
        return None if measure is None else float(measure["value"])

    rows = [
        Type(
            name=key.upper(),
            executions=value(EXECUTIONS, key) or 0.0,
            success=value(SUCCESS, key),
            lowest=value(SUCCESS_LOW, key),
            highest=value(SUCCESS_HIGH, key),
            histogram=by_name.get(key),
            is_estimate=logged_share(histograms, spec) < 1 and key.upper() not in exact_types,
        )
        for key in keys
    ]
    return sorted(rows, key=lambda row: (-row.executions, row.name))
