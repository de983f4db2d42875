"""The SSH connections of this process; they belong to its event loop (loop.py)."""

from __future__ import annotations

from runners.ssh import Connections

_connections: list[Connections] = []


def connections() -> Connections:
    """Return the connections of this process, which stay open from tick to tick."""
    if not _connections:
        _connections.append(Connections())
    return _connections[0]
