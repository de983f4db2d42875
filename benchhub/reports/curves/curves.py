"""Curves of an experiment's runs that may be drawn together, and the sentences where they may not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import Curve, RunPoint
from benchhub.analysis.protocol.digest import differing_fields
from benchhub.analysis.statistics.drift import Start
from benchhub.bench.models import System

from .latencies import HistogramByRun
from .runs import CurveRun

UNKNOWN: HistogramByRun = {}
OFFERED = (
    "Its workload offers transactions at rates of its own, so its throughput is that of the plan: it has no curve, "
    "peak, price or place. Its runs have the response times."
)


@dataclass(frozen=True, slots=True)
class SystemCurve:
    """One system's curve. `series` is the system's place in the experiment: its colour, marker and dash.

    `aside` are the runs that a person set aside: they are drawn crossed out, and are part of nothing else.
    `planned` are the numbers of clients that its plan asks for, whether or not they were run yet.
    """

    system: System
    series: int
    curve: Curve
    aside: tuple[RunPoint, ...] = ()
    planned: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return self.system.label

    @property
    def sources(self) -> tuple[str, ...]:
        """Return where its imported runs come from, each place once."""
        return tuple(dict.fromkeys(source for level in self.curve.levels for source in level.sources))

    @property
    def is_imported(self) -> bool:
        return bool(self.sources)


@dataclass(frozen=True, slots=True)
class Group:
    """The curves of one protocol. `refusal` says why nothing is drawn; then there are no curves."""

    number: int
    protocol_digest: str
    curves: tuple[SystemCurve, ...]
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned of an experiment's curves: their protocols by digest in its order, and their levels."""

    protocols: Sequence[str]
    levels: tuple[int, ...]


def groups(
    plan: Plan, runs: Sequence[CurveRun], systems: Sequence[System], histograms: HistogramByRun = UNKNOWN
) -> list[Group]:
    """Return a group for each planned protocol; different protocols never share one.

    `histograms` are the latencies of the runs. Open loops have no group: their axis is the offered rate
    (sweeps.py).
    """
    by_system: dict[int, list[CurveRun]] = {}
    for run in runs:
        by_system.setdefault(run.system_id, []).append(run)
    own_runs = [(system, by_system.get(system.pk, [])) for system in systems]
    return [
        _group(number, digest, plan.levels, own_runs, histograms)
        for number, digest in enumerate(plan.protocols, start=1)
    ]


def differences(protocols: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the fields in which any of the protocols differ."""
    first, *others = protocols
    return sorted({name for other in others for name in differing_fields(first, other)})


def _group(
    number: int,
    digest: str,
    levels: tuple[int, ...],
    own_runs: Sequence[tuple[System, Sequence[CurveRun]]],
    histograms: HistogramByRun,
) -> Group:
    try:
        curves = tuple(
            SystemCurve(system, series, curve.build(points), aside(runs, system, digest), levels)
            for series, (system, runs) in enumerate(own_runs)
            if (points := [point(run, system, histograms) for run in runs if is_point(run, digest)])
        )
        curve.require_comparable([system_curve.curve for system_curve in curves])
    except curve.UnlikeRunsError as error:
        return Group(number, digest, (), str(error))
    return Group(number, digest, curves)


def kinds(system_curves: Iterable[SystemCurve]) -> list[str]:
    """Return the kinds of spread that the levels show: the range of repeats, an interval, both or none."""
    spreads = [level.throughput for system_curve in system_curves for level in system_curve.curve.levels]
    return sorted({spread.kind for spread in spreads if spread.n > 1})


def aside(runs: Sequence[CurveRun], system: System, protocol_digest: str) -> tuple[RunPoint, ...]:
    """Return the runs of the system under this protocol that would be points, had nobody set them aside."""
    own_runs = [run for run in runs if run.protocol_id == protocol_digest]
    return tuple(point(run, system) for run in own_runs if run.set_aside_at and run.has_result)


def is_point(run: CurveRun, protocol_digest: str) -> bool:
    """Tell whether a run is a point of this protocol: it measured, ended well, and counts."""
    return run.protocol_id == protocol_digest and run.is_measured


def point(run: CurveRun, system: System, histograms: HistogramByRun = UNKNOWN) -> RunPoint:
    """Return the point of a run that has a result."""
    assert run.throughput is not None
    instance = system.instance
    return RunPoint(
        run=run.pk,
        clients=run.clients,
        throughput=run.throughput,
        unit=run.unit,
        protocol_digest=run.protocol_id,
        system_digest=system.digest,
        latency_average_ms=run.latency_average_ms,
        latency_p95_ms=run.latency_p95_ms,
        latency_p99_ms=run.latency_p99_ms,
        doubts=tuple(doubt.text for doubt in run.doubts) if run.doubts else (),
        histogram=histograms.get(run.pk),
        start=_start(run, run.throughput),
        place=f"host {instance.host_id}" if instance.host_id else f"instance {instance.pk}",
        source=(run.source or "an unnamed source") if run.is_imported else "",
        left_out=run.left_out,
    )


def _start(run: CurveRun, throughput: float) -> Start | None:
    return None if run.started_s is None else Start(run.started_s, run.expected_s, run.clients, throughput)
