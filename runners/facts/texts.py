"""Texts of a host taken apart: lines of names and values, memory, the release of the operating system."""

from __future__ import annotations

from runners.readings import LARGEST, whole

LARGEST_KIB = LARGEST // 1024
MOST_LINES = 2**16
LONGEST_NAME = 256
MEMORY = {"MemTotal": "memory_bytes", "SwapTotal": "swap_bytes", "Hugepagesize": "huge_page_bytes"}


def pairs(text: str, separator: str = "=") -> dict[str, str]:
    lines = (line.partition(separator) for line in text.splitlines()[:MOST_LINES] if separator in line)
    return {key.strip(): " ".join(value.split()) for key, _, value in lines}


def memory(text: str) -> dict[str, int]:
    """Return the sizes in /proc/meminfo, all of which are in kB; one in another unit, or in none, is not believed."""
    values = pairs(text, ":")
    sizes = {ours: _kib(values[theirs]) for theirs, ours in MEMORY.items() if theirs in values}
    return {name: kib * 1024 for name, kib in sizes.items() if kib or (kib == 0 and name == "swap_bytes")}


def _kib(text: str) -> int | None:
    number, _, unit = text.partition(" ")
    return whole(number, LARGEST_KIB) if unit.casefold() == "kb" else None


def memory_modules(text: str) -> list[dict[str, int | str]]:
    """Return memory modules by kind and size, of lines 'MB kind' that the probe prints one for each module."""
    counts: dict[tuple[int, str], int] = {}
    for line in text.splitlines()[:1024]:
        size, _, kind = line.partition(" ")
        if mib := whole(size, 2**30):
            counts[mib, kind.strip()[:64]] = counts.get((mib, kind.strip()[:64]), 0) + 1
    return [{"count": count, "size_bytes": mib * 2**20, "kind": kind} for (mib, kind), count in sorted(counts.items())]


def release(text: str, line: str) -> dict[str, str]:
    """Return the operating system by os-release; by the one line of an older release file where that is all."""
    values = {name: value.strip("\"'").replace("\\", "")[:LONGEST_NAME] for name, value in pairs(text).items()}
    name = values.get("PRETTY_NAME") or " ".join(filter(None, (values.get("NAME"), values.get("VERSION"))))
    fields = {
        "id": values.get("ID"),
        "version_id": values.get("VERSION_ID"),
        "name": name or line.strip()[:LONGEST_NAME],
    }
    return {key: value for key, value in fields.items() if value}
