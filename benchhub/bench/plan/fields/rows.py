"""Forms that repeat on a page, such as systems or steps: read as they were typed, added and removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import QueryDict


def typed_rows(data: QueryDict, prefix: str, names: Iterable[str], most: int) -> list[dict[str, Any]]:
    """Return the values of each form of a prefix, `most` at most, as they were typed. Nothing is checked."""
    total, fields = data.get(f"{prefix}-TOTAL_FORMS", ""), tuple(names)
    count = min(int(total), most) if total.isdecimal() and len(total) < 10 else 1
    return [{name: data.get(f"{prefix}-{i}-{name}", "") for name in fields} for i in range(count)]


def resized(rows: Sequence[Mapping[str, Any]], data: QueryDict) -> list[Mapping[str, Any]]:
    """Return the rows without the one whose number is in `remove`, or with one more at the end."""
    removed = data.get("remove", "")
    if removed.isdecimal():
        return [row for number, row in enumerate(rows) if str(number) != removed] or [{}]
    return [*rows, {}]
