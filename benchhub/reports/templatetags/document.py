"""Filters of the templates of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def title_at(columns: Sequence[Mapping[str, Any]], place: int) -> str:
    """Return the title of a cell's column: phones show it above the cell."""
    return str(columns[place]["title"])
