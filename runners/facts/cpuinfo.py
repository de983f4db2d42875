"""What /proc/cpuinfo says, by architecture: the fallback where sysfs and lscpu are absent."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from runners.readings import count, whole

from .arm import core_name
from .counts import MOST_CPUS, Counts, counts_of_places

LONGEST_NAME = 256
MOST_LINES = 2**17
# In the order of their weight: IBM's 'cpu' names the model, while others have a line of that name for something else.
MODELS = ("model name", "cpu model", "uarch", "cpu")
VENDORS = ("vendor_id", "vendor")
SOCKETS, CORES = ("physical id", "package"), ("core id", "core")
OUTER = ("drawer id", "book id")

Entry = Mapping[str, str]


def parse(text: str) -> tuple[Counts, dict[str, Any]]:
    """Return counts of what is online, and model and vendor; whatever is not said is absent."""
    entries = list(islice(_entries(text), MOST_CPUS))
    facts = {"model": _model(text, entries), "vendor": _first(entries, VENDORS)}
    cpus = [entry for entry in entries if whole(entry.get("processor", "")) is not None]
    return _counts(cpus, entries), {name: value[:LONGEST_NAME] for name, value in facts.items() if value}


def _entries(text: str) -> Iterator[Entry]:
    """Yield one mapping for each CPU, which begins with its number, and one for what stands before the first."""
    entry: dict[str, str] = {}
    for line in text.splitlines()[:MOST_LINES]:
        label, colon, value = line.partition(":")
        key = " ".join(label.split()).casefold()
        number = re.fullmatch("processor ([0-9]{1,5})", key)  # s390x, first form: 'processor 0: version = 00, ...'
        if number or (key == "processor" and whole(value) is not None):
            yield entry
            entry = {"processor": number[1] if number else value.strip()}
            entry |= {"machine": value.partition("machine =")[2].strip()} if number else {}
        elif colon:
            entry.setdefault(key, " ".join(value.split()))
    yield entry


def _first(entries: Sequence[Entry], keys: Sequence[str]) -> str:
    return next((entry[key] for key in keys for entry in entries if entry.get(key)), "")


def _model(text: str, entries: Sequence[Entry]) -> str:
    if names := list(dict.fromkeys(_arm_cores(text))):
        return ", ".join(names)
    if name := _first(entries, MODELS):
        return name
    machine = _first(entries, ("machine",))
    return f"IBM/S390 machine type {machine}" if count(machine) else ""


def _arm_cores(text: str) -> Iterator[str]:
    """Yield the name of each ARM core, also where the lines of all have been sorted."""
    implementer = 0
    for label, _, value in (line.partition(":") for line in text.splitlines()[:MOST_LINES]):
        key, word = label.strip().casefold(), value.strip()
        if key == "cpu implementer" and _is_hex(word):
            implementer = int(word, 16)
        elif key == "cpu part" and _is_hex(word):
            yield core_name(implementer, int(word, 16))


def _is_hex(text: str) -> bool:
    return bool(re.fullmatch("0x[0-9a-f]{1,8}", text))


def _counts(cpus: Sequence[Entry], entries: Sequence[Entry]) -> Counts:
    cores = [_key(cpu, SOCKETS, CORES) for cpu in cpus]
    if not cpus:
        total = count(_first(entries, ("# processors", "ncpus active", "cpus active")), MOST_CPUS)
        # Kernels for one ARM core do not number it: their only line of that name is in words.
        return Counts(total or (1 if _first(entries, ("processor",)) else None))
    if None in cores or not _is_whole(cpus, cores):
        return Counts(len(cpus))
    return counts_of_places((_key(cpu, SOCKETS), core) for cpu, core in zip(cpus, cores, strict=True))


def _key(cpu: Entry, *names: Sequence[str]) -> Hashable:
    """Return where a CPU is, by the first line there is of each of these names; None where one is missing."""
    parts = [_first([cpu], keys) for keys in names]
    outer = [cpu.get(name, "") for name in OUTER]
    return (*outer, *parts) if all(whole(part) is not None for part in parts) else None


def _is_whole(cpus: Sequence[Entry], cores: Sequence[Hashable]) -> bool:
    """Tell whether as many cores are told apart as the kernel says that a socket has, where it does.

    The numbers of cores are unlike within a die only, on some machines of two dies in a socket.
    """
    sockets = len({_key(cpu, SOCKETS) for cpu in cpus})
    cores_per_socket = count(cpus[0].get("cpu cores", ""), MOST_CPUS)
    return cores_per_socket is None or len(set(cores)) == sockets * cores_per_socket
