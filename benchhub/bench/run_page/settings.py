"""Settings and facts as a run found them, beside those that its configuration asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchhub.analysis.protocol.settings import in_unit_asked, readable, server_name
from benchhub.bench.models import Found
from benchhub.ui.facts import Fact, Section, sections


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a configuration: the value asked for, and the server's own in the same unit."""

    name: str
    requested: str
    actual: str


def setting_rows(settings: Mapping[str, Any]) -> list[Fact]:
    """Return all settings of a server, each {"setting", "unit", "source"} or plain text, with where it was set."""
    return [Fact(name, _text(value), _source(value)) for name, value in sorted(settings.items())]


def requested_settings(configuration: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Setting]:
    """Return the settings that the configuration asks for."""
    return [
        Setting(name, str(value), _actual(str(value), settings.get(name, settings.get(server_name(name), "not found"))))
        for name, value in configuration.items()
    ]


def unmet_settings(rows: Iterable[Mapping[str, str]]) -> list[Setting]:
    """Return the settings that are not as asked for."""
    return [
        Setting(row["name"], row["asked"], in_unit_asked(row["asked"], *_number_and_unit(row["found"]))) for row in rows
    ]


def environment_sections(facts: Found) -> list[Section]:
    """Return the facts of server, pooler and hosts that were found around a run."""
    return sections(("Server", facts.server), ("Pooler", facts.pooler), ("Host", facts.host))


@dataclass(frozen=True, slots=True)
class OsSetting:
    """A setting of the operating system as asked for, and as it was around the run; '' where nothing tells."""

    name: str
    requested: str
    before: str
    end: str
    after: str

    @property
    def lasted(self) -> bool:
        return self.end == self.requested

    @property
    def is_back(self) -> bool:
        return self.before == self.after


def os_rows(spec: Mapping[str, Any], values: Mapping[str, Any]) -> list[OsSetting]:
    """Return the settings of the operating system that the run changed, by its spec and what was read around it."""
    cluster = spec.get("cluster") or {}
    rows = [(name, requested, values.get(name) or {}) for name, requested in cluster.get("os_settings", {}).items()]
    return [
        OsSetting(name, requested, *(row.get(moment) or "" for moment in ("before", "end", "after")))
        for name, requested, row in rows
    ]


@dataclass(frozen=True, slots=True)
class ServerSetting:
    """A setting of somebody's server as asked for, and as SHOW had it around the run; '' where nothing tells."""

    name: str
    requested: str
    before: str
    applied: str
    end: str
    after: str

    @property
    def lasted(self) -> bool:
        return bool(self.end) and self.end == self.applied

    @property
    def is_back(self) -> bool:
        return bool(self.after) and self.before == self.after


def server_rows(spec: Mapping[str, Any], values: Mapping[str, Any]) -> list[ServerSetting]:
    """Return the settings of somebody's server that the run changed, by its spec and what was read around it."""
    change, moments = spec.get("server_settings") or {}, ("before", "applied", "end", "after")
    rows = [(name, requested, values.get(name) or {}) for name, requested in change.get("settings", {}).items()]
    return [
        ServerSetting(name, str(requested), *(row.get(moment) or "" for moment in moments))
        for name, requested, row in rows
    ]


def _number_and_unit(text: str) -> tuple[str, str | None]:
    number, _, unit = text.partition(" ")
    return (number, unit) if unit and number.lstrip("-").isdecimal() else (text, None)


def _actual(requested: str, value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return in_unit_asked(requested, str(value.get("setting", "")), value.get("unit"))


def _text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return readable(str(value.get("setting", "")), str(value.get("unit") or ""))


def _source(value: Any) -> str:
    return str(value.get("source") or "") if isinstance(value, Mapping) else ""
