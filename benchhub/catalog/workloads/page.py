"""The page of one revision of a workload, for everyone who may see the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchhub.catalog.models import Workload
from runners import tools

ELSEWHERE = ("scripts", "init")  # on the page, beside the parameters


def _told(row: Workload) -> Iterator[tuple[str, str]]:
    """(name, value) of the parameters, with what was left to its default where that decides."""
    for name, value in tools.get(row.tool).in_full(row.parameters).items():
        if name not in ELSEWHERE and value not in (None, "", {}):
            yield name.replace("_", " "), str(value) if name == "seed" else _words(value)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {one}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
