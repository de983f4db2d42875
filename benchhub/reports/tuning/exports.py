"""The settings of a treatment as files for a database administrator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchhub.analysis.tuning import exports
from benchhub.catalog.models import Configuration
from runners.os_settings.names import files

from .series import Treatment


@dataclass(frozen=True, slots=True)
class Export:
    """A file; `refusal` says why its text cannot be written, and is empty where it can."""

    name: str
    title: str
    text: str = ""
    refusal: str = ""


def _server(write: Callable[[Mapping[str, str], str], str]) -> Callable[[Configuration, str], str]:
    return lambda configuration, title: write(configuration.environment.settings, title)


KINDS: Mapping[str, tuple[str, Callable[[Configuration, str], str]]] = {
    "postgresql.conf": ("For postgresql.conf", _server(exports.postgresql_conf)),
    "alter-system.sql": ("As ALTER SYSTEM statements", _server(exports.alter_system)),
    "sysctl.conf": (
        "For /etc/sysctl.d",
        lambda configuration, title: exports.sysctl_conf(configuration.environment.os_settings, title, files()),
    ),
}


def export(treatment: Treatment, series_name: str, name: str) -> Export:
    """Return the file of this name, one of KINDS."""
    title, write = KINDS[name]
    try:
        text = write(treatment.configuration, f"{series_name}: {treatment.label}, by BenchHub")
    except ValueError as error:
        return Export(name, title, refusal=str(error))
    return Export(name, title, text)


def exports_of(treatment: Treatment, series_name: str) -> list[Export]:
    """Return all files; that of the operating system only where anything was asked of it."""
    names = [name for name in KINDS if name != "sysctl.conf" or treatment.configuration.os_settings]
    return [export(treatment, series_name, name) for name in names]
