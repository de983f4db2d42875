"""Build a curve from runs: throughput (and latency) of one system under one protocol, against clients.

Nothing unlike is ever joined: units, protocols and systems are checked, and a refusal is a sentence for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

from benchhub.analysis.protocol.digest import differing_fields, labels
from benchhub.analysis.statistics import drift, outliers, resemblance
from benchhub.analysis.statistics.drift import Start
from benchhub.analysis.statistics.spread import Spread, summarise
from benchhub.analysis.words import listing

from . import latencies
from .latencies import Histogram, Latencies


class UnlikeRunsError(ValueError):
    """Raised for runs or curves that must not be put together; the message says why."""


class UnlikeUnitsError(UnlikeRunsError):
    pass


class MixedSystemsError(UnlikeRunsError):
    pass


class DifferentProtocolsError(UnlikeRunsError):
    """`fields` names what differs; it is empty where the protocols themselves are not at hand."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = tuple(fields)
        fields_text = f" They differ in: {', '.join(labels(self.fields))}." if self.fields else ""
        super().__init__(f"Runs of different protocols are not comparable.{fields_text}")


class RunPoint(NamedTuple):
    """One measured run. `run` is its number in the warehouse; latencies are in milliseconds, None where unknown.

    `start` is None where nothing says when it ran; `place` names the server's host, whose drift its runs share.
    `source` is provenance: where an imported run comes from; empty for a run that BenchHub made. `left_out` counts the
    older runs of its level that no point stands for.
    """

    run: int
    clients: int
    throughput: float
    unit: str
    protocol_digest: str
    system_digest: str
    latency_average_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    doubts: tuple[str, ...] = ()
    histogram: Histogram | None = None
    start: Start | None = None
    place: str = ""
    source: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """All repeats at one number of clients, in the order they were given; their latencies together, where known."""

    clients: int
    runs: tuple[RunPoint, ...]
    throughput: Spread
    latencies: Latencies | None = None

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(run.throughput for run in self.runs)

    @property
    def left_out(self) -> int:
        """Count the older runs that are not among the repeats, because there are so many."""
        return max(run.left_out for run in self.runs)

    @property
    def latency_average_ms(self) -> float | None:
        """Return the median of the repeats' averages, in milliseconds; None where no average is known."""
        return self.latency.median if self.latency else None

    @property
    def latency(self) -> Spread | None:
        """Return the spread of the repeats' known average latencies in milliseconds; None if there are none.

        An average that was printed as 0.000 ms was too short to be known.
        """
        latencies_ms = [
            run.latency_average_ms
            for run in self.runs
            if run.latency_average_ms is not None and run.latency_average_ms > 0
        ]
        return summarise(latencies_ms) if latencies_ms else None

    @property
    def outlier(self) -> RunPoint | None:
        """Return the repeat that lies far from the others (outliers.RULE), or None; it stays in every figure."""
        index = outliers.outlier(self.values)
        return None if index is None else self.runs[index]

    @property
    def latency_p95_ms(self) -> float | None:
        """Return the percentile of all transactions; for a single run without a histogram, what its program printed."""
        return self.latencies.p95_ms if self.latencies else self._alone(self.runs[0].latency_p95_ms)

    @property
    def latency_p99_ms(self) -> float | None:
        """Return the 99th percentile, from the same source as the 95th."""
        return self.latencies.p99_ms if self.latencies else self._alone(self.runs[0].latency_p99_ms)

    def _alone(self, latency_ms: float | None) -> float | None:
        return latency_ms if len(self.runs) == 1 and self.runs[0].histogram is None else None

    @property
    def sources(self) -> tuple[str, ...]:
        """Return where its imported runs come from, each place once."""
        return tuple(dict.fromkeys(run.source for run in self.runs if run.source))

    @property
    def is_imported(self) -> bool:
        return bool(self.sources)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return each doubt once, in the order it first came up."""
        return tuple(dict.fromkeys(doubt for run in self.runs for doubt in run.doubts))


@dataclass(frozen=True, slots=True)
class Peak:
    """The level with the highest geometric mean. At an edge of the sweep the true peak may lie beyond what was run."""

    level: Level
    edge: Literal["", "lowest", "highest", "only"]

    @property
    def sentence(self) -> str:
        return {
            "": "",
            "only": "Only one level was run, so this need not be the peak. Run more levels.",
            "lowest": "This is the lowest level that was run: the peak may lie below it. Run fewer clients too.",
            "highest": "This is the highest level that was run: the peak may lie beyond it. Run more clients too.",
        }[self.edge]


@dataclass(frozen=True, slots=True)
class Curve:
    """Levels in rising order of clients; never empty.

    `withheld` says why its means and its peak have no intervals. Where its repeats ran in a row, nothing else that
    takes them for independent holds either.
    """

    unit: str
    protocol_digest: str
    system_digest: str
    levels: tuple[Level, ...]
    withheld: str = ""
    is_in_a_row: bool = False

    @property
    def place(self) -> str:
        return self.levels[0].runs[0].place

    @property
    def starts(self) -> list[Start]:
        return [run.start for level in self.levels for run in level.runs if run.start]

    @property
    def peak(self) -> Peak:
        """Return the level with the highest geometric mean; of equals the one with the fewest clients."""
        best = max(self.levels, key=lambda level: (level.throughput.mean, -level.clients))
        return Peak(best, self._edge(best))

    def _edge(self, level: Level) -> Literal["", "lowest", "highest", "only"]:
        if len(self.levels) == 1:
            return "only"
        if level is self.levels[-1]:
            return "highest"
        return "lowest" if level is self.levels[0] else ""


Protocols = Mapping[str, Mapping[str, Any]]


def build(points: Iterable[RunPoint], protocols: Protocols | None = None) -> Curve:
    """Join the runs of one system under one protocol. Raises UnlikeRunsError, or ValueError when there are none.

    `protocols` gives the canonical forms by digest, so that a refusal can name the differing fields.
    """
    runs = sorted(points, key=lambda point: point.clients)
    if not runs:
        raise ValueError("A curve needs a run that counts.")
    _require_one_unit({run.unit for run in runs})
    _require_one_protocol({run.protocol_digest for run in runs}, protocols or {})
    if len({run.system_digest for run in runs}) > 1:
        raise MixedSystemsError("Runs of different systems do not make one curve.")
    levels = _levels(runs)
    starts = [run.start for run in runs if run.start]
    is_in_a_row = drift.repeats_in_a_row(starts)
    withheld = drift.IN_A_ROW if is_in_a_row else _why_not_independent(levels, starts)
    if withheld:
        levels = tuple(replace(level, throughput=replace(level.throughput, interval=None)) for level in levels)
    return Curve(runs[0].unit, runs[0].protocol_digest, runs[0].system_digest, levels, withheld, is_in_a_row)


def _why_not_independent(levels: Sequence[Level], starts: Sequence[Start]) -> str:
    values = [level.values for level in levels]
    if stalls_text := resemblance.stalls_text(values):
        return stalls_text
    if outliers.is_far_off(values):
        return outliers.FAR_OFF
    return resemblance.RESEMBLES if resemblance.resembles(starts) else ""


def why_withheld(curve: Curve, other: Curve) -> str:
    """Say why the ratio of two curves has neither interval nor verdict; empty if it has them.

    Two hosts do not drift together: there the scatter of each one's repeats is all that turns could show.
    """
    if curve.place != other.place or not drift.one_after_the_other(curve.starts, other.starts):
        return ""
    return drift.NOT_IN_TURNS


def require_comparable(curves: Sequence[Curve], protocols: Protocols | None = None) -> None:
    """Raise UnlikeRunsError unless these curves, of any systems, may be drawn and compared together."""
    _require_one_unit({curve.unit for curve in curves})
    _require_one_protocol({curve.protocol_digest for curve in curves}, protocols or {})


def _levels(runs: Sequence[RunPoint]) -> tuple[Level, ...]:
    levels = []
    for clients, group in groupby(runs, key=lambda run: run.clients):
        repeats = tuple(group)
        merged = latencies.of_repeats(run.histogram for run in repeats)
        levels.append(Level(clients, repeats, summarise([run.throughput for run in repeats]), merged))
    return tuple(levels)


def _require_one_unit(units: set[str]) -> None:
    if len(units) > 1:
        raise UnlikeUnitsError(f"Throughput in {listing(sorted(units))} is not comparable: the units differ.")


def _require_one_protocol(digests: set[str], protocols: Protocols) -> None:
    if len(digests) < 2:
        return
    first, *others = [protocols.get(digest) for digest in sorted(digests)]
    fields = {name for other in others if first and other for name in differing_fields(first, other)}
    raise DifferentProtocolsError(sorted(fields))
