"""What a comparison shows: curves side by side, their ratios to a baseline, what differs, and what is doubtful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.utils.html import strip_tags

from benchhub.analysis.curves import curve, ratio
from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.ratio import Claim, Ratio
from benchhub.analysis.protocol.digest import PROTOCOL_DEFAULTS, labels
from benchhub.analysis.words import significant
from benchhub.bench.models import Experiment, ExperimentSystem, Run
from benchhub.reports.curves import curves, peaks
from benchhub.reports.curves.curves import UNKNOWN, SystemCurve
from benchhub.reports.curves.latencies import Known
from benchhub.ui.numbers import size
from runners.tools.tatp.parameters import UNIFORM

NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One curve of a comparison. `key` names it in the address, `label` tells it from the others."""

    key: str
    experiment: Experiment
    of: SystemCurve
    runs: tuple[Run, ...]

    @property
    def label(self) -> str:
        return self.of.system.label


@dataclass(frozen=True, slots=True)
class Cell:
    """A curve at one level; no ratio where the baseline has no run there."""

    of: Chosen
    level: Level
    ratio: Ratio | None
    is_best: bool
    is_baseline: bool

    @property
    def times(self) -> str:
        """1.12x, 1.08 to 1.16; without a range where no side was repeated, and where it is withheld."""
        if self.ratio is None:
            return ""
        bounds = self.ratio.bounds
        return ratio.times(self.ratio.value) + (f", {ratio.between(bounds, ' to ')}" if bounds else "")

    @property
    def unsure(self) -> str:
        """What is said where the ratio tells nothing apart."""
        if self.is_baseline or self.ratio is None or not self.ratio.overlaps:
            return ""
        if self.ratio.withheld:
            return "no verdict"
        return "not told apart" if self.ratio.is_tested else "overlap"


@dataclass(frozen=True, slots=True)
class Side:
    """One field, with its value in each curve."""

    name: str
    values: tuple[Any, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def key_of(row: ExperimentSystem) -> str:
    return f"{row.experiment_id}-{row.system_id}"


def choose(
    rows: Sequence[ExperimentSystem], runs: Sequence[Run], known: Known = UNKNOWN
) -> tuple[list[Chosen], list[str]]:
    """The curves of these rows, and a sentence for each that is none; `known` are the latencies of the runs."""
    found: list[Chosen] = []
    problems: list[str] = []
    for row, label in zip(rows, _labels(rows), strict=True):
        own = [run for run in runs if (run.experiment_id, run.system_id) == (row.experiment_id, row.system_id)]
        points = [curves.point(run, known) for run in own if curves.is_point(run, run.protocol_id)]
        try:
            built = curve.build(points)
        except ValueError as error:
            problems.append(f"{label} of '{row.experiment}' is left out: {error}")
            continue
        found.append(Chosen(key_of(row), row.experiment, _drawn(row, label, len(found), built), tuple(own)))
    return found, problems


def _drawn(row: ExperimentSystem, label: str, series: int, built: curve.Curve) -> SystemCurve:
    """The system under the label it has in this comparison; the copy is never saved."""
    system = copy(row.system)
    system.label = label
    return SystemCurve(system, series, built, planned=tuple(row.experiment.client_levels))


def _labels(rows: Sequence[ExperimentSystem]) -> list[str]:
    """As short as tells all of them apart."""
    forms = (
        [row.system.label for row in rows],
        [f"{row.system.label}, {row.system.configuration}" for row in rows],
        [f"{row.system.label}, {row.experiment}" for row in rows],
    )
    distinct = (form for form in forms if len(set(form)) == len(form))
    found = next(distinct, [f"{row.system.label}, {row.experiment} ({key_of(row)})" for row in rows])
    return [f"{label}{keys}" for label, keys in zip(found, _keys(rows), strict=True)]


def _keys(rows: Sequence[ExperimentSystem]) -> list[str]:
    """Uniform keys of TATP are another workload: marked wherever they stand beside those of the definition."""
    is_uniform = [row.experiment.workload.parameters.get("keys") == UNIFORM for row in rows]
    return [", uniform keys" if one and not all(is_uniform) else "" for one in is_uniform]


def groups(chosen: Sequence[Chosen]) -> list[list[Chosen]]:
    """What may be compared: curves of one protocol and one unit, the largest group first."""
    by: dict[tuple[str, str], list[Chosen]] = {}
    for one in chosen:
        by.setdefault((one.of.curve.protocol_digest, one.of.curve.unit), []).append(one)
    return sorted(by.values(), key=len, reverse=True)


def refusal(groups: Sequence[Sequence[Chosen]], forms: Mapping[str, Mapping[str, Any]]) -> str:
    """Why these groups are not set beside each other; empty if they may be."""
    try:
        curve.require_comparable([group[0].of.curve for group in groups], forms)
    except curve.UnlikeRunsError as error:
        return str(error)
    return ""


def differing(groups: Sequence[Sequence[Chosen]], forms: Mapping[str, Mapping[str, Any]]) -> list[Side]:
    """The fields of protocol and unit in which groups differ, with the value in each group."""
    protocols = [forms.get(group[0].of.curve.protocol_digest, {}) for group in groups]
    names = curves.differences(protocols)
    values = [tuple(asked(name, form.get(name)) for form in protocols) for name in names]
    sides = [Side(label, value) for label, value in zip(labels(names), values, strict=True)]
    units = Side("unit", tuple(group[0].of.curve.unit for group in groups))
    return [*sides, units] if units.differs else sides


def asked(name: str, value: Any) -> str:
    """A field of a protocol as text; what is left out of its form holds its default."""
    value = PROTOCOL_DEFAULTS.get(name) if value is None else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value} s" if name.endswith("_s") and value is not None else _text(value)


