"""Read the counters of a host and its PostgreSQL server before and after the measured part of a run, and subtract them.

A snapshot is text, one 'name|value' per line, that needs only a POSIX shell and psql 9.3 or newer. The host's
counters stand in it twice, first and last: the difference of a run leaves out the snapshots themselves.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.ssh import Connections, Target

SNAPSHOT_TIMEOUT_S = 30.0
QUIET_S = 0.3
STATISTICS = ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal", "pg_stat_database")
# Since which server_version_num a view exists; an older server is no reason for a remark.
SINCE = {"pg_stat_checkpointer": 170000, "pg_stat_wal": 140000}
# They may hold passwords.
HIDDEN_SETTINGS = (
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "archive_cleanup_command",
)
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
CPU_GROUPS = {
    "user": ("user", "nice"),
    "system": ("system", "irq", "softirq"),
    "iowait": ("iowait",),
    "steal": ("steal",),
    "idle": ("idle",),
}

HOST_COMMAND = """\
read -r line < /proc/stat && echo "proc_stat|$line"
read -r line < /proc/loadavg && echo "loadavg|$line"
read -r line < /proc/uptime && echo "uptime|$line"
read -r line < /proc/sys/kernel/random/boot_id && echo "boot_id|$line"
echo "epoch|$(date +%s.%N)"
echo "clock_ticks|$(getconf CLK_TCK 2> /dev/null || echo 100)"
throttled=
for counter in /sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count; do
    { read -r line < "$counter"; } 2> /dev/null && throttled=$((${throttled:-0} + line))
done
test -z "$throttled" || echo "throttled|$throttled"
"""

# By the shell that waits for the load: what a pipe or $( ) would run is another shell, which has waited for nothing.
CHILDREN_COMMAND = """\
times > snapshot.times && { read -r own && read -r line && echo "children|$line"; } < snapshot.times
rm -f snapshot.times
"""

QUIET_COMMAND = """\
read -r line < /proc/stat && echo "quiet_from|$line"
sleep {seconds} 2> /dev/null || sleep 1
read -r line < /proc/stat && echo "quiet_to|$line"
"""

# Servers before 15 publish statistics through a file that may be half a second old.
WAIT_SQL = """\
SELECT set_config('benchhub.awaited', :'awaited', false) AS awaited \\gset
DO $$ BEGIN
    FOR i IN 1..40 LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN NOT EXISTS (
            SELECT 1 FROM pg_stat_activity WHERE application_name = current_setting('benchhub.awaited'));
        PERFORM pg_sleep(0.05);
    END LOOP;
    IF current_setting('server_version_num')::int < 150000 THEN PERFORM pg_sleep(0.6); END IF;
END $$;
"""

SERVER_SQL = """\
SELECT 'server', row_to_json(s) FROM (SELECT version() AS version,
    current_setting('server_version_num')::int AS server_version_num,
    extract(epoch FROM pg_postmaster_start_time())::float8 AS postmaster_start_epoch_s,
    extract(epoch FROM clock_timestamp())::float8 AS epoch_s,
    pg_is_in_recovery() AS in_recovery, current_database() AS database) AS s;
