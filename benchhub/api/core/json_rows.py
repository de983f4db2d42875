"""Between JSON and the tables that grow in a form: the lines of a price sheet, the tiers of a licence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rest_framework import serializers

from benchhub.ui import row_cells
from benchhub.ui.row_cells import YES_NO, Field
from benchhub.ui.row_set import OF_ROW, RowSet

from .json_forms import Number, Strict


def serializer_of(fields: Sequence[Field], name: str) -> Any:
    """Make a serializer that checks the types of cells; their values are checked by the table itself."""
    return type(name, (Strict,), {**{field.name: _field(field) for field in fields}, "__module__": __name__})


def _field(field: Field) -> serializers.Field:
    options: dict[str, Any] = {"required": False, "allow_null": True, "help_text": field.help or None}
    if field.choices == YES_NO:
        return serializers.BooleanField(**options)
    if field.kind == "choice":
        return serializers.ChoiceField(choices=[(value, label) for value, label in field.choices], **options)
    if field.kind == "number":
        return Number(max_digits=None, decimal_places=None, **options)
    if field.kind == "day":
        return serializers.DateField(**options)
    if field.kind == "names":
        return serializers.ListField(child=serializers.CharField(max_length=200), **options)
    return serializers.CharField(allow_blank=True, max_length=4000, **options)


def texts(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return rows as they would be typed. A cell that is null, or left out, holds what a new row begins with."""
    return [{name: row_cells.written(value) for name, value in row.items() if value is not None} for row in rows]


def problems_of(rows: RowSet) -> list[dict[str, str]]:
    """Return what is wrong with a table, by row and column."""
    cut = [{"pointer": f"/{rows.prefix}", "detail": "There are too many rows."}] if rows.is_cut else []
    return cut + [
        {"pointer": f"/{rows.prefix}/{row.number}" + (f"/{name}" if name != OF_ROW else ""), "detail": sentence}
        for row in rows.rows
        for name, sentence in row.errors.items()
    ]
