"""What the templates of a document look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def title_at(columns: Sequence[Mapping[str, Any]], place: int) -> str:
    """The title of the column in which a cell stands, for phones, where it stands above the cell."""
    return str(columns[place]["title"])