def levels(chosen: Sequence[Chosen], baseline: Chosen) -> list[tuple[int, list[Cell | None]]]:
    """(clients, a cell for each curve or None) in rising order of clients. All curves must be comparable."""
    ratios = [ratio.by_level(one.of.curve, baseline.of.curve) for one in chosen]
    by_clients = [{level.clients: level for level in one.of.curve.levels} for one in chosen]
    table = []
    for clients in sorted({clients for known in by_clients for clients in known}):
        medians = [known[clients].throughput.median for known in by_clients if clients in known]
        best = max(medians) if len(medians) > 1 else None
        cells = [
            Cell(one, level, own.get(clients), level.throughput.median == best, one is baseline)
            if (level := known.get(clients))
            else None
            for one, known, own in zip(chosen, by_clients, ratios, strict=True)
        ]
        table.append((clients, cells))
    return table


def sentences(one: Chosen, baseline: Chosen) -> list[str]:
    return list(map(str, claims(one, baseline)))


def claims(one: Chosen, baseline: Chosen) -> list[Claim]:
    """What was found of a curve against the baseline, the plainest first."""
    by_level = ratio.by_level(one.of.curve, baseline.of.curve)
    at = _best_together(one, baseline, by_level)
    said = []
    if at:
        said.append(ratio.claim(by_level[at], one.label, baseline.label, f"at {_clients(at)}"))
    peaks_at = {one.of.curve.peak.level.clients, baseline.of.curve.peak.level.clients}
    if unbiased := peaks.claim(one.of.curve, baseline.of.curve, one.label, baseline.label):
        said.append(unbiased)
    elif peaks_at != {at}:
        said.append(_at_the_peaks(one, baseline))
    if len(by_level) > 1:
        said.append(Claim("", _over_the_levels(by_level)))
    return said


def _best_together(one: Chosen, baseline: Chosen, by_level: Mapping[int, Ratio]) -> int:
    """The level with the highest median of both together, 0 for none.

    The best level of one side alone would flatter that side, because its noise helped to choose it.
    """
    medians = [
        {level.clients: level.throughput.median for level in of.of.curve.levels if level.clients in by_level}
        for of in (one, baseline)
    ]
    return max(by_level, key=lambda clients: (medians[0][clients] * medians[1][clients], -clients), default=0)


def _at_the_peaks(one: Chosen, baseline: Chosen) -> Claim:
    ours, theirs = one.of.curve.peak.level, baseline.of.curve.peak.level
    unit = one.of.curve.unit
    measured = ratio.of(ours.values, theirs.values, unit, baseline.of.curve.unit)
    found = ratio.without_bounds(measured, curve.why_withheld(one.of.curve, baseline.of.curve))
    where = f"at their peaks, {_clients(ours.clients)} against {theirs.clients:,}"
    return ratio.claim(found, one.label, baseline.label, where)


