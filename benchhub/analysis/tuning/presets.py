"""Steps to start a tuning series from: those of published reports, and rules of thumb, scaled to a host's memory.

A preset is a line of PRESETS: what its steps set, as parts of the memory or as they are. Nothing here is a
recommendation: the series measures what each step is worth on this host, under this load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .treatments import ALONE, CUMULATIVE, Kind, Step

MIB = 1024**2
LEAST_MEMORY_BYTES = 256 * MIB


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the host's memory, at most so many bytes: written in whole MB, rounded down."""

    part: Fraction
    most_bytes: int | None = None

    def text(self, memory_bytes: int) -> str:
        size_bytes = int(memory_bytes * self.part)
        return f"{max(1, min(size_bytes, self.most_bytes or size_bytes) // MIB)}MB"


Value = Share | str


@dataclass(frozen=True, slots=True)
class Preset:
    """Steps by their names, how they are combined, and in a sentence where they come from."""

    title: str
    source: str
    kind: Kind
    steps: Mapping[str, Mapping[str, Value]]

    def scaled(self, memory_bytes: int) -> list[Step]:
        """Return the steps for a host of so many bytes of memory. Raises ValueError where that is too little."""
        if memory_bytes < LEAST_MEMORY_BYTES:
            raise ValueError("The host has too little memory for steps that are parts of it: 256 MB at least.")
        return [Step(name, _texts(values, memory_bytes)) for name, values in self.steps.items()]


def _texts(values: Mapping[str, Value], memory_bytes: int) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value.text(memory_bytes) for name, value in values.items()}


def _part(numerator: int, denominator: int, most_bytes: int | None = None) -> Share:
    return Share(Fraction(numerator, denominator), most_bytes)


GB = 1024 * MIB
PRESETS: Mapping[str, Preset] = {
    "report-c": Preset(
        "Report C, in its order",
        "PostgreSQL on IBM Z (64 GB): its server settings. Its steps on the operating system are not among them.",
        CUMULATIVE,
        {
            "memory": {"shared_buffers": _part(1, 4), "effective_cache_size": _part(3, 4)},
            "no autovacuum": {"autovacuum": "off"},
            "checkpoints and WAL": {
                "checkpoint_completion_target": "0.9",
                "max_wal_size": _part(1, 4, 16 * GB),
                "wal_buffers": "16MB",
            },
            "commits that may be lost": {"synchronous_commit": "off"},
        },
    ),
    "report-a": Preset(
        "Report A, all at once",
        "PostgresPURE on POWER8 (256 GB): memory in the same parts, the rest as printed.",
        CUMULATIVE,
        {
            "report A": {
                "max_connections": "300",
                "shared_buffers": _part(50, 256),
                "effective_cache_size": _part(150, 256),
                "maintenance_work_mem": _part(2, 256, 2 * GB),
                "checkpoint_completion_target": "0.9",
                "wal_buffers": "16MB",
                "default_statistics_target": "100",
            }
        },
    ),
    "report-b": Preset(
        "Report B, all at once",
        "PostgreSQL on POWER8 (128 GB): memory in the same parts, the rest as printed.",
        CUMULATIVE,
        {
            "report B": {
                "shared_buffers": _part(32, 128),
                "work_mem": "10MB",
                "max_wal_size": "768MB",
                "checkpoint_timeout": "30min",
                "max_connections": "510",
            }
        },
    ),
    "shared-buffers": Preset(
        "shared_buffers, from 1/16 to 1/2",
        "One setting in five sizes, each alone: how much memory PostgreSQL should keep for itself.",
        ALONE,
        {
            f"{part} of memory": {"shared_buffers": Share(Fraction(part))}
            for part in ("1/16", "1/8", "1/4", "3/8", "1/2")
        },
    ),
    "usual-rules": Preset(
        "Usual rules of thumb",
        "What is usually set first, step by step: memory, WAL, checkpoints, parallel vacuum.",
        CUMULATIVE,
        {
            "memory": {"shared_buffers": _part(1, 4), "effective_cache_size": _part(3, 4)},
            "WAL": {"max_wal_size": _part(1, 4, 16 * GB), "wal_compression": "on"},
            "checkpoints": {"checkpoint_timeout": "15min", "checkpoint_completion_target": "0.9"},
            "maintenance": {"maintenance_work_mem": _part(1, 16, 2 * GB)},
        },
    ),
}
