"""Write curves as CSV: the exact values that the page shows rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchhub.analysis.curves.curve import Level
from benchhub.ui.csv_files import csv_text

from .curves import Group, SystemCurve
from .sweeps import Sweep

COLUMNS = (
    "system", "clients", "n", "geometric_mean", "median", "arithmetic_mean", "lowest", "highest", "unit",
    "latency_average_ms",
    "latency_p95_ms", "latency_p99_ms", "latency_samples", "runs", "doubts", "protocol_digest", "system_digest",
    "sd", "low", "high", "low_to_high_is", "outlier_run", "provenance",
    "left_out",
)  # fmt: skip

OFFERED = (
    "run", "offered_tps", "achieved_tps", "transactions", "late", "skipped", "late_share", "latency_average_ms",
    "latency_p95_ms", "latency_p99_ms", "lag_average_ms", "left_out",
)  # fmt: skip


def experiment_csv(sweeps: Sequence[Sweep], groups: Iterable[Group]) -> str:
    """Write the runs of an open loop where there are any, otherwise the curves."""
    return sweeps_csv(sweeps) if sweeps else curves_csv(groups)


def curves_csv(groups: Iterable[Group]) -> str:
    curves = [system_curve for group in groups for system_curve in group.curves]
    return csv_text(COLUMNS, (_row(curve, level) for curve in curves for level in curve.curve.levels))


def sweeps_csv(sweeps: Iterable[Sweep]) -> str:
    """Write a line per run of an open loop; latencies include the schedule lag."""
    return csv_text(("system", "limit_ms", "is_held", *OFFERED), _runs(sweeps))


def _runs(sweeps: Iterable[Sweep]) -> Iterator[Sequence[Any]]:
    for sweep in sweeps:
        for run in (run for rate in sweep.rates for run in rate.runs):
            yield (sweep.system.label, sweep.limit_ms, not run.failing, *(getattr(run, name) for name in OFFERED))


def provenance(level: Level) -> str:
    """Say where the numbers of a level come from."""
    return f"imported from {'; '.join(level.sources)}" if level.is_imported else "measured by BenchHub"


def _row(system_curve: SystemCurve, level: Level) -> list[Any]:
    spread = level.throughput
    return [
        system_curve.system.label,
        level.clients,
        spread.n,
        spread.mean,
        spread.median,
        spread.arithmetic_mean,
        spread.lowest,
        spread.highest,
        system_curve.curve.unit,
        level.latency_average_ms,
        level.latency_p95_ms,
        level.latency_p99_ms,
        level.latencies.samples if level.latencies else None,
        " ".join(str(run.run) for run in level.runs),
        " ".join(level.doubts),
        system_curve.curve.protocol_digest,
        system_curve.curve.system_digest,
        spread.sd,
        spread.low if spread.n > 1 else None,
        spread.high if spread.n > 1 else None,
        spread.kind if spread.n > 1 else "",
        level.outlier.run if level.outlier else None,
        provenance(level),
        level.left_out,
    ]