SELECT 'pg_stat_database', row_to_json(d) FROM pg_stat_database AS d WHERE datname = current_database();
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: `host_first` and `host_last` as by `host_snapshot`; `settings` by name with setting, unit, source,
    pending_restart; `statistics` are rows by view, as the server has them; what is not there is left out.
    """

    host_first: Mapping[str, Any]
    host_last: Mapping[str, Any]
    server: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    statistics: Mapping[str, Mapping[str, Any]]
    wal_position: int | None
    system_identifier: str | None
    remarks: tuple[str, ...]


def snapshot_command(bin_directory: str) -> str:
    """Return POSIX sh text that prints a snapshot. PG* name the server, and PGAPPNAME the load whose end is awaited.

    It waits up to 2 s until no backend of that name is left, for only then are its statistics complete. It
    always succeeds: errors of psql become lines of the snapshot.
    """
    psql = f"{shlex.quote(bin_directory + '/psql')} -X -q -A -t -w -v ON_ERROR_STOP=0"
    return f"""\
{HOST_COMMAND}{CHILDREN_COMMAND}\
PGAPPNAME=benchhub-snapshot {psql} -v awaited="$PGAPPNAME" -f - 2> snapshot.err <<'END_OF_SQL'
{_sql()}END_OF_SQL
while IFS= read -r line; do echo "remark|$line"; done < snapshot.err
rm -f snapshot.err
{HOST_COMMAND}{CHILDREN_COMMAND}"""


def quiet_command(seconds: float = QUIET_S) -> str:
    """Return POSIX sh text that prints a host's CPU counters twice, so many seconds apart, while BenchHub is idle.

    They belong before a snapshot, which then says how busy the host was with other work. A load average cannot: it
    remembers the run before. POSIX sleeps whole seconds only.
    """
    return QUIET_COMMAND.format(seconds=f"{seconds:g}")


def parse_snapshot(text: bytes) -> Snapshot:
    """Read a snapshot; what cannot be read is left out, with a sentence in `remarks`."""
    lines = [line for line in text.replace(b"\0", b"").decode(errors="replace").splitlines() if "|" in line]
    pairs = [(name, value) for name, _, value in (line.partition("|") for line in lines)]
    values, remarks = _json_values(pairs)
    position = values.get("wal_position")
    return Snapshot(
        host_first=_host(dict(reversed(pairs))),
        host_last=_host(dict(pairs)),
        server=values.get("server", {}),
        settings=dict(_settings(pairs)),
        statistics={name: values[name] for name in STATISTICS if name in values},
        wal_position=_wal_bytes(position) if position else None,
        system_identifier=values.get("system_identifier"),
        remarks=(*remarks, *_missing(values)),
    )


def deltas(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return the changes between two snapshots as plain data; for what is unknown there is a sentence in `remarks`.

    Keys: those of `host_deltas`; `restarted` (of PostgreSQL, in between); `wal_bytes`; one mapping of counters per
    view of STATISTICS; `settings_changed`, names; `remarks`.
    """
    changes = host_deltas(before.host_last, after.host_first)
    remarks = list(dict.fromkeys((*before.remarks, *after.remarks, *changes.pop("remarks"))))
    if before.server and after.server:
        started = [side.server["postmaster_start_epoch_s"] for side in (before, after)]
        changes["restarted"] = started[0] != started[1]
    for name in STATISTICS:
        if name in before.statistics and name in after.statistics:
            changes |= _counted(name, before.statistics[name], after.statistics[name], remarks)
    changes |= _wal_delta(before, after, remarks)
    names = before.settings.keys() & after.settings.keys()
    changes["settings_changed"] = sorted(
        name for name in names if before.settings[name]["setting"] != after.settings[name]["setting"]
    )
    return {**changes, "remarks": remarks}


async def host_snapshot(connections: Connections, target: Target, *, is_before: bool = False) -> dict[str, Any]:
    """Return a host's counters alone, as plain data for `host_deltas`: for a server that is not the driver's machine.

    `is_before`: it is the one before a run, and tells whether the host was busy.
    """
    command = quiet_command() + HOST_COMMAND if is_before else HOST_COMMAND
    answer = await connections.run(target, command, timeout_s=SNAPSHOT_TIMEOUT_S)
    return dict(parse_snapshot(answer).host_last)


