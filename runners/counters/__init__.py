"""Counters of a host and its PostgreSQL server before and after the load of a run, and what they come to."""

from .host import QUIET_S, quiet_command
from .host import deltas as host_deltas
from .server import STANDBY
from .snapshot import MOST_BYTES, Snapshot, deltas, host_snapshot, parse_snapshot, snapshot_command

__all__ = [
    "MOST_BYTES", "QUIET_S", "STANDBY", "Snapshot", "deltas", "host_deltas", "host_snapshot", "parse_snapshot",
    "quiet_command", "snapshot_command",
]  # fmt: skip
