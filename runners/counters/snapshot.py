"""Read the counters of a host and its PostgreSQL server before and after the measured part of a run, and subtract them.

A snapshot is text, one 'name|value' per line, that needs only a POSIX shell and psql 9.3 or newer. The host's
counters stand in it twice, first and last: the difference of a run leaves out the snapshots themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.confinement import apart
from runners.ssh import Connections, Target

from . import host, statements
from .host import CHILDREN_COMMAND, HOST_COMMAND, quiet_command
from .server import counted, json_values, missing, settings, wal_bytes
from .sql import STATISTICS, snapshot_sql
from .statements import Statements, Unread

SNAPSHOT_TIMEOUT_S = 30.0
HOST_BYTES = 64 << 10
# Of a snapshot, and in it of what psql printed and complained: some 200 kB are honest.
MOST_BYTES, MOST_SERVER_BYTES, MOST_ERROR_BYTES = 2 << 20, 1 << 20, 50_000
MOST_REMARKS = 50


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: `host_first` and `host_last` as by `host_snapshot`; `settings` by name with setting, unit, source,
    pending_restart; `statistics` are rows by view, as the server has them; what is not there is left out. `is_held`
    tells that somebody's run has changed settings of the server. `statements` are those of pg_stat_statements.
    """

    host_first: Mapping[str, Any]
    host_last: Mapping[str, Any]
    server: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    statistics: Mapping[str, Mapping[str, Any]]
    wal_position: int | None
    system_identifier: str | None
    is_held: bool
    statements: Statements | Unread | None
    remarks: tuple[str, ...]


def snapshot_command(bin_directory: str) -> str:
    """Return POSIX sh text that prints a snapshot. PG* name the server, and PGAPPNAME the load whose end is awaited.

    It waits up to 2 s until no backend of that name is left, for only then are its statistics complete. It
    always succeeds: errors of psql become lines of the snapshot.
    """
    psql = f"{shlex.quote(bin_directory + '/psql')} -X -q -A -t -w -v ON_ERROR_STOP=0"
    return f"""\
{HOST_COMMAND}{CHILDREN_COMMAND}\
PGAPPNAME=benchhub-snapshot {psql} -v awaited="$PGAPPNAME" -f - 2> snapshot.err <<'END_OF_SQL' |
{snapshot_sql()}END_OF_SQL
    head -c {MOST_SERVER_BYTES}
echo
head -c {MOST_ERROR_BYTES} snapshot.err | while IFS= read -r line; do echo "remark|$line"; done
rm -f snapshot.err
{HOST_COMMAND}{CHILDREN_COMMAND}"""


def parse_snapshot(text: bytes) -> Snapshot:
    """Read a snapshot, its first MOST_BYTES; what cannot be read is left out, with a sentence in `remarks`."""
    # Other ends of lines than \n stand within JSON.
    lines = [line for line in text[:MOST_BYTES].replace(b"\0", b"").decode(errors="replace").split("\n") if "|" in line]
    pairs = [(name, value) for name, _, value in (line.partition("|") for line in lines)]
    values, remarks = json_values(pairs)
    return Snapshot(
        host_first=host.read(dict(reversed(pairs))),
        host_last=host.read(dict(pairs)),
        server=values.get("server", {}),
        settings=dict(settings(pairs, remarks)),
        statistics={name: values[name] for name in STATISTICS if name in values},
        wal_position=wal_bytes(values.get("wal_position", "")),
        system_identifier=values.get("system_identifier"),
        is_held=values.get("is_held", False),
        statements=statements.read(pairs),
        remarks=(*list(dict.fromkeys(remarks))[:MOST_REMARKS], *missing(values)),
    )


def deltas(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return the changes between two snapshots as plain data; for what is unknown there is a sentence in `remarks`.

    Keys: those of `host.deltas`; `restarted` (of PostgreSQL, in between); `wal_bytes`; one mapping of counters per
    view of STATISTICS; `pg_stat_statements`, a list as of `statements.growth`; `settings_changed`, names; `is_held`,
    where somebody's run had changed settings; `remarks`.
    """
    changes = host.deltas(before.host_last, after.host_first)
    remarks = list(dict.fromkeys((*before.remarks, *after.remarks, *changes.pop("remarks"))))
    if before.server and after.server:
        started = [side.server["postmaster_start_epoch_s"] for side in (before, after)]
        changes["restarted"] = started[0] != started[1]
    for name in STATISTICS:
        if name in before.statistics and name in after.statistics:
            changes |= counted(name, before.statistics[name], after.statistics[name], remarks)
    if statements_run := _statements_delta(before, after, remarks):
        changes["pg_stat_statements"] = statements_run
    changes |= _wal_delta(before, after, remarks)
    names = before.settings.keys() & after.settings.keys()
    changes |= {"is_held": True} if before.is_held or after.is_held else {}
    changes["settings_changed"] = sorted(
        name for name in names if before.settings[name]["setting"] != after.settings[name]["setting"]
    )
    return {**changes, "remarks": remarks}


async def host_snapshot(connections: Connections, target: Target, *, is_before: bool = False) -> dict[str, Any]:
    """Return a host's counters alone, as plain data for `host.deltas`: for a server that is not the driver's machine.

    `is_before`: it is the one before a run, and tells whether the host was busy.
    """
    command = quiet_command() + HOST_COMMAND if is_before else HOST_COMMAND
    answer = await connections.run(target, command, timeout_s=SNAPSHOT_TIMEOUT_S, most_bytes=HOST_BYTES)
    snapshot = await apart(parse_snapshot, answer)
    return dict(snapshot.host_last)


def _statements_delta(before: Snapshot, after: Snapshot, remarks: list[str]) -> list[dict[str, Any]]:
    if not before.server or not after.server or not (before.statements or after.statements):
        return []
    if before.system_identifier != after.system_identifier:
        remarks.append("No statements: another server answered after the run than before it.")
        return []
    if before.server["postmaster_start_epoch_s"] != after.server["postmaster_start_epoch_s"]:
        remarks.append("No statements: the server was restarted in between.")
        return []
    return statements.growth(before.statements, after.statements, remarks)


def _wal_delta(before: Snapshot, after: Snapshot, remarks: list[str]) -> dict[str, int]:
    if before.wal_position is None or after.wal_position is None:
        return {}
    if before.system_identifier != after.system_identifier:
        remarks.append("No WAL bytes: another server answered after the run than before it.")
        return {}
    if after.wal_position < before.wal_position:
        remarks.append("No WAL bytes: the position went back in between.")
        return {}
    return {"wal_bytes": after.wal_position - before.wal_position}
