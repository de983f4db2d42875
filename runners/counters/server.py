"""What a server says in a snapshot, which is never believed: its rows of JSON, and what their counters come to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runners.readings import storable_json

from .sql import SINCE, STATISTICS

LONGEST_REMARK = 1000
STANDBY = (
    "The server was a standby: read only, while it replayed what its primary sent. It has no WAL bytes of its own."
)


def json_values(pairs: list[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    """Return what the server says, by name, and sentences on what it or psql could not."""
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


def settings(pairs: list[tuple[str, str]], remarks: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the server's settings by name; each that cannot be read adds a sentence to `remarks`."""
    for name, value in pairs:
        if name == "setting":
            row = _read_json(value)
            if _is_row(row) and _is_text(row.get("name")) and _is_text(row.get("setting")):
                yield row.pop("name"), row
            else:
                remarks.append("A setting of the server cannot be read: it is left out.")


def missing(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each thing that this version of the server has, but the snapshot has not."""
    if "server" not in values:
        return
    version = values["server"]["server_version_num"]
    for name in STATISTICS:
        if name not in values and version >= SINCE.get(name, 0):
            yield f"{name} could not be read."
    if "wal_position" not in values:
        is_standby = values["server"]["in_recovery"]
        yield STANDBY if is_standby else "No WAL bytes: the position could not be read."


def counted(name: str, before: Mapping[str, Any], after: Mapping[str, Any], remarks: list[str]) -> dict[str, Any]:
    """Return by how much the counters of a view rose, below its name; what they cannot say is added to `remarks`."""
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


def wal_bytes(position: str) -> int | None:
    """Return a position like '16/B374D848' as a number of bytes; None for any other text."""
    match = re.fullmatch("([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", position)
    return (int(match[1], 16) << 32) + int(match[2], 16) if match else None
