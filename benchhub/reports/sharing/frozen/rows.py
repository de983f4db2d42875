"""Rows of the catalogue as plain values in a snapshot, and back.

A field that a later release drops is passed over, and one that it adds has its default: a snapshot outlives both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import Model

from benchhub.catalog.models import PriceSheet, PriceSheetDiscount, PriceSheetLine

Row = TypeVar("Row", bound=Model)
Values = dict[str, Any]
# No price rests on these.
LEFT_OUT = frozenset({"remark", "created_at", "retired_at", "price_import", "taken_back_at", "taken_back_by"})


def values(row: Model) -> Values:
    """Return the fields of a row: amounts as decimal text, days as ISO 8601."""
    fields = [field.attname for field in row._meta.concrete_fields if field.name not in LEFT_OUT]
    return {name: _plain(getattr(row, name)) for name in fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date) else value


def row(model: type[Row], values: Mapping[str, Any]) -> Row:
    """Return a row that is never saved."""
    fields = {field.attname: field for field in model._meta.concrete_fields}
    return model(**{name: fields[name].to_python(value) for name, value in values.items() if name in fields})


def sheet_values(sheet: PriceSheet) -> Values:
    """Return a price sheet with its lines and discounts."""
    lines, discounts = ([values(row) for row in rows.all()] for rows in (sheet.lines, sheet.discounts))
    return {**values(sheet), "lines": lines, "discounts": discounts}


def sheet(sheet_values: Mapping[str, Any]) -> PriceSheet:
    """Return a price sheet whose lines and discounts ask no database."""
    sheet = row(PriceSheet, sheet_values)
    parts = (("lines", PriceSheetLine), ("discounts", PriceSheetDiscount))
    # Where prefetch_related leaves what it has fetched.
    cache = {name: [row(model, part) for part in sheet_values[name]] for name, model in parts}
    sheet._prefetched_objects_cache = cache  # type: ignore[attr-defined]  # Django declares it nowhere
    return sheet


def by_key(model: type[Row], rows: Sequence[Mapping[str, Any]]) -> dict[int, Row]:
    built = [row(model, values) for values in rows]
    return {int(instance.pk): instance for instance in built}
