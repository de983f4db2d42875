"""Compare PostgreSQL settings as people write them ('256MB') with those of pg_settings (32768 in units of 8kB)."""

from __future__ import annotations

import re
from decimal import Decimal

# PostgreSQL's own units, in bytes and in microseconds (documentation: 'Parameter Names and Values').
BYTES = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
MICROSECONDS = {
    "us": 1,
    "ms": 1000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
TRUE, FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}
# PostgreSQL takes names in any case. These alone it calls by names with capitals.
CAPITALS = {name.lower(): name for name in ("DateStyle", "IntervalStyle", "TimeZone")}
# A server that lies has any text for a setting or its unit: what is longer is no number.
_NUMBER = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?) {0,3}([A-Za-z]{0,10})")
_UNIT = re.compile(r"([0-9]{0,6})([A-Za-z]{0,10})")
_LARGEST = Decimal(10) ** 25  # beyond it remainders are not exact


def server_name(name: str) -> str:
    """Return the name of a setting as the server spells it, in whichever case it was typed."""
    return CAPITALS.get(name.lower(), name.lower())


def same_setting(configured: str, actual: str, actual_unit: str | None) -> bool:
    """Tell whether a configured setting is the actual one; `actual_unit` is pg_settings.unit, such as '8kB' or 'ms'."""
    if configured.strip().lower() == actual.strip().lower():
        return True
    if not actual_unit and {configured.lower(), actual.lower()} <= TRUE | FALSE:
        return (configured.lower() in TRUE) == (actual.lower() in TRUE)
    quantity = _quantity(configured, actual_unit)
    return quantity is not None and quantity == _quantity(actual, actual_unit)


def on_or_off(text: str) -> str:
    """Return one word for what PostgreSQL takes for the same ('TRUE', '1'); any other value in small letters."""
    word = text.strip().lower()
    return "on" if word in TRUE else "off" if word in FALSE else word


def in_unit_asked(configured: str, actual: str, actual_unit: str | None) -> str:
    """Write the actual setting in the configured unit: '128MB' for 16384 of 8kB if '256MB' is configured.

    It keeps its own unit if none is configured, if -1 or 0 has a meaning of its own, or if it would not be exact.
    """
    own_text = f"{actual} {actual_unit or ''}".strip()
    match, quantity = _NUMBER.fullmatch(configured.strip()), _quantity(actual, actual_unit)
    factor = _factor(match[2]) if match and match[2] else None
    if not factor or quantity is None or quantity <= 0:
        return own_text
    amount = round(quantity / factor, 3)
    return f"{amount.normalize():f}{match[2]}" if match and amount * factor == quantity else own_text


def readable(setting: str, unit: str) -> str:
    """Write a setting as people do: '128 MB' for 16384 of 8kB, '5 min' for 300 of s; without a unit as it is."""
    quantity = _quantity(setting, unit) if unit else None
    if quantity is None:
        return f"{setting} {unit}".strip()
    if quantity <= 0:
        return setting  # -1 and 0 have meanings of their own
    sizes = BYTES if _unit_name(unit) in BYTES else MICROSECONDS
    fitting = [name for name, size in sizes.items() if quantity % size == 0]
    return f"{quantity / sizes[fitting[-1]]:.0f} {fitting[-1]}" if fitting else f"{setting} {unit}"


def readable_text(text: str) -> str:
    """Write '16384 8kB' as '128 MB'; any other text as it is."""
    number, _, unit = text.partition(" ")
    return readable(number, unit) if unit and _factor(unit) and _quantity(number, unit) is not None else text


def seconds(text: str) -> int | None:
    """Return the seconds in a setting of time that counts in seconds by itself ('30min', '300'), or None."""
    quantity = _quantity(text, "s")
    return None if quantity is None else int(quantity / MICROSECONDS["s"])


def _quantity(text: str, default_unit: str | None) -> Decimal | None:
    """Return the value in bytes, microseconds or plain units; a number without a unit counts in the default one."""
    match = _NUMBER.fullmatch(text.strip())
    factor = _factor(match[2] or default_unit or "") if match else None
    quantity = Decimal(match[1]) * factor if match and factor is not None else None
    return quantity if quantity is not None and abs(quantity) < _LARGEST else None


def _unit_name(unit: str) -> str:
    return unit.lstrip("0123456789")


def _factor(unit: str) -> int | None:
    match = _UNIT.fullmatch(unit)
    size = {"": 1, **BYTES, **MICROSECONDS}.get(match[2]) if match else None
    return size * int(match[1] or 1) if match and size else None
