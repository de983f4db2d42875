"""Read and write licence rules as plain values: the canonical, versioned form that is stored and sent.

Decimals and days are text, and what holds its default is left out. Every field that cannot be read is named, with
what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from benchhub.analysis.words import plain

from .rules import CHOICES, Factor, LicenceRules, RulesError, Tier, defaults

VERSION = 1
WHOLE = "Write a whole number."
NUMBER = "Write a number as text, such as '0.5'."
FLAG = "Write true or false."
DAY = "Write a day as 2026-01-31."


class _UnreadableError(ValueError):
    pass


def to_mapping(rules: LicenceRules) -> dict[str, Any]:
    """Return the mapping that JSON keeps; `rules_from` gives the same rules again."""
    stated = {name: getattr(rules, name) for name, default in defaults().items() if getattr(rules, name) != default}
    return {"version": VERSION, "metric": rules.metric, **{name: _plain(value) for name, value in stated.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Factor | Tier):
        values = {field.name: getattr(value, field.name) for field in fields(value)}
        return {name: _plain(inner) for name, inner in values.items() if inner is not None}
    if isinstance(value, Decimal):
        return plain(value).replace(",", "")
    return value.isoformat() if isinstance(value, date) else value


def rules_from(mapping: Mapping[str, Any]) -> LicenceRules:
    """Read rules from a mapping. Raises RulesError with a message for each unknown, unreadable or wrong field."""
    names = {"metric", *defaults()}
    messages = {name: "There is no such field: leave it out." for name in mapping if name not in names | {"version"}}
    if mapping.get("version", VERSION) != VERSION:
        messages["version"] = f"These rules are of another version: this release reads version {VERSION}."
    if "metric" not in mapping:
        messages["metric"] = f"Say what is counted: {', '.join(CHOICES['metric'])}."
    values: dict[str, Any] = {}
    for name in names & mapping.keys():
        try:
            values[name] = _reader(name)(mapping[name])
        except _UnreadableError as error:
            messages[name] = str(error)
    if messages:
        raise RulesError(messages)
    return LicenceRules(**values)


def _reader(name: str) -> Callable[[Any], Any]:
    if name in CHOICES:
        return lambda value: _choice(name, value)
    if name in ("exempt_roles", "factors", "tiers"):
        return {"exempt_roles": _roles, "factors": _factors, "tiers": _tiers}[name]
    kind = TYPES[name]
    if "None" in kind:
        return _number_or_none if "Decimal" in kind else _whole_or_none
    return {"bool": _flag, "int": _whole, "Decimal": _number}[kind]


def _choice(name: str, value: Any) -> str:
    if value not in CHOICES[name]:
        raise _UnreadableError(f"Choose one of: {', '.join(CHOICES[name])}.")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _UnreadableError(FLAG)
    return value


def _whole(value: Any) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,18}\s*", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _UnreadableError(WHOLE)


def _number(value: Any) -> Decimal:
    """Read an exact number. Floats are refused: their text is not what a person wrote."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise _UnreadableError(NUMBER)
    try:
        number = Decimal(value.strip() if isinstance(value, str) else value)
    except InvalidOperation:
        raise _UnreadableError(NUMBER) from None
    if not number.is_finite():
        raise _UnreadableError(NUMBER)
    return number


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _number_or_none(value: Any) -> Decimal | None:
    return None if value is None else _number(value)


def _day_or_none(value: Any) -> date | None:
    if value is None or type(value) is date:
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise _UnreadableError(DAY) from None


def _roles(value: Any) -> frozenset[str]:
    if not isinstance(value, list | tuple | frozenset) or not all(isinstance(role, str) and role for role in value):
        raise _UnreadableError("Write a list of roles, such as standby.")
    return frozenset(value)


def _factors(value: Any) -> tuple[Factor, ...]:
    rows = _rows(value, {"processor", "factor", "since"}, {"factor"}, "factors, each with processor and factor")
    return tuple(
        Factor(str(row.get("processor", "")), _number(row["factor"]), _day_or_none(row.get("since"))) for row in rows
    )


def _tiers(value: Any) -> tuple[Tier, ...]:
    description = "tiers, each with from_units and either price or percent_off"
    rows = _rows(value, {"from_units", "price", "percent_off"}, {"from_units"}, description)
    return tuple(
        Tier(_whole(row["from_units"]), _number_or_none(row.get("price")), _number_or_none(row.get("percent_off")))
        for row in rows
    )


def _rows(value: Any, names: set[str], needed: set[str], description: str) -> list[Mapping[str, Any]]:
    rows = list(value) if isinstance(value, list | tuple) else []
    is_sound = all(isinstance(row, Mapping) and needed <= row.keys() <= names for row in rows)
    if not is_sound or not isinstance(value, list | tuple):
        raise _UnreadableError(f"Write a list of {description}.")
    return rows


TYPES = {field.name: str(field.type) for field in fields(LicenceRules)}
