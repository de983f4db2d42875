"""Numbers that a host printed: in their range, or absent. A text of a host may say anything, and is never believed."""

from __future__ import annotations

import re

LARGEST = 10**18 - 1  # fits PostgreSQL's bigint, and any size of a real disk or memory


def whole(text: str, largest: int = LARGEST) -> int | None:
    """Return a whole number of plain digits; None for all else, signs and what lies above `largest` included."""
    digits = text.strip()
    value = int(digits) if re.fullmatch("[0-9]{1,18}", digits) else None
    return value if value is not None and value <= largest else None


def count(text: str, largest: int = 2**20) -> int | None:
    """Return a number of things of which there is at least one, such as sockets."""
    return whole(text, largest) or None


def decimal(text: str) -> float | None:
    """Return a number with or without decimals, which is finite by its form: no exponent, no sign, no nan."""
    return float(text) if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{0,30})?", text.strip()) else None
