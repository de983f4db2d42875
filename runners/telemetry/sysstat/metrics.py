"""Sysstat's numbers as our own metrics: one line each. Unit, words and panel are those of runners.telemetry.metrics.

A source is 'group.name' with the names of `sadf -j`; 'a+b' adds, 'a|b' takes the first that this version has. sysstat
calls 1,024 bytes a kB, and counts in sectors of 512 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.readings import LARGEST
from runners.telemetry.metrics import KB_GB, SECTOR_MB, alternatives

KIB_MB = 1024 / 1e6


@dataclass(frozen=True, slots=True)
class Mapped:
    """One of our metrics, and where sysstat has it: its source, times `factor`."""

    metric: str
    source: str
    factor: float = 1.0


MAPPED = (
    Mapped("cpu_user", "cpu.user+cpu.nice|cpu.usr+cpu.nice+cpu.guest+cpu.gnice|cpu.usr+cpu.nice"),
    Mapped("cpu_system", "cpu.system|cpu.sys+cpu.irq+cpu.soft"),
    Mapped("cpu_iowait", "cpu.iowait"),
    Mapped("cpu_steal", "cpu.steal"),
    Mapped("run_queue", "queue.runq-sz"),
    Mapped("blocked", "queue.blocked"),
    Mapped("context_switches", "tasks.cswch"),
    Mapped("forks", "tasks.proc"),
    Mapped("psi_cpu", "psi-cpu.some_avg"),
    Mapped("psi_io", "psi-io.some_avg"),
    Mapped("psi_memory", "psi-mem.some_avg"),
    Mapped("psi_io_full", "psi-io.full_avg"),
    Mapped("memory_available", "memory.avail|memory.memfree", KB_GB),
    Mapped("memory_cached", "memory.cached", KB_GB),
    Mapped("memory_anonymous", "memory.anonpg", KB_GB),
    Mapped("dirty", "memory.dirty", KB_GB),
    Mapped("major_faults", "paging.majflt"),
    Mapped("swapped_in", "swap.pswpin"),
    Mapped("swapped_out", "swap.pswpout"),
    Mapped("disk_read", "io.bread|disk.rd_sec", SECTOR_MB),
    Mapped("disk_written", "io.bwrtn|disk.wr_sec", SECTOR_MB),
    Mapped("disk_requests", "io.tps|disk.tps"),
    Mapped("disk_ms", "disk.await"),
    Mapped("disk_busy", "disk.util-percent"),
    Mapped("disk_queue", "disk.aqu-sz|disk.avgqu-sz"),
    Mapped("network_received", "net.rxkB", KIB_MB),
    Mapped("network_sent", "net.txkB", KIB_MB),
    Mapped("packets_received", "net.rxpck"),
    Mapped("packets_sent", "net.txpck"),
    Mapped("packets_lost", "lost.rxerr+lost.rxdrop+lost.txerr+lost.txdrop"),
    Mapped("retransmitted", "tcp.retrans"),
    Mapped("frequency", "clock.frequency"),
)
# Where a group stands in a sample: the names that lead to it. Of a list, the row of all CPUs or the sum of devices.
PLACES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "cpu": (("cpu-load",), ("cpu-load-all",)),
    "tasks": (("process-and-context-switch",),),
    "swap": (("swap-pages",),),
    "paging": (("paging",),),
    "io": (("io",),),
    "memory": (("memory",),),
    "queue": (("queue",),),
    "disk": (("disk",),),
    "net": (("network", "net-dev"),),
    "lost": (("network", "net-edev"),),
    "tcp": (("network", "net-etcp"),),
    "psi-cpu": (("psi", "psi-cpu"),),
    "psi-io": (("psi", "psi-io"),),
    "psi-mem": (("psi", "psi-mem"),),
    "clock": (("power-management", "cpu-frequency"),),
}
NAMES = frozenset(name for mapped in MAPPED for names in alternatives(mapped.source) for name in names)
GROUPS = frozenset(place[0] for places in PLACES.values() for place in places)
MOST_ROWS = 2000
# A disk by its name, or 'dev8-0' by its number, as older versions call it; what is made of others would count twice.
# Numbers from 240 to 254 are given as drivers come: 'dev253-0' may be a disk, or a volume on one.
DISK = re.compile(
    r"(?:(?:sd|hd|vd|xvd|dasd)[a-z]+|nvme[0-9]+n[0-9]+|mmcblk[0-9]+|pmem[0-9]+|cciss/c[0-9]+d[0-9]+"
    r"|dev(?:3|8|22|33|34|6[5-9]|7[01]|94|10[4-9]|11[01]|12[89]|13[0-5]|179|202|259)-[0-9]+)$"
)
NO_DISK = re.compile(r"loop|ram|zram|sr[0-9]|fd[0-9]|dm-|md[0-9]|nbd|dev(?:1|2|7|9|11|43)-")
NO_CARD = re.compile(r"lo$|ifb|veth|docker|br[0-9-]|virbr|bond|team|vlan|tun|tap|dummy|vnet|ovs|cni|flannel|cali|wg")


def numbers(sample: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a sample that a metric may need, by 'group.name'; what is no number is left out."""
    pairs = ((group, part) for group, places in PLACES.items() if (part := _part(sample, places)) is not None)
    values = ((f"{group}.{name}", value) for group, part in pairs for name, value in _values(group, part))
    return {name: value for name, value in values if name in NAMES}


