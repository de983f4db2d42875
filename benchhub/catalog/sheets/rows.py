"""The lines and discounts of a form as rows of the warehouse and as the engine prices them, with its complaints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.sheets.sheet import Discount, Line
from benchhub.catalog.models import PriceSheet, PriceSheetDiscount, PriceSheetLine
from benchhub.ui.row_set import OF_ROW, Row, RowSet

# Column of a discount, its name in the engine, and what of a line it names.
SCOPES = (
    ("of_sellers", "sellers", "seller"),
    ("of_categories", "categories", "category"),
    ("of_kinds", "kinds", "kind"),
    ("of_lines", "lines", "description"),
)
CODE = re.compile("[A-Z]{3}")
EVERY = Discount("every line", percent=Decimal(0))
NO_MAINTENANCE = ("maintenance_price", "maintenance_months", "maintenance_quantity")


def check_rows(lines: RowSet, discounts: RowSet) -> tuple[list[Line], list[Discount]]:
    """Return lines and discounts as the engine has them; what it refuses stands at the row."""
    stand_in = PriceSheet()
    priced = [line for row in lines.filled if (line := _line(row, stand_in))]
    filled = [(row, discount) for row in discounts.filled if (discount := _discount(row))]
    for row, discount in filled:
        if lines.is_valid and not any(discount.holds_for(line) for line in priced):
            column, sentence = _mismatch(discount, priced)
            row.errors[column] = sentence
    return priced, [discount for _, discount in filled]


def _line(row: Row, sheet: PriceSheet) -> Line | None:
    if row.errors or not _has_maintenance_in_order(row) or not _has_currency_in_order(row):
        return None
    try:
        return PriceSheetLine(**row.values).line(sheet)
    except PricingError as error:
        row.errors[OF_ROW] = str(error)
        return None


def _has_maintenance_in_order(row: Row) -> bool:
    per = row.values["maintenance_per"]
    if not per:
        row.errors |= {
            name: "Choose what the maintenance is for, or leave this empty."
            for name in NO_MAINTENANCE
            if row.values[name]
        }
    elif per == "itself" and row.values["maintenance_price"]:
        row.errors["maintenance_price"] = "Leave this empty: the unit price is the maintenance."
    return not row.errors


def _has_currency_in_order(row: Row) -> bool:
    currency, rate = row.values["currency"], row.values["exchange_rate"]
    if currency and not CODE.fullmatch(currency):
        row.errors["currency"] = "Write an ISO 4217 code, such as USD."
    elif currency and not rate:
        row.errors["exchange_rate"] = f"Write what 1 {currency} is in the sheet's currency."
    elif rate and not currency:
        row.errors["currency"] = "Write the currency that this rate is of, or leave the rate empty."
    return not row.errors


def _discount(row: Row) -> Discount | None:
    if row.errors:
        return None
    try:
        return PriceSheetDiscount(**row.values).discount()
    except PricingError as error:
        row.errors[OF_ROW] = str(error)
        return None


def _mismatch(discount: Discount, lines: Sequence[Line]) -> tuple[str, str]:
    """Return (column, sentence) where no line matches; OF_ROW where each column matches some line."""
    allowed = [line for line in lines if line.is_discountable]
    for column, engine, on in SCOPES:
        names = getattr(discount, engine)
        if names and not any(replace(EVERY, **{engine: names}).holds_for(line) for line in allowed):
            used_names = sorted({name for line in allowed if (name := getattr(line, on))})
            return column, f"No line matches. The lines have: {'; '.join(used_names[:8]) or 'none'}."
    if discount.scope:
        return OF_ROW, f"No line is{discount.scope}. A discount applies only to lines that match all of them."
    return OF_ROW, "There is no line that it could apply to."


def store_rows(sheet: PriceSheet, lines: RowSet, discounts: RowSet) -> None:
    """Store the rows of a sheet that was made in this transaction."""
    PriceSheetLine.objects.bulk_create(_numbered(PriceSheetLine, sheet, lines))
    PriceSheetDiscount.objects.bulk_create(_numbered(PriceSheetDiscount, sheet, discounts))


def _numbered(model: Any, sheet: PriceSheet, rows: RowSet) -> list[Any]:
    return [model(of_sheet=sheet, position=number, **row.values) for number, row in enumerate(rows.filled, start=1)]
