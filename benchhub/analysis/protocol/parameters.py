"""The settings that a PostgreSQL build knows, and values as that server reads them: type, unit, range, spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from math import isfinite
from typing import Any

from .settings import BYTES, FALSE, MICROSECONDS, TRUE

LONGEST_VALUE = 1000
# The value by which a setting is left to the server: pg_settings then shows what it has chosen.
CHOSEN_BY_SERVER: Mapping[str, str] = {
    "wal_buffers": "-1",
    "commit_timestamp_buffers": "0",
    "subtransaction_buffers": "0",
    "transaction_buffers": "0",
}
_NUMBER = re.compile(
    r"([+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]{0,10})"
)
_HEX, _OCTAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}"), re.compile(r"[+-]?0[0-7]{1,16}")
# Words that the server takes for another of its choices: pg_settings shows that one.
_IN_PLACE: Mapping[tuple[str, str], str] = {("wal_compression", "on"): "pglz"}
# Words of DateStyle, by how they begin; what a style alone leaves open is the server's default, but for German.
_STYLES = {"iso": "ISO", "sql": "SQL", "postgres": "Postgres", "german": "German"}
_ORDERS = {"ymd": "YMD", "dmy": "DMY", "euro": "DMY", "mdy": "MDY", "us": "MDY", "noneuro": "MDY"}
_WHOLE_WORDS = {"iso", "sql", "german", "ymd", "dmy", "mdy", "us"}
ZONES = ("TimeZone", "log_timezone")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_/+-]*")
_UNIT = re.compile(r"([0-9]*)([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting as pg_settings describes it: `kind` is vartype, `unit` such as '8kB' or 'ms', empty for none."""

    name: str
    kind: str
    unit: str = ""
    context: str = "user"
    lowest: str = ""
    highest: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""

    @property
    def needs_restart(self) -> bool:
        return self.context == "postmaster"


def parameter(name: str, row: Mapping[str, Any]) -> Parameter:
    """Return the parameter of a stored row: kind, unit, context, lowest, highest, choices, default."""
    texts = {key: str(row.get(key) or "") for key in ("kind", "unit", "context", "lowest", "highest", "default")}
    return Parameter(name, choices=tuple(map(str, row.get("choices") or ())), **texts)


def in_force(parameter: Parameter, value: str) -> str:
    """Return the value as pg_settings shows it once it is in force: '16384' for '128MB' of shared_buffers.

    Raises ValueError, as a sentence without its subject, for what the server would not take.
    """
    text = value.strip()
    if len(value) > LONGEST_VALUE or not value.isprintable():
        raise ValueError(f"takes one line of at most {LONGEST_VALUE:,} characters.")
    if parameter.kind == "bool":
        return _switch(value)
    if parameter.kind == "enum":
        return _choice(parameter, value)
    if parameter.kind in ("integer", "real"):
        return _number(parameter, text)
    if parameter.name == "DateStyle":
        return _date_style(text)
    if parameter.name in ZONES and not _ZONE.fullmatch(text):
        raise ValueError(f"is the name of a zone such as Europe/Berlin, not '{text}'.")
    return value


def unit_bytes(unit: str) -> int | None:
    """Return the bytes of a unit of memory ('8kB' is 8192); None for a unit of time, or for none."""
    return _size(unit, BYTES)


def _switch(text: str) -> str:
    word = text.lower()
    if word in TRUE | FALSE:
        return "on" if word in TRUE else "off"
    # PostgreSQL takes the beginnings of words, as long as they are of one alone: 'o' is not.
    fits = {full in TRUE for full in TRUE | FALSE if len(full) > 1 and full.startswith(word)} if word else set()
    if len(fits) != 1:
        raise ValueError(f"is on or off, not '{text}'.")
    return "on" if fits.pop() else "off"


def _choice(parameter: Parameter, text: str) -> str:
    by_word = {choice.lower(): choice for choice in parameter.choices}
    word = text.lower()
    if word not in by_word and word in TRUE | FALSE:
        word = "on" if word in TRUE else "off"
    if word in by_word:
        return by_word.get(_IN_PLACE.get((parameter.name, word), word), by_word[word])
    raise ValueError(f"is {_either(tuple(filter(None, parameter.choices)))}, not '{text}'.")