def metric_value(mapped: Mapped, values: Mapping[str, float]) -> float | None:
    """Return the metric of a sample; None where this version or file does not have it."""
    for names in alternatives(mapped.source):
        if all(name in values for name in names):
            return sum(values[name] for name in names) * mapped.factor
    return None


def _part(sample: Mapping[str, Any], places: Iterable[tuple[str, ...]]) -> Any:
    for place in places:
        part: Any = sample
        for name in place:
            part = part.get(name) if isinstance(part, Mapping) else None
        if part is not None:
            return part
    return None


def _values(group: str, part: Any) -> Iterable[tuple[str, float]]:
    rows = [row for row in part[:MOST_ROWS] if isinstance(row, Mapping)] if isinstance(part, list) else []
    if isinstance(part, Mapping):
        return _flat(part)
    if group == "disk":
        return _of_disks(_disks(rows))
    if group in ("net", "lost"):
        return _sums([row for row in rows if "." not in (card := str(row.get("iface"))) and not NO_CARD.match(card)])
    return _flat(next((row for row in rows if "all" in (row.get("cpu"), row.get("number"))), {}))


def _disks(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of disks; none where a device may be a disk or not, as any sum might count one twice."""
    rows_by_name = {str(row.get("disk-device")): row for row in rows}
    names = [name for name in rows_by_name if not NO_DISK.match(name)]
    return [rows_by_name[name] for name in names] if all(map(DISK.match, names)) else []


def _flat(part: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, float]]:
    for name, value in part.items():
        if _is_number(value):
            yield name, float(value)
        elif isinstance(value, Mapping) and depth < 2:
            yield from _flat(value, depth + 1)


def _sums(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, float]]:
    sums: dict[str, float] = {}
    for row in rows:
        for name, value in _flat(row):
            sums[name] = sums.get(name, 0.0) + value
    return sums.items()


def _of_disks(rows: list[Mapping[str, Any]]) -> Iterable[tuple[str, float]]:
    """Return the sums of the devices; of the time that a request took, the mean over all requests."""
    sums = dict(_sums(rows))
    waits = [(float(row["await"]), float(row["tps"])) for row in rows if _is_number(row.get("await"), row.get("tps"))]
    requests = sum(tps for _, tps in waits)
    sums.pop("await", None)
    return {**sums, **({"await": sum(ms * tps for ms, tps in waits) / requests} if requests else {})}.items()


def _is_number(*values: Any) -> bool:
    """Tell whether all are numbers that can be meant: no sign, and none that is not finite."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= LARGEST for v in values)
