"""Sockets, cores and threads out of what the kernel says of each CPU in sysfs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from runners.readings import whole

from .arm import core_name_of_midr
from .counts import MOST_CPUS, Counts, counts_of_places, cpu_list, is_in_list, kinds_of_groups

MOST_LINES = 2**17
CUT_AT = 160  # characters: the probe cuts lines there, and what was cut is not believed
FILES = {
    "drawer_id": "drawer",
    "book_id": "book",
    "physical_package_id": "package",
    "die_id": "die",
    "cluster_id": "cluster",
    "core_id": "core",
    "thread_siblings_list": "siblings",
    "core_cpus_list": "siblings",
    "thread_siblings": "siblings_mask",
    "package_cpus_list": "peers",
    "core_siblings_list": "peers",
    "cpu_capacity": "capacity",
    "midr_el1": "midr",
}
PLACING = {"package", "core", "siblings", "siblings_mask"}
ONLINE, PRESENT = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present"
# The kernel names these groups by their performance counters; what they are for, the maker's manuals say.
CORE_KINDS = {
    "/sys/devices/cpu_core/cpus": "performance",
    "/sys/devices/cpu_atom/cpus": "efficiency",
    "/sys/devices/cpu_lowpower/cpus": "low-power efficiency",
}


@dataclass(frozen=True, slots=True)
class Platform:
    """What bears on the meaning of sysfs: `architecture` and `kernel` as by uname, and a table of firmware."""

    architecture: str = ""
    kernel: str = ""
    has_pptt: bool = False

    @property
    def is_arm(self) -> bool:
        return self.architecture.startswith(("aarch64", "arm"))

    @property
    def may_call_clusters_packages(self) -> bool:
        """Tell whether several packages may be clusters of cores of one socket.

        The kernel knows sockets of ARM and RISC-V from the firmware's table PPTT alone, which it reads since 4.18.
        """
        is_old = re.match(r"[0-3]\.|4\.([0-9]|1[0-7])(?![0-9])", self.kernel)
        return (self.is_arm or self.architecture.startswith("riscv")) and (not self.has_pptt or bool(is_old))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a CPU is. Words are as sysfs prints them, '-' for a file that is not there."""

    cpu: int
    drawer: str = "-"
    book: str = "-"
    package: str = "-"
    die: str = "-"
    cluster: str = "-"
    core: str = "-"
    siblings: str = "-"
    siblings_mask: str = "-"
    peers: str = "-"
    capacity: str = "-"
    midr: str = "-"

    @property
    def socket_key(self) -> Hashable:
        """Return the same for all CPUs of a socket; None where the kernel does not know it (-1, or no file)."""
        return (self.drawer, self.book, self.package) if whole(self.package) is not None else None

    @property
    def core_key(self) -> Hashable:
        """Return the same for all CPUs of a core; None where nothing tells.

        A core's number alone is one only within its die or cluster, and on some machines not even there.
        """
        if is_in_list(self.cpu, self.siblings):
            return self.siblings
        if self.cpu in _cpus_of_mask(self.siblings_mask):
            return self.siblings_mask
        names = (self.drawer, self.book, self.package, self.die, self.cluster, self.core)
        return names if whole(self.core) is not None else None


def _cpus_of_mask(mask: str) -> list[int]:
    """Return the CPUs of a mask as old kernels print it, '00000000,00000101'; empty for any other text."""
    digits = mask.replace(",", "")
    bits = int(digits, 16) if re.fullmatch("[0-9a-f]{1,64}", digits) else 0
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]


def places(text: str) -> dict[int, Place]:
    """Return the CPUs by number, of lines such as '3 core_id 1': CPU, name of a file in sysfs, its first word."""
    words: dict[int, dict[str, str]] = {}
    for line in text.splitlines()[:MOST_LINES]:
        number, name, word, *_ = [*line[:CUT_AT].split(), "", "", ""]
        cpu = whole(number, MOST_CPUS - 1)
        if cpu is not None and name in FILES and word and len(line) < CUT_AT:
            words.setdefault(cpu, {})[FILES[name]] = word
    return {cpu: Place(cpu, **fields) for cpu, fields in words.items() if fields.keys() & PLACING}


def online_places(text: str, lists: Mapping[str, str]) -> tuple[dict[int, Place], frozenset[int]]:
    """Return the places of the CPUs online, and the CPUs that are online without any place."""
    rows = places(text)
    online = cpu_list(lists.get(ONLINE, ""))
    if not online:
        return rows, frozenset()
    return {cpu: place for cpu, place in rows.items() if cpu in online}, online - rows.keys()


def offline_count(lists: Mapping[str, str]) -> int:
    """Count the CPUs that are there and offline. Those that may only be plugged in later are none."""
    present, online = (cpu_list(lists.get(name, "")) for name in (PRESENT, ONLINE))
    return len(present - online) if present and online else 0


def counts(rows: Mapping[int, Place], lists: Mapping[str, str], platform: Platform) -> Counts | None:
    """Count what is online; None where a CPU's core is unknown."""
    cores = {cpu: place.core_key for cpu, place in rows.items()}
    if not rows or None in cores.values():
        return None
    sockets = {cpu: place.socket_key for cpu, place in rows.items()}
    if (
        has_unlike_packages(rows)
        or None in sockets.values()
        or (platform.may_call_clusters_packages and len(set(sockets.values())) > 1)
    ):
        sockets = dict.fromkeys(rows)
    kinds = kinds_of_groups(_kind_names(rows, lists, platform), cores)
    return counts_of_places(((sockets[cpu], cores[cpu]) for cpu in rows), kinds if len(kinds) > 1 else ())


def has_unlike_packages(rows: Mapping[int, Place]) -> bool:
    """Tell whether CPUs have the number of a package in common but are not in each other's lists of its CPUs."""
    peers: dict[Hashable, set[str]] = {}
    for cpu, place in rows.items():
        if place.socket_key is not None and is_in_list(cpu, place.peers):
            peers.setdefault(place.socket_key, set()).add(place.peers)
    return any(len(lists) > 1 for lists in peers.values())


def _kind_names(rows: Mapping[int, Place], lists: Mapping[str, str], platform: Platform) -> dict[int, str]:
    """Return the name of each CPU's kind of core; empty where not every one is known."""
    by_counters = {cpu: name for file, name in CORE_KINDS.items() for cpu in cpu_list(lists.get(file, "")) or ()}
    by_register = {cpu: core_name_of_midr(place.midr) for cpu, place in rows.items()}
    # Elsewhere equal cores may have unlike capacities: some are let run a little faster than their neighbours.
    by_capacity = {cpu: f"capacity {place.capacity}" for cpu, place in rows.items() if whole(place.capacity)}
    for names in (by_counters, by_register, by_capacity if platform.is_arm else {}):
        if all(names.get(cpu) for cpu in rows):
            return {cpu: names[cpu] for cpu in rows}
    return {}
