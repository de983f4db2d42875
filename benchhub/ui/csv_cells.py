"""Cells of CSV files that somebody may open with a spreadsheet."""

from __future__ import annotations

from typing import Any

# The wide forms as well: a spreadsheet that is set to an East Asian language takes them for the narrow ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


def harmless(cell: Any) -> Any:
    """Keep a name that a spreadsheet would take for a formula as text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell
