"""Compute canonical forms and digests, versioned so that an upgrade does not split history.

A canonical form is JSON with sorted keys, no white space, numbers as integers or decimal text, and without
entries that hold their default. Its digest is the SHA-256 of its UTF-8 bytes, in hex. Changing a form is
adding a version; the golden cases in test_digest.py must never change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from . import settings

PROTOCOL_VERSION = 1
SYSTEM_VERSION = 1
FACTS_VERSION = 1

# Left out of a protocol while they hold these values, so that adding a field keeps old digests.
PROTOCOL_DEFAULTS: Mapping[str, Any] = {
    "warmup_s": 0,
    "vacuum": False,
    "checkpoint": False,
    "durability": {},
    "thread_rule": "clients",
    "loading": "once",
    "warmup_run": {},
    "settle_s": 0,
    "restart": False,
    "drop_caches": False,
    "open_loop": {},
}
# The fields of a protocol as people call them.
PROTOCOL_LABELS: Mapping[str, str] = {
    "tool": "load generator",
    "parameters": "parameters of the workload",
    "data_set": "data set",
    "client": "client program",
    "duration_s": "duration",
    "warmup_s": "warm-up",
    "vacuum": "vacuum before each run",
    "checkpoint": "checkpoint before each run",
    "thread_rule": "threads",
    "loading": "loading of the data set",
    "warmup_run": "warm-up as a run of its own",
    "settle_s": "settling before each run",
    "restart": "restart of the server before each run",
    "drop_caches": "dropping of caches before each run",
    "open_loop": "open loop (clients and latency limit)",
    "path": "connection path",
}
# PostgreSQL's own defaults of what makes a commit durable.
DURABLE: Mapping[str, str] = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


def canonical(value: Mapping[str, Any]) -> str:
    """Return the one text of a mapping of plain values. Raises TypeError for a float, which has several texts."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def protocol_form(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that two curves must share to be compared: workload, data set, duration, threads and others."""
    form = {k: v for k, v in fields.items() if k not in PROTOCOL_DEFAULTS or v != PROTOCOL_DEFAULTS[k]}
    return {"version": PROTOCOL_VERSION, "kind": "protocol", **form}


def system_form(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a system as it was asked for, which is what comparisons go by."""
    return {"version": SYSTEM_VERSION, "kind": "system", **{k: v for k, v in fields.items() if v not in (None, "", {})}}


def facts_form(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of what a probe found; unlike a plan it may hold floats (a clock rate), as shortest text."""
    return {"version": FACTS_VERSION, "kind": "facts", **_floats_as_text(fields)}


def _floats_as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _floats_as_text(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_floats_as_text(inner) for inner in value]
    return repr(value) if isinstance(value, float) else value


def durability(configured: Mapping[str, Any], *, volatile_storage: bool) -> dict[str, str]:
    """Return the settings that make durability less than, or other than, PostgreSQL's default; empty if none does."""
    durable = {name: settings.on_or_off(str(configured.get(name, default))) for name, default in DURABLE.items()}
    relaxed = {name: value for name, value in durable.items() if value != DURABLE[name]}
    return {**relaxed, "storage": "volatile"} if volatile_storage else relaxed


def differing_fields(form: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the top-level fields in which two canonical forms differ."""
    return sorted(k for k in form.keys() | other.keys() if form.get(k) != other.get(k))


def labels(fields: Iterable[str]) -> list[str]:
    """Return the fields of a protocol in words, for sentences and tables: 'warm-up' of warmup_s."""
    return [PROTOCOL_LABELS.get(field, field.replace("_", " ")) for field in fields]


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError(f"{value!r}: write a float as an integer in a smaller unit or as decimal text")
    if isinstance(value, Mapping):
        for inner in value.values():
            _refuse_floats(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_floats(inner)
