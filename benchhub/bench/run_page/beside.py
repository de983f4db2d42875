"""Other runs beside a run: on one axis from the start of each load, and what differs between their environments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from benchhub.analysis.protocol.differences import Difference, differences
from benchhub.bench.models import Found, Run, RunTelemetry, Series
from benchhub.ui.listing import row_number

from .settings import environment_sections, setting_rows
from .timeline.panels import Source, ghost

MOST_BESIDE = 4
# They change from one moment to the next without anything having been changed.
MOMENTARY = ("mhz", "bogomips", "free", "epoch", "boot", "uptime", "load average", "available")
MOMENTS = ("Server, time", "Server, postmaster start")
BUSY = ("cpu_user", "cpu_system")


def numbers_in(text: str) -> list[int]:
    """Return the numbers of runs in '12, 13', each once and no more than so many; what is none is left out."""
    numbers = (row_number(part.strip()) for part in text[:200].split(","))
    return list(dict.fromkeys(number for number in numbers if number))[:MOST_BESIDE]


def runs_beside(run: Run, numbers: Sequence[int]) -> list[Run]:
    """Return the runs of these numbers that are there, in their order, with the facts found around them."""
    rows = Run.objects.select_related(
        "system__build", "system__hardware", "system__configuration", "found", "telemetry_import"
    )
    by_number = rows.exclude(pk=run.pk).in_bulk(numbers)
    return [by_number[number] for number in numbers if number in by_number]


def sources(runs: Sequence[Run]) -> list[Source]:
    """Return throughput, latency and busy CPU of the runs, in two queries; each begins with its own load."""
    series: dict[int, list[Series]] = defaultdict(list)
    for row in Series.objects.filter(run__in=runs).order_by("metric"):
        series[row.run_id].append(row)
    cpu: dict[int, list[RunTelemetry]] = defaultdict(list)
    for part in RunTelemetry.objects.filter(run__in=runs, metric__in=BUSY):
        cpu[part.run_id].append(part)
    return [
        source
        for run in runs
        for source in (
            *(replace(line, is_ghost=False) for line in ghost(f"run {run.pk}", series[run.pk])),
            *_busy(_busy_name(run), cpu[run.pk]),
        )
    ]


def _busy_name(run: Run) -> str:
    """Name the line of a run's busy CPU, with its source where that is not BenchHub."""
    source = getattr(run, "telemetry_import", None)
    return f"run {run.pk} busy" + (f", by {source.source_text}" if source else "")


def _busy(name: str, rows: Iterable[RunTelemetry]) -> list[Source]:
    """Return the CPU at work, user and system together; nothing where it was not observed or is damaged."""
    try:
        parts = [(row.step_s, row.values) for row in rows]
    except ValueError:
        return []
    if len(parts) != len(BUSY):
        return []
    pairs = zip(parts[0][1], parts[1][1], strict=False)
    values = [None if None in pair else sum(value for value in pair if value is not None) for pair in pairs]
    return [Source("CPU", "%", name, parts[0][0], values)]


def environment_differences(runs: Sequence[Run]) -> list[Difference]:
    """Return what differs between the environments of the runs: system first, then settings, server and hosts."""
    return differences([_environment(run) for run in runs])


def _environment(run: Run) -> Mapping[str, str]:
    system = run.system
    facts = {
        "Build": str(system.build),
        "Hardware": str(system.hardware),
        "Configuration": str(system.configuration),
        "Connection path": system.get_path_display(),
    }
    row: Found | None = getattr(run, "found", None)
    if row is None:
        return facts
    facts |= {setting.name: str(setting.value) for setting in setting_rows(row.settings)}
    for part in environment_sections(row):
        facts |= {f"{part.name}, {fact.name}": f"{fact.value} {fact.unit}".strip() for fact in part.facts}
    return {name: value for name, value in facts.items() if not _is_momentary(name)}


def _is_momentary(name: str) -> bool:
    return name in MOMENTS or any(word in name.lower() for word in MOMENTARY)
