"""The load generators, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from runners.tools.base import UNREADABLE, Tool
from runners.tools.pgbench import Pgbench
from runners.tools.pgbench_log import choose_sampling_rate
from runners.tools.sysbench import Sysbench
from runners.tools.tatp import Tatp

__all__ = ["TOOLS", "UNREADABLE", "Tool", "choose_sampling_rate", "get"]

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
