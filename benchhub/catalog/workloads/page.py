"""The page of one revision of a workload, for everyone who may see the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchhub.catalog.models import Workload
from runners import tools


def parameter_facts(workload: Workload) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of the parameters, with what was left to its default where that decides."""
    for name, value in tools.get(workload.tool).in_full(workload.parameters).items():
        if value not in (None, "", {}):
            yield name.replace("_", " "), str(value) if name == "seed" else _words(value)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {part}" for name, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
