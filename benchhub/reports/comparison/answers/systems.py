"""Compared systems field by field: the hardware, and what else was asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import strip_tags

from benchhub.analysis.protocol.digest import PROTOCOL_DEFAULTS
from benchhub.analysis.tuning.treatments import Layer
from benchhub.reports.comparison.entries import Entry
from benchhub.ui.numbers import size

NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Side:
    """One field, with its value in each curve."""

    name: str
    values: tuple[Any, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class Change:
    """A field that a step changes; a side that was not asked for reads 'not set'. Of a setting `layer` says whose."""

    name: str
    before: str
    after: str
    layer: Layer | None = None

    def __str__(self) -> str:
        if self.is_one_sided:
            return f"{self.name} {self.after}, {self.before} before"
        return f"{self.name} {self.before} to {self.after}"

    @property
    def is_one_sided(self) -> bool:
        return NOT_SET in (self.before, self.after)


def hardware(entries: Iterable[Entry]) -> list[Side]:
    """Return the fields of the machines as bought, without those that are empty for all."""
    systems = [entry.system for entry in entries]
    machines, poolers = [system.hardware for system in systems], [system.pooler_hardware for system in systems]
    fields: dict[str, list[Any]] = {
        "Machine": [str(machine) for machine in machines],
        "Sockets": [machine.sockets for machine in machines],
        "Cores per socket": [machine.socket_cores_text for machine in machines],
        "Cores": [machine.cores for machine in machines],
        "Threads per core": [machine.threads_per_core for machine in machines],
        "Clock": ["" if m.clock_ghz is None else f"{m.clock_ghz.normalize():f} GHz" for m in machines],
        "Memory": ["" if m.memory_bytes is None else strip_tags(size(m.memory_bytes)) for m in machines],
        "Disks": [machine.disks for machine in machines],
        "Machine of the pooler": [str(pooler or "") for pooler in poolers],
        "Cores of the pooler": [pooler.cores if pooler else "" for pooler in poolers],
    }
    return [Side(name, tuple(values)) for name, values in fields.items() if any(values)]


def nothing_asked(hardware: Sequence[Side]) -> str:
    """Say what remains where nothing that was asked of the systems differs."""
    if names := [side.name.lower() for side in hardware if side.differs]:
        return f"These systems were asked for alike, but for the hardware as bought: {', '.join(names)}."
    return (
        "These systems were asked for alike. Where their curves differ, that is noise, or something that the plan "
        "does not set."
    )


def differences(entries: Iterable[Entry]) -> list[Side]:
    """Return the fields that were asked of the systems and differ; hardware has a table of its own."""
    forms = [flat(entry.system.description) for entry in entries]
    names = Counter(name for form in forms for name in form)
    sides = [Side(name, tuple(form.get(name, NOT_SET) for form in forms)) for name in names]
    return [side for side in sides if side.differs]


def side_by_side(forms: Sequence[Mapping[str, str]]) -> list[Side]:
    """Return every field that any of the forms has, with its value in each; empty where it is not known."""
    names = dict.fromkeys(name for form in forms for name in form)
    return [Side(name, tuple(form.get(name, "") for form in forms)) for name in names]


def flat(form: Mapping[str, Any]) -> dict[str, str]:
    """Return {'settings': {'fsync': 'on'}} as {'fsync': 'on'}; other groups keep their name before the field's."""
    fields: dict[str, str] = {}
    for name, value in form.items():
        if name in ("version", "kind", "hardware"):
            continue
        if isinstance(value, Mapping):
            prefix = "" if name in ("settings", "os_settings") else f"{name} "
            fields.update({f"{prefix}{inner}": _text(inner_value) for inner, inner_value in value.items()})
        else:
            fields[name] = _text(value)
    return fields


def protocol_text(name: str, value: Any) -> str:
    """Write a field of a protocol; one that its form leaves out holds its default."""
    value = PROTOCOL_DEFAULTS.get(name) if value is None else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value} s" if name.endswith("_s") and value is not None else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_inner(inner)}" for name, inner in value.items()) or "default"
    return "default" if value is None else str(value)


def _inner(value: Any) -> str:
    """Write a mapping within a mapping, such as the weights of a mix, or custom scripts with theirs."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {inner}' for name, inner in value.items())})"
    return "; ".join(map(_inner, value)) if isinstance(value, list) else str(value)