def _over_the_levels(by_level: Mapping[int, Ratio]) -> str:
    least = min(by_level, key=lambda clients: by_level[clients].value)
    most = max(by_level, key=lambda clients: by_level[clients].value)
    bounds = [f"{ratio.times(by_level[clients].value)} at {_clients(clients)}" for clients in (least, most)]
    said = f"Over the {len(by_level)} levels that both ran, the ratio goes from {bounds[0]} to {bounds[1]}"
    if not any(found.has_spread for found in by_level.values()):
        return f"{said}."
    apart = sum(found.has_spread and not found.overlaps for found in by_level.values())
    if all(found.is_tested for found in by_level.values()):
        return f"{said}; it tells the two apart at {apart or 'none'} of them."
    return f"{said}; the ranges of repeats lie apart at {apart or 'none'} of them."


def alone(one: Chosen, *, is_read_only: bool = False) -> str:
    """The sentence of a comparison with one curve; where nothing can be added, none asks to."""
    level = one.of.curve.peak.level
    median = significant(level.throughput.median, level.throughput.digits)
    peak = f"{one.label} reaches {median} {one.of.curve.unit} at {_clients(level.clients)}, its best level"
    return f"{peak}." if is_read_only else f"{peak}. Add a second curve to compare it with."


def hardware(chosen: Sequence[Chosen]) -> list[Side]:
    bought = [one.of.system.hardware for one in chosen]
    rows: dict[str, list[Any]] = {
        "Machine": [str(machine) for machine in bought],
        "Sockets": [machine.sockets for machine in bought],
        "Cores per socket": [machine.cores_per_socket for machine in bought],
        "Cores": [machine.cores for machine in bought],
        "Threads per core": [machine.threads_per_core for machine in bought],
        "Clock": ["" if m.clock_ghz is None else f"{m.clock_ghz.normalize():f} GHz" for m in bought],
        "Memory": ["" if m.memory_bytes is None else strip_tags(size(m.memory_bytes)) for m in bought],
        "Disks": [machine.disks for machine in bought],
    }
    return [Side(name, tuple(values)) for name, values in rows.items() if any(values)]


def nothing_asked(bought: Sequence[Side]) -> str:
    """What is left to say where nothing that was asked differs; `bought` are the fields of hardware."""
    if named := [side.name.lower() for side in bought if side.differs]:
        return f"Nothing that was asked of these systems differs but the hardware, as bought: {', '.join(named)}."
    return (
        "Nothing that was asked of these systems differs. What the curves still differ by is noise, "
        "or what was not asked for."
    )


def system_differences(chosen: Sequence[Chosen]) -> list[Side]:
    """What was asked of the systems and is not the same for all; hardware has a table of its own."""
    forms = [flat(one.of.system.description) for one in chosen]
    names = Counter(name for form in forms for name in form)
    sides = [Side(name, tuple(form.get(name, NOT_SET) for form in forms)) for name in names]
    return [side for side in sides if side.differs]


def flat(form: Mapping[str, Any]) -> dict[str, str]:
    """{'settings': {'fsync': 'on'}} as {'fsync': 'on'}; other groups keep their name before the field's."""
    flat: dict[str, str] = {}
    for name, value in form.items():
        if name in ("version", "kind", "hardware"):
            continue
        if isinstance(value, Mapping):
            prefix = "" if name in ("settings", "os_settings") else f"{name} "
            flat.update({f"{prefix}{inner}": _text(inner_value) for inner, inner_value in value.items()})
        else:
            flat[name] = _text(value)
    return flat


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_inner(inner)}" for name, inner in value.items()) or "default"
    return "default" if value is None else str(value)


def _inner(value: Any) -> str:
    """A mapping within one, such as the weights of a mix, or custom scripts with theirs."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {inner}' for name, inner in value.items())})"
    return "; ".join(map(_inner, value)) if isinstance(value, list) else str(value)


def _clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count:,} clients"
