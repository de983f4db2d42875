"""Sockets, cores and threads as they were counted, from whichever text of a host says them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runners.readings import whole

MOST_CPUS, MOST_SOCKETS = 2**14, 2**8
LONGEST_LIST = 2**16
# By the start of uname's architecture; those that are not here have 8, as POWER and SPARC do.
MOST_THREADS = {"x86_64": 2, "i386": 2, "i486": 2, "i586": 2, "i686": 2, "s390": 2, "riscv": 1, "loongarch": 2}
ANY_THREADS, PHI_THREADS = 8, 4


@dataclass(frozen=True, slots=True)
class Kind:
    """Cores of one kind in a machine that has several: performance and efficiency cores, big and LITTLE."""

    name: str
    cores: int
    cpus: int


@dataclass(frozen=True, slots=True)
class Counts:
    """`cpus` are those online. What one socket or core has is there only where all have the same number of it.

    `socket_cores` has the cores of each socket where they differ, the largest first.
    """

    cpus: int | None = None
    cores: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    kinds: tuple[Kind, ...] = ()
    socket_cores: tuple[int, ...] = ()

    def facts(self) -> dict[str, Any]:
        names = ("cpus", "cores", "sockets", "cores_per_socket", "threads_per_core")
        numbers = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        kinds = [{"name": kind.name, "cores": kind.cores, "cpus": kind.cpus} for kind in self.kinds]
        unlike = {"socket_cores": list(self.socket_cores)} if self.socket_cores else {}
        return {**numbers, **unlike, **({"core_kinds": kinds} if len(kinds) > 1 else {})}


def counts_of_places(places: Iterable[tuple[Hashable, Hashable]], kinds: tuple[Kind, ...] = ()) -> Counts:
    """Count CPUs, each given as the socket and the core that it belongs to; a socket of None is unknown."""
    rows = list(places)
    threads = Counter(rows)
    has_sockets = all(socket is not None for socket, _ in rows)
    cores = Counter(socket for socket, _ in threads)
    has_unlike = has_sockets and len(set(cores.values())) > 1 and len(cores) <= MOST_SOCKETS
    return Counts(
        cpus=len(rows),
        cores=len(threads),
        sockets=len(cores) if has_sockets else None,
        cores_per_socket=_only(cores.values()) if has_sockets else None,
        threads_per_core=_only(threads.values()),
        kinds=kinds,
        socket_cores=tuple(sorted(cores.values(), reverse=True)) if has_unlike else (),
    )


def _only(numbers: Iterable[int]) -> int | None:
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None


def most_threads(architecture: str, model: str) -> int:
    """Return how many threads a core of this architecture has at most.

    Kernels that are told nothing of cores put all CPUs on one: guests of Xen, and RISC-V without a map of its CPUs.
    """
    if "Phi" in model:
        return PHI_THREADS
    return next((most for start, most in MOST_THREADS.items() if architecture.startswith(start)), ANY_THREADS)


def cpu_list(text: str) -> frozenset[int] | None:
    """Return the CPUs of a list as kernel and lscpu print it, '0-3,8,16-30:2'; None for what is none."""
    if len(text) > LONGEST_LIST:
        return None
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        cpus = _range(part.strip())
        if cpus is None or len(numbers) + len(cpus) > MOST_CPUS:
            return None
        numbers += cpus
    return frozenset(numbers)


def is_in_list(cpu: int, text: str) -> bool:
    """Tell whether a list of CPUs, of which each part can be read, has this one; the list is not written out."""
    ranges = [_range(part.strip()) for part in text.split(",")]
    return all(ranges) and any(cpu in part for part in ranges if part)


def _range(text: str) -> range | None:
    bounds, _, stride = text.partition(":")
    first, is_range, last = bounds.partition("-")
    numbers = [whole(word, MOST_CPUS - 1) for word in (first, last if is_range else first, stride or "1")]
    return _stepped(*numbers) if None not in numbers else None


def _stepped(first: int | None, last: int | None, stride: int | None) -> range | None:
    if first is None or last is None or not stride or last < first:
        return None
    return range(first, last + 1, stride)


def kinds_of_groups(names: Mapping[int, str], cores: Mapping[int, Hashable]) -> tuple[Kind, ...]:
    """Return the kinds of cores, by the name of each CPU's kind and the core that it belongs to."""
    cpus: dict[str, list[int]] = {}
    for cpu, name in names.items():
        cpus.setdefault(name, []).append(cpu)
    return tuple(Kind(name, len({cores[cpu] for cpu in group}), len(group)) for name, group in cpus.items())


def merged(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    """Return one kind of each name: cores of one model may be of several, for their clocks are unlike."""
    totals: dict[str, Kind] = {}
    for kind in kinds:
        before = totals.get(kind.name, Kind(kind.name, 0, 0))
        totals[kind.name] = Kind(kind.name, before.cores + kind.cores, before.cpus + kind.cpus)
    return tuple(totals.values())
