"""Facts as a page shows them: in words, with their units, in sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

# The parts of names of fields, of PostgreSQL's statistics above all, as people write them.
WORDS = {
    "avg": "average", "blk": "block", "blks": "blocks", "cpu": "CPU", "cpus": "CPUs",
    "datname": "database", "fpi": "full page images", "fs": "file system", "id": "ID", "io": "I/O",
    "iowait": "waiting for I/O", "lsn": "position in WAL", "mem": "memory",
    "mqth": "MQTh", "num": "number", "numa": "NUMA", "os": "OS", "pg": "PostgreSQL", "stat": "statistics",
    "stddev": "standard deviation", "tps": "TPS", "tup": "rows", "wal": "WAL", "warmup": "warm-up",
    "xact": "transaction",
}  # fmt: skip
NAMES = {
    "blks_hit": "blocks found in shared buffers", "blks_read": "blocks read from outside shared buffers",
    "num_requested": "checkpoints asked for", "num_timed": "checkpoints by the clock",
    "pg_stat_bgwriter": "Background writer", "pg_stat_checkpointer": "Checkpointer",
    "pg_stat_database": "Database statistics", "pg_stat_wal": "WAL statistics",
    "xact_commit": "transactions committed", "xact_rollback": "transactions rolled back",
}  # fmt: skip
UNIT_SUFFIXES = ("bytes", "percent", "ms", "us", "s", "mb", "kb")
NO_LIMIT = "none"  # in place of a number, so that it stands under the same name


@dataclass(frozen=True, slots=True)
class Fact:
    """A value under a name in words; `field` is the name that it came by, for those who look for it."""

    name: str
    value: Any
    unit: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    facts: tuple[Fact, ...]


def sections(*trees: tuple[str, Mapping[str, Any]]) -> list[Section]:
    """Return nested facts as sections of plain ones, at any depth: {"cpu": {"user_s": 1}} is section 'cpu'."""
    parts = []
    for name, tree in trees:
        inner = list(_inner(tree))
        plain = {key: value for key, value in tree.items() if not _is_nested(value) and value not in ("", [], ())}
        if plain:
            parts.append(Section(in_words(name), tuple(as_fact(key, value) for key, value in plain.items())))
        parts += sections(*inner)
    return parts


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(part, Mapping) for part in value))


def _inner(tree: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the mappings in a tree by name; those in a list (disks) by the name of the list and their own."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield key, value
        elif _is_nested(value):
            parts = [part for part in value if isinstance(part, Mapping)]
            yield from ((f"{key} {part.get('name') or part.get('folder') or ''}".strip(), part) for part in parts)
            if rest := [part for part in value if not isinstance(part, Mapping)]:
                yield key, {key: rest}


def as_fact(name: str, value: Any) -> Fact:
    """Return a named value as a fact: in words, with the unit that its name ends with."""
    return replace(_fact(name, value), field=name)


def _fact(name: str, value: Any) -> Fact:
    if isinstance(value, int | float) and (special := _special_or_none(name, value)):
        return special
    stem, _, suffix = name.rpartition("_")
    if stem and suffix in UNIT_SUFFIXES and value == NO_LIMIT:
        return Fact(in_words(stem), value)
    if stem and suffix in UNIT_SUFFIXES and isinstance(value, int | float):
        return Fact(in_words(stem), value, {"percent": "%", "us": "µs"}.get(suffix, suffix))
    if isinstance(value, Mapping):
        value = ", ".join(f"{part} {inner}" for part, inner in value.items())
    elif isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return Fact(in_words(name), value)


def _special_or_none(name: str, value: float) -> Fact | None:
    """Return None for numbers that cannot be what their name says: imported facts may be any."""
    try:
        return _special(name, value)
    except (OverflowError, ValueError):
        return None


def _special(name: str, value: float) -> Fact | None:
    """Return numbers that stand for something else (times, versions, shares) as facts; None for others."""
    if name.endswith("epoch_s"):
        words = in_words(name.removesuffix("epoch_s").rstrip("_")) or "time"
        return Fact(words, _moment(value))
    if name.endswith("version_num"):
        return Fact(in_words(name.removesuffix("_num")), _version(int(value)))
    if name == "log_sampling_rate":
        return Fact("logged", _share_of_transactions(value))
    # The times of PostgreSQL's statistics views are all in milliseconds, and their names do not say so.
    return Fact(in_words(name), value, "ms") if name.endswith("_time") else None


def _moment(epoch_s: float) -> datetime | float:
    """Return a time. Imported facts may be any number: what is no time of this calendar stays a number."""
    try:
        return datetime.fromtimestamp(epoch_s, UTC)
    except (OverflowError, ValueError, OSError):
        return epoch_s


def _version(number: int) -> str:
    """Write 180004 as 18.4, and 90624 as 9.6.24."""
    first, rest = divmod(number, 10_000)
    return f"{first}.{rest}" if first >= 10 else f"{first}.{rest // 100}.{rest % 100}"


def _share_of_transactions(rate: float) -> str:
    if rate in (0, 1):
        return "every transaction" if rate else "no transaction"
    step = round(1 / rate)
    return f"1 of {step:,} transactions" if abs(step * rate - 1) < 0.001 else f"{100 * rate:.3g}% of transactions"


def in_words(name: str) -> str:
    """Write wal_bytes as WAL bytes; paths and names of settings with dots stay as they are."""
    if name in NAMES:
        return NAMES[name]
    parts = (part if "/" in part or "." in part else part.replace("_", " ") for part in name.split())
    return " ".join(WORDS.get(word, word) for word in " ".join(parts).split())
