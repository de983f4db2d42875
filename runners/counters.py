"""Read the counters of a host and its PostgreSQL server before and after the measured part of a run, and subtract them.

A snapshot is text, one 'name|value' per line, that needs only a POSIX shell and psql 9.3 or newer. The host's
counters stand in it twice, first and last: the difference of a run leaves out the snapshots themselves.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.readings import decimal, storable_json, whole
from runners.snapshot_sql import SINCE, STATISTICS, snapshot_sql
from runners.ssh import Connections, Target

SNAPSHOT_TIMEOUT_S = 30.0
HOST_BYTES = 64 << 10
# Of a snapshot, and in it of what psql printed and complained: some 200 kB are honest.
MOST_BYTES, MOST_SERVER_BYTES, MOST_ERROR_BYTES = 2 << 20, 1 << 20, 50_000
QUIET_S = 0.3
MOST_REMARKS, LONGEST_REMARK = 50, 1000
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: `host_first` and `host_last` as by `host_snapshot`; `settings` by name with setting, unit, source,
    pending_restart; `statistics` are rows by view, as the server has them; what is not there is left out. `is_held`
    tells that somebody's run has changed settings of the server.
    """

    host_first: Mapping[str, Any]
    host_last: Mapping[str, Any]
    server: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    statistics: Mapping[str, Mapping[str, Any]]
    wal_position: int | None
    system_identifier: str | None
    is_held: bool
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


def quiet_command(seconds: float = QUIET_S) -> str:
    """Return POSIX sh text that prints a host's CPU counters twice, so many seconds apart, while BenchHub is idle.

    They belong before a snapshot, which then says how busy the host was with other work. A load average cannot: it
    remembers the run before. POSIX sleeps whole seconds only.
    """
    return QUIET_COMMAND.format(seconds=f"{seconds:g}")


def parse_snapshot(text: bytes) -> Snapshot:
    """Read a snapshot, its first MOST_BYTES; what cannot be read is left out, with a sentence in `remarks`."""
    lines = [
        line for line in text[:MOST_BYTES].replace(b"\0", b"").decode(errors="replace").splitlines() if "|" in line
    ]
    pairs = [(name, value) for name, _, value in (line.partition("|") for line in lines)]
    values, remarks = _json_values(pairs)
    return Snapshot(
        host_first=_host(dict(reversed(pairs))),
        host_last=_host(dict(pairs)),
        server=values.get("server", {}),
        settings=dict(_settings(pairs, remarks)),
        statistics={name: values[name] for name in STATISTICS if name in values},
        wal_position=_wal_bytes(values.get("wal_position", "")),
        system_identifier=values.get("system_identifier"),
        is_held=values.get("is_held", False),
        remarks=(*list(dict.fromkeys(remarks))[:MOST_REMARKS], *_missing(values)),
    )


