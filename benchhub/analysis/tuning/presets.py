"""Steps to start a tuning series from: those of published reports, and rules of thumb, scaled to a host's memory.

A preset is a line of PRESETS: what its steps set, as parts of the memory or as they are. Nothing here is a
recommendation: the series measures what each step is worth on this host, under this load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from .treatments import ALONE, CUMULATIVE, Environment, Kind, Step

MIB = 1024**2
HUGE_PAGE_BYTES = 2 * MIB  # of nearly every machine
LEAST_MEMORY_BYTES = 256 * MIB


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the host's memory, at most so many bytes: written in whole MB, rounded down."""

    part: Fraction
    most_bytes: int | None = None

    def text(self, memory_bytes: int) -> str:
        size_bytes = int(memory_bytes * self.part)
        return f"{max(1, min(size_bytes, self.most_bytes or size_bytes) // MIB)}MB"


@dataclass(frozen=True, slots=True)
class HugePages:
    """A part of the host's memory set aside in huge pages: their number, rounded down."""

    part: Fraction

    def text(self, memory_bytes: int) -> str:
        return str(int(memory_bytes * self.part) // HUGE_PAGE_BYTES)


Value = Share | HugePages | str
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class PresetStep:
    """What a step sets in the server and in the operating system."""

    settings: Values = field(default_factory=dict)
    os_settings: Values = field(default_factory=dict)

    def scaled(self, memory_bytes: int) -> Environment:
        return Environment(_texts(self.settings, memory_bytes), _texts(self.os_settings, memory_bytes))


@dataclass(frozen=True, slots=True)
class Preset:
    """Steps by their names, how they are combined, and in a sentence where they come from."""

    title: str
    source: str
    kind: Kind
    steps: Mapping[str, PresetStep]

    def scaled(self, memory_bytes: int) -> list[Step]:
        """Return the steps for a host of so many bytes of memory. Raises ValueError where that is too little."""
        if memory_bytes < LEAST_MEMORY_BYTES:
            raise ValueError("The host has too little memory for steps that are parts of it: 256 MB at least.")
        return [Step(name, step.scaled(memory_bytes)) for name, step in self.steps.items()]


def _texts(values: Values, memory_bytes: int) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value.text(memory_bytes) for name, value in values.items()}


def _part(numerator: int, denominator: int, most_bytes: int | None = None) -> Share:
    return Share(Fraction(numerator, denominator), most_bytes)


GB = 1024 * MIB
MEMORY = PresetStep({"shared_buffers": _part(1, 4), "effective_cache_size": _part(3, 4)})
READ_AHEAD = PresetStep(os_settings={"read_ahead_kb": "4096"})
DIRTY_PAGES = PresetStep(os_settings={"vm.dirty_background_bytes": "67108864", "vm.dirty_bytes": "536870912"})


def _huge_pages(numerator: int, denominator: int) -> PresetStep:
    pages = HugePages(Fraction(numerator, denominator))
    return PresetStep(os_settings={"vm.nr_hugepages": pages, "transparent_hugepage": "never"})


PRESETS: Mapping[str, Preset] = {
    "report-c": Preset(
        "Report C, in its order",
        "PostgreSQL on IBM Z (64 GB): memory in the same parts. It names no size of read-ahead: 4 MB stands for it.",
        CUMULATIVE,
        {
            "memory": MEMORY,
            "no autovacuum": PresetStep({"autovacuum": "off"}),
            "read-ahead": READ_AHEAD,
            "huge pages": _huge_pages(17, 64),
            "migration cost": PresetStep(os_settings={"kernel.sched_migration_cost_ns": "50000"}),
            "dirty pages": DIRTY_PAGES,
            "checkpoints and WAL": PresetStep(
                {
                    "checkpoint_completion_target": "0.9",
                    "max_wal_size": _part(1, 4, 16 * GB),
                    "wal_buffers": "16MB",
                }
            ),
            "commits that may be lost": PresetStep({"synchronous_commit": "off"}),
        },
    ),
    "report-a": Preset(
        "Report A: the server, then its tuned profile",
        "PostgresPURE on POWER8 (256 GB): memory in the same parts, the rest as printed. Of its profile "
        "throughput-performance what differs from the kernel's defaults.",
        CUMULATIVE,
        {
            "report A": PresetStep(
                {
                    "max_connections": "300",
                    "shared_buffers": _part(50, 256),
                    "effective_cache_size": _part(150, 256),
                    "work_mem": _part(1, 3072),  # 87381kB of 256 GB
                    "maintenance_work_mem": _part(2, 256, 2 * GB),
                    "checkpoint_completion_target": "0.9",
                    "wal_buffers": "16MB",
                    "default_statistics_target": "100",
                }
            ),
            "throughput-performance": PresetStep(
                os_settings={
                    "vm.dirty_ratio": "40",
                    "vm.dirty_background_ratio": "10",
                    "vm.swappiness": "10",
                    "kernel.sched_autogroup_enabled": "0",
                }
            ),
        },
    ),
    "report-b": Preset(
        "Report B, all at once",
        "PostgreSQL on POWER8 (128 GB): memory in the same parts, the rest as printed.",
        CUMULATIVE,
        {
            "report B": PresetStep(
                {
                    "shared_buffers": _part(32, 128),
                    "work_mem": "10MB",
                    "max_wal_size": "768MB",
                    "checkpoint_timeout": "30min",
                    "max_connections": "510",
                }
            )
        },
    ),
    "shared-buffers": Preset(
        "shared_buffers, from 1/16 to 1/2",
        "One setting in five sizes, each alone: how much memory PostgreSQL should keep for itself.",
        ALONE,
        {
            f"{part} of memory": PresetStep({"shared_buffers": Share(Fraction(part))})
            for part in ("1/16", "1/8", "1/4", "3/8", "1/2")
        },
    ),
    "usual-rules": Preset(
        "Usual rules of thumb",
        "What is usually set first, step by step: memory, WAL, checkpoints, parallel vacuum.",
        CUMULATIVE,
        {
            "memory": MEMORY,
            "WAL": PresetStep({"max_wal_size": _part(1, 4, 16 * GB), "wal_compression": "on"}),
            "checkpoints": PresetStep({"checkpoint_timeout": "15min", "checkpoint_completion_target": "0.9"}),
            "maintenance": PresetStep({"maintenance_work_mem": _part(1, 16, 2 * GB)}),
        },
    ),
    "usual-os-rules": Preset(
        "Usual rules for the operating system",
        "Huge pages for a quarter of the memory and a little more, then what is written late, swapped and read ahead.",
        CUMULATIVE,
        {
            "memory": MEMORY,
            "huge pages": _huge_pages(3, 10),
            "dirty pages": DIRTY_PAGES,
            "swapping": PresetStep(os_settings={"vm.swappiness": "1"}),
            "read-ahead": READ_AHEAD,
        },
    ),
}