def _date_style(text: str) -> str:
    """Return style and order of days as the server shows them: 'ISO, DMY' for 'dmy'."""
    styles: set[str] = set()
    orders: set[str] = set()
    for word in (part.strip().strip('"').lower() for part in text.split(",")):
        style, order = _beginning(word, _STYLES), _beginning(word, _ORDERS)
        if not style and not order:
            raise ValueError(f"is ISO, SQL, Postgres or German, with MDY, DMY or YMD, not '{text}'.")
        styles, orders = styles | {style}, orders | {order}
    if len(styles - {""}) > 1 or len(orders - {""}) > 1:
        raise ValueError(f"is one style and one order, not '{text}'.")
    style, order = "".join(styles) or "ISO", "".join(orders)
    return f"{style}, {order or ('DMY' if style == 'German' else 'MDY')}"


def _beginning(word: str, names: Mapping[str, str]) -> str:
    fits = (
        full for name, full in names.items() if word == name or (name not in _WHOLE_WORDS and word.startswith(name))
    )
    return next(fits, "")


def _either(choices: tuple[str, ...]) -> str:
    *others, last = choices or ("nothing",)
    return f"{', '.join(others)} or {last}" if others else last


def _number(parameter: Parameter, text: str) -> str:
    amount = _amount(parameter, text)
    if parameter.kind == "integer":
        amount = amount.to_integral_value(ROUND_HALF_EVEN)
    _require_range(parameter, amount, text)
    return f"{amount:f}" if parameter.kind == "integer" else f"{amount.normalize():f}"


def _amount(parameter: Parameter, text: str) -> Decimal:
    """Return the number in the parameter's own unit."""
    if parameter.kind == "integer" and (_HEX.fullmatch(text) or _OCTAL.fullmatch(text)):
        return Decimal(int(text, 16 if _HEX.fullmatch(text) else 8))
    match = _NUMBER.fullmatch(text)
    if not match or not isfinite(float(match[1])):
        noun = "a whole number" if parameter.kind == "integer" else "a number"
        raise ValueError(f"is {noun}{_with_unit(parameter)}, not '{text}'.")
    if not match[2]:
        return Decimal(match[1])
    return Decimal(match[1]) * _factor(parameter, match[2])


def _with_unit(parameter: Parameter) -> str:
    return f", with one of the units {_units(parameter)} or none" if parameter.unit else ""


def _units(parameter: Parameter) -> str:
    return ", ".join(BYTES if unit_bytes(parameter.unit) else MICROSECONDS)


def _factor(parameter: Parameter, unit: str) -> Decimal:
    if not parameter.unit:
        raise ValueError(f"takes no unit: write the number without '{unit}'.")
    table = BYTES if unit_bytes(parameter.unit) else MICROSECONDS
    own = _size(parameter.unit, table)
    if unit not in table or not own:
        raise ValueError(f"takes the units {_units(parameter)}, not '{unit}': small and capital letters differ.")
    return Decimal(table[unit]) / own


def _size(unit: str, table: Mapping[str, int]) -> int | None:
    match = _UNIT.fullmatch(unit)
    size = table.get(match[2]) if match else None
    return size * int(match[1] or 1) if match and size else None


def _require_range(parameter: Parameter, amount: Decimal, text: str) -> None:
    lowest, highest = (Decimal(bound) if bound else None for bound in (parameter.lowest, parameter.highest))
    if (lowest is not None and amount < lowest) or (highest is not None and amount > highest):
        unit = f" {parameter.unit}" if parameter.unit else ""
        is_converted = unit and not text.lstrip("+-").replace(".", "").isdecimal()
        own = f" ({amount.normalize():f}{unit})" if is_converted else ""
        raise ValueError(f"is from {parameter.lowest} to {parameter.highest}{unit}, not {text}{own}.")