def deltas(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return the changes between two snapshots as plain data; for what is unknown there is a sentence in `remarks`.

    Keys: those of `host_deltas`; `restarted` (of PostgreSQL, in between); `wal_bytes`; one mapping of counters per
    view of STATISTICS; `settings_changed`, names; `is_held`, where somebody's run had changed settings; `remarks`.
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
    changes |= {"is_held": True} if before.is_held or after.is_held else {}
    changes["settings_changed"] = sorted(
        name for name in names if before.settings[name]["setting"] != after.settings[name]["setting"]
    )
    return {**changes, "remarks": remarks}


async def host_snapshot(connections: Connections, target: Target, *, is_before: bool = False) -> dict[str, Any]:
    """Return a host's counters alone, as plain data for `host_deltas`: for a server that is not the driver's machine.

    `is_before`: it is the one before a run, and tells whether the host was busy.
    """
    command = quiet_command() + HOST_COMMAND if is_before else HOST_COMMAND
    answer = await connections.run(target, command, timeout_s=SNAPSHOT_TIMEOUT_S, most_bytes=HOST_BYTES)
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
    if after["uptime_s"] < before["uptime_s"]:
        return {"remarks": ["The host's clock of seconds since its boot went back in between: nothing is counted."]}
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


def _json_values(pairs: list[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    remarks = []
    for name, value in pairs:
        if name == "remark":
            remarks.append(f"psql said: {value[:LONGEST_REMARK]}")
        elif name in READERS:
            if (read := _read_json(value)) is not None and READERS[name](read):
                values[name] = read
            else:
                remarks.append(f"What the server says as {name} cannot be read: it is left out.")
    return values, remarks


def _read_json(text: str) -> Any:
    try:
        return storable_json(text)
    except ValueError:
        return None


def _is_row(value: Any) -> bool:
    return isinstance(value, dict)


def _is_server(value: Any) -> bool:
    """Tell whether this row names the server's version and start, without which nothing can be compared."""
    return (
        _is_row(value)
        and _is_number(value.get("server_version_num"))
        and _is_number(value.get("postmaster_start_epoch_s"))
        and isinstance(value.get("in_recovery"), bool)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


READERS: Mapping[str, Callable[[Any], bool]] = {
    "server": _is_server,
    "wal_position": _is_text,
    "system_identifier": _is_text,
    "is_held": lambda value: isinstance(value, bool),
    **dict.fromkeys(STATISTICS, _is_row),
}


def _settings(pairs: list[tuple[str, str]], remarks: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in pairs:
        if name == "setting":
            row = _read_json(value)
            if _is_row(row) and _is_text(row.get("name")) and _is_text(row.get("setting")):
                yield row.pop("name"), row
            else:
                remarks.append("A setting of the server cannot be read: it is left out.")


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
    """Return a host's counters; empty where one is missing, or is no number that can be."""
    if not {"proc_stat", "loadavg", "uptime", "boot_id", "epoch", "clock_ticks"} <= values.keys():
        return {}
    uptime_s, epoch_s = decimal(values["uptime"].partition(" ")[0]), decimal(values["epoch"].replace("%N", "0"))
    load = [number for word in values["loadavg"].split()[:3] if (number := decimal(word)) is not None]
    cpu_s = _cpu_s(values, "proc_stat")
    if uptime_s is None or epoch_s is None or not cpu_s or len(load) != 3:
        return {}
    throttled = whole(values.get("throttled", ""))
    return {
        "boot_id": values["boot_id"],
        "uptime_s": uptime_s,
        "epoch_s": epoch_s,
        "load": load,
        "cpu_s": cpu_s,
        **_busy_before(values),
        **({"throttled": throttled} if throttled is not None else {}),
        **_children(values.get("children", "")),
    }


def _cpu_s(values: Mapping[str, str], name: str) -> dict[str, float]:
    """Return CPU seconds by kind; the kernel may have fewer columns than there are names (steal came with 2.6.11)."""
    ticks_per_s = whole(values["clock_ticks"])
    ticks = [whole(word) for word in values[name].split()[1:]]
    if not ticks_per_s or len(ticks) < 4 or None in ticks:
        return {}
    return {field: (count or 0) / ticks_per_s for field, count in zip(CPU_FIELDS, ticks, strict=False)}


def _busy_before(values: Mapping[str, str]) -> dict[str, float]:
    """Return the busy share before the run; empty where it was not counted, or a full disk has cut a line short."""
    names = [name for name in ("quiet_from", "quiet_to") if name in values and "clock_ticks" in values]
    samples = [{"cpu_s": _cpu_s(values, name)} for name in names]
    if len(samples) < 2 or any(len(sample["cpu_s"]) < len(CPU_FIELDS) for sample in samples):
        return {}
    cpu = _cpu(*samples)
    if "idle_share" not in cpu:
        return {}
    return {"busy_before_share": round(1 - cpu["idle_share"] - cpu["iowait_share"], 4)}


def _cpu(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    seconds = {name: after["cpu_s"][name] - before["cpu_s"].get(name, 0.0) for name in after["cpu_s"]}
    # iowait and idle may run backwards by a tick (proc(5)).
    group_s = {group: max(0.0, sum(seconds.get(n, 0.0) for n in names)) for group, names in CPU_GROUPS.items()}
    total = sum(group_s.values())
    shares = {f"{group}_share": round(value / total, 4) for group, value in group_s.items() if total}
    return {**{f"{group}_s": round(value, 2) for group, value in group_s.items()}, **shares}


def _children(line: str) -> dict[str, float]:
    """Return CPU seconds, user and system together, of `times` (POSIX): 0m1.25s 1m0.50s. Empty for any other line."""
    match = re.fullmatch(r"([0-9]{1,9})m([0-9.]{1,20})s ([0-9]{1,9})m([0-9.]{1,20})s", line.strip())
    seconds = [decimal(match[2]), decimal(match[4])] if match else [None]
    if not match or None in seconds:
        return {}
    return {"children_s": 60 * (int(match[1]) + int(match[3])) + sum(filter(None, seconds))}


def _load_cpu(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    if "children_s" not in before or "children_s" not in after:
        return {}
    seconds = round(after["children_s"] - before["children_s"], 2)
    return {"load_cpu_s": seconds} if seconds >= 0 else {}


def _throttled(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    if "throttled" not in before or "throttled" not in after:
        return {}
    events = after["throttled"] - before["throttled"]
    return {"throttle_events": events} if events >= 0 else {}


def _counted(name: str, before: Mapping[str, Any], after: Mapping[str, Any], remarks: list[str]) -> dict[str, Any]:
    # A database that nobody has used yet gets its reset time with its first connection, as all counters are 0.
    is_first_use = before.get("stats_reset") is None and "datid" in after
    if before.get("stats_reset") != after.get("stats_reset") and not is_first_use:
        remarks.append(f"{name} was reset in between: its counters say nothing.")
        return {}
    counters = [key for key, value in after.items() if _is_counter(key, value) and _is_counter(key, before.get(key))]
    if decreases := [key for key in counters if after[key] < before[key]]:
        remarks.append(f"{name}: {', '.join(sorted(decreases))} went down in between, which no counter does: left out.")
    return {name: {key: after[key] - before[key] for key in counters if key not in decreases}}


def _is_counter(key: str, value: Any) -> bool:
    return _is_number(value) and key not in ("datid", "numbackends")


def _wal_bytes(position: str) -> int | None:
    """Return a position like '16/B374D848' as a number of bytes; None for any other text."""
    match = re.fullmatch("([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", position)
    return (int(match[1], 16) << 32) + int(match[2], 16) if match else None


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
