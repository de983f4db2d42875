"""The plan of a run as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from benchhub.ui.facts import Fact, as_fact
from runners import tools
from runners.contract import RunSpec

# What the first two led to is the share that was logged; the others are facts of the instance and its configuration.
INTERNAL = ("expected_tps", "pilot_s", "data_directory", "cluster")
# No and 0 of these mean of an imported run that nobody said it.
UNKNOWN_ELSEWHERE = (
    "port",
    "warmup_s",
    "vacuum",
    "checkpoint",
    "settle_s",
    "drop_caches",
    "watch_idle_s",
    "deadline_s",
)
NO_AMOUNTS = ("port", "pooler_port", "seed")  # numbers that name something: no separators


def spec_facts(spec: Mapping[str, Any], *, is_imported: bool = False) -> list[Fact]:
    """Return what was asked for, flat and in the order of RunSpec (the database keeps none); numbers as they were.

    Of an imported run without what only a plan of ours says: how it was prepared nobody knows.
    """
    flat: dict[str, Any] = {}
    tool = tools.get(spec["tool"])
    # What stands in place of a field: the version is pgbench's, whatever the load generator.
    instead = {
        "parameters": tool.in_full(spec.get("parameters") or {}),
        "tool_version": {"client_program": tool.client(spec.get("tool_version", ""))},
        "pooler": _pooler(spec.get("pooler") or {}),
    }
    for field in fields(RunSpec):
        if field.name in INTERNAL:
            continue
        value = instead.get(field.name, spec.get(field.name))
        flat |= value if isinstance(value, Mapping) else {field.name: value}
    if is_imported:
        flat = {name: value for name, value in flat.items() if value or name not in UNKNOWN_ELSEWHERE}
    return [_fact(name, value) for name, value in flat.items() if value not in (None, "", [])]


def _pooler(pooler: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pooler's fields under names of their own; empty where the load goes to the server."""
    names = {"kind": "pooler", "address": "pooler_address", "port": "pooler_port", "tls": "pooler_tls"}
    return {names[field]: value for field, value in pooler.items()}


def _fact(name: str, value: Any) -> Fact:
    fact = as_fact(name, value)
    if isinstance(value, bool | None):
        return fact
    is_amount = isinstance(fact.value, int) and name not in NO_AMOUNTS
    text = f"{fact.value:,}" if is_amount else fact.value
    return Fact(fact.name, f"{text} {fact.unit}".strip())