def host_deltas(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return CPU seconds and shares, elapsed seconds and load averages between two host snapshots.

    `cpu` has `<group>_s` and `<group>_share` for user (with nice and guests), system (with interrupts), iowait,
    steal and idle; shares are of all CPUs together. `throttle_events` counts how often a hardware thread was slowed
    down by heat, where the kernel tells. `busy_before_share` is the share of CPU time that was not idle just before the
    run, where it was counted. `load_cpu_s` is the CPU time of what the run's script has waited for in between: the load
    generator, and what works beside it. `remarks` says why something is absent.
    """
    if not before or not after:
        return {"remarks": ["The host's counters could not be read."]}
    if before["boot_id"] != after["boot_id"]:
        return {"remarks": ["The host was rebooted in between: its counters began anew."]}
    return {
        "elapsed_s": round(after["uptime_s"] - before["uptime_s"], 2),
        "cpu": _cpu(before, after),
        "load_before": before["load"],
        "load_after": after["load"],
        **_throttled(before, after),
        **_load_cpu(before, after),
        **{name: before[name] for name in ("busy_before_share",) if name in before},
        "remarks": [],
    }


def _sql() -> str:
    views = "".join(_if_there(name, f"SELECT '{name}', row_to_json(v) FROM {name} AS v") for name in STATISTICS[:3])
    return WAIT_SQL + SERVER_SQL + views + _wal_sql() + _identifier_sql() + _settings_sql()


def _run_query(choice: str) -> str:
    """Return psql text that runs the query which `choice`, an SQL expression, gives. psql has \\gset since 9.3."""
    return f"SELECT {choice} AS query \\gset\n:query;\n"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


NOTHING = _literal("SELECT 1 WHERE false")


def _if_there(view: str, query: str) -> str:
    exists_sql = f"EXISTS (SELECT 1 FROM pg_views WHERE schemaname = 'pg_catalog' AND viewname = '{view}')"
    return _run_query(f"CASE WHEN {exists_sql} THEN {_literal(query)} ELSE {NOTHING} END")


def _wal_sql() -> str:
    new = _literal("SELECT 'wal_position', to_json(pg_current_wal_lsn()::text)")
    old = _literal("SELECT 'wal_position', to_json(pg_current_xlog_location()::text)")
    is_new = "current_setting('server_version_num')::int >= 100000"
    return _run_query(f"CASE WHEN pg_is_in_recovery() THEN {NOTHING} WHEN {is_new} THEN {new} ELSE {old} END")


def _identifier_sql() -> str:
    exists_sql = "EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'pg_control_system')"
    is_allowed_sql = "has_function_privilege('pg_control_system()', 'execute')"
    query = _literal("SELECT 'system_identifier', to_json(system_identifier::text) FROM pg_control_system()")
    inner = f"CASE WHEN {is_allowed_sql} THEN {query} ELSE {NOTHING} END"
    return _run_query(f"CASE WHEN {exists_sql} THEN {inner} ELSE {NOTHING} END")


def _settings_sql() -> str:
    hidden = ", ".join(map(_literal, HIDDEN_SETTINGS))
    setting_sql = f"CASE WHEN setting <> '' AND name IN ({hidden}) THEN '(hidden)' ELSE setting END AS setting"
    query = (
        f"SELECT 'setting', row_to_json(s) FROM (SELECT name, {setting_sql}, unit, source{{}} FROM pg_settings"
        " WHERE name NOT LIKE 'benchhub.%' ORDER BY name) AS s"
    )
    is_new = "current_setting('server_version_num')::int >= 90500"
    new, old = _literal(query.format(", pending_restart")), _literal(query.format(""))
    return _run_query(f"CASE WHEN {is_new} THEN {new} ELSE {old} END")


def _json_values(pairs: list[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    remarks = []
    for name, value in pairs:
        if name == "remark":
            remarks.append(f"psql said: {value}")
        elif name in ("server", "wal_position", "system_identifier", *STATISTICS):
            values[name] = json.loads(value)
    return values, remarks


def _settings(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in pairs:
        if name == "setting":
            row = json.loads(value)
            yield row.pop("name"), row


def _missing(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each thing that this version of the server has, but the snapshot has not."""
    if "server" not in values:
        return
    version = values["server"]["server_version_num"]
    for name in STATISTICS:
        if name not in values and version >= SINCE.get(name, 0):
            yield f"{name} could not be read."
    if "wal_position" not in values:
        reason = "the server is a standby" if values["server"]["in_recovery"] else "the position could not be read"
        yield f"No WAL bytes: {reason}."


def _host(values: Mapping[str, str]) -> dict[str, Any]:
    if not {"proc_stat", "loadavg", "uptime", "boot_id", "epoch", "clock_ticks"} <= values.keys():
        return {}
    return {
        "boot_id": values["boot_id"],
        "uptime_s": float(values["uptime"].split()[0]),
        "epoch_s": float(values["epoch"]),
        "load": [float(word) for word in values["loadavg"].split()[:3]],
        "cpu_s": _cpu_s(values, "proc_stat"),
        **_busy_before(values),
        **({"throttled": int(values["throttled"])} if "throttled" in values else {}),
        **_children(values.get("children", "")),
    }


def _cpu_s(values: Mapping[str, str], name: str) -> dict[str, float]:
    """Return CPU seconds by kind; the kernel may have fewer columns than there are names (steal came with 2.6.11)."""
    ticks_per_s = int(values["clock_ticks"])
    return {field: int(word) / ticks_per_s for field, word in zip(CPU_FIELDS, values[name].split()[1:], strict=False)}


def _busy_before(values: Mapping[str, str]) -> dict[str, float]:
    """Return the busy share before the run; empty where it was not counted, or a full disk has cut a line short."""
    samples = [{"cpu_s": _cpu_s(values, name)} for name in ("quiet_from", "quiet_to") if name in values]
    if len(samples) < 2 or any(len(sample["cpu_s"]) < len(CPU_FIELDS) for sample in samples):
        return {}
    cpu = _cpu(*samples)
    if "idle_share" not in cpu:
        return {}
    return {"busy_before_share": round(1 - cpu["idle_share"] - cpu["iowait_share"], 4)}


def _cpu(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    seconds = {name: after["cpu_s"][name] - before["cpu_s"][name] for name in after["cpu_s"]}
    # iowait and idle may run backwards by a tick (proc(5)).
    group_s = {group: max(0.0, sum(seconds[n] for n in names)) for group, names in CPU_GROUPS.items()}
    total = sum(group_s.values())
    shares = {f"{group}_share": round(value / total, 4) for group, value in group_s.items() if total}
    return {**{f"{group}_s": round(value, 2) for group, value in group_s.items()}, **shares}


def _children(line: str) -> dict[str, float]:
    """Return CPU seconds, user and system together, of `times` (POSIX): 0m1.25s 1m0.50s. Empty for any other line."""
    match = re.fullmatch(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s", line.strip())
    if not match:
        return {}
    minutes, seconds = int(match[1]) + int(match[3]), float(match[2]) + float(match[4])
    return {"children_s": 60 * minutes + seconds}


def _load_cpu(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    if "children_s" not in before or "children_s" not in after:
        return {}
    return {"load_cpu_s": round(after["children_s"] - before["children_s"], 2)}


def _throttled(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    if "throttled" not in before or "throttled" not in after:
        return {}
    return {"throttle_events": after["throttled"] - before["throttled"]}


def _counted(name: str, before: Mapping[str, Any], after: Mapping[str, Any], remarks: list[str]) -> dict[str, Any]:
    # A database that nobody has used yet gets its reset time with its first connection, as all counters are 0.
    is_first_use = before.get("stats_reset") is None and "datid" in after
    if before.get("stats_reset") != after.get("stats_reset") and not is_first_use:
        remarks.append(f"{name} was reset in between: its counters say nothing.")
        return {}
    counters = [key for key, value in after.items() if _is_counter(key, value) and _is_counter(key, before.get(key))]
    return {name: {key: after[key] - before[key] for key in counters}}


def _is_counter(key: str, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and key not in ("datid", "numbackends")


def _wal_bytes(position: str) -> int:
    """Return a position like '16/B374D848' as a number of bytes."""
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _wal_delta(before: Snapshot, after: Snapshot, remarks: list[str]) -> dict[str, int]:
    if before.wal_position is None or after.wal_position is None:
        return {}
    if before.system_identifier != after.system_identifier:
        remarks.append("No WAL bytes: another server answered after the run than before it.")
        return {}
    return {"wal_bytes": after.wal_position - before.wal_position}
