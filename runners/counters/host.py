"""The counters of a host: the commands that print them, their reading, and what they come to over a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runners.readings import decimal, whole

QUIET_S = 0.3
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


def quiet_command(seconds: float = QUIET_S) -> str:
    """Return POSIX sh text that prints a host's CPU counters twice, so many seconds apart, while BenchHub is idle.

    They belong before a snapshot, which then says how busy the host was with other work. A load average cannot: it
    remembers the run before. POSIX sleeps whole seconds only.
    """
    return QUIET_COMMAND.format(seconds=f"{seconds:g}")


def read(values: Mapping[str, str]) -> dict[str, Any]:
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


def deltas(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
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
