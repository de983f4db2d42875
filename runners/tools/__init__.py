"""The load generators, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from runners.tools.base import UNREADABLE, Tool

from .pgbench.tool import Pgbench
from .sysbench.tool import Sysbench
from .tatp.tool import Tatp

__all__ = ["TOOLS", "UNREADABLE", "Tool", "get"]

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "pgbench": Pgbench(),
        "tatp": Tatp(),
        "sysbench": Sysbench(),
    }
)


def get(name: str) -> Tool:
    """Return the tool of this name; raise ValueError, naming those there are, when there is none."""
    if name not in TOOLS:
        raise ValueError(f"There is no load generator named {name!r}; choose one of: {', '.join(sorted(TOOLS))}.")
    return TOOLS[name]
