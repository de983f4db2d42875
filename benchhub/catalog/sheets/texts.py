"""A price sheet as text, column by column: what its form shows, what CSV holds, and what both are read by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from benchhub.analysis.pricing.sheets.sheet import MOST_SURCHARGED_PERCENT
from benchhub.catalog.models import PriceSheet, PriceSheetDiscount, PriceSheetLine
from benchhub.ui import row_set
from benchhub.ui.row_cells import Field, choice, day, flag, names, number, text, whole, written

OF_PERCENT = (("list", "list price"), ("paid", "price as paid"))
SCOPE = "Empty: all. Separate several with semicolons. The discount applies only to lines that match all of them."
LINE = (
    text("description", "Description", 200, is_required=True, is_wide=True, help="As the offer names it."),
    number("quantity", "Quantity", least=0, empty=Decimal(1), default="1", help="0 or more."),
    number(
        "unit_price", "Unit price", places=8, is_required=True, help="At list price; a credit is a price below 0."
    ),
    choice("charged", "Charged", PriceSheetLine.Charged.choices, help="Once, or for each year or month of the term."),
    text("category", "Category", 80, help="The heading it is summed under: Server, Storage, Software."),
    choice("kind", "Kind", PriceSheetLine.Kind.choices, help="What it is in a split of the price."),
    choice(
        "maintenance_per",
        "Maintenance",
        [("", "none"), *PriceSheetLine.Per.choices],
        help="What the maintenance price is for; with per cent it is a percentage.",
    ),
    number(
        "maintenance_price", "Its price", places=8, least=0, empty=Decimal(0),
        help="Of one unit, or per cent of the price.",
    ),
    text("part_number", "Part number", 80, is_more=True),
    text(
        "seller", "Seller", 120, is_more=True,
        help="Who sells it, or the number of the price source: discounts can be on a seller's lines.",
    ),
    whole(
        "spares", "Spares", empty=0, is_more=True,
        help="Bought beside the quantity, and not maintained: 10%, 2 at least, may stand in for maintenance.",
    ),
    number(
        "contracted_price", "Contracted price", places=8, is_more=True, help="Of one unit, instead of the list price."
    ),
    number(
        "discount_percent", "Discount, %", places=6, least=0, most=100, empty=Decimal(0), is_more=True,
        help="Of this line alone; write this or a contracted price.",
    ),
    flag(
        "is_discountable", "In discounts", default="yes", is_more=True,
        help="Whether the sheet's discounts apply to this line.",
    ),
    whole(
        "maintenance_months", "Months paid", is_more=True,
        help="Where a warranty covers the others; empty: the whole term.",
    ),
    number(
        "maintenance_quantity", "Maintained units", least=0, is_more=True,
        help="Where not all are; empty: the quantity.",
    ),
    choice("maintenance_percent_of", "Per cent of", OF_PERCENT, is_more=True, help="Of which price."),
    choice(
        "support", "Support", [("", "as priced"), *PriceSheetLine.Support.choices], is_more=True,
        help="Free software says here that it is unsupported, that support is bought, or what else includes it.",
    ),
    text("currency", "Currency", 3, is_more=True, help="Where the price is not in the sheet's: its ISO 4217 code."),
    number(
        "exchange_rate", "Rate", places=8, least=0, most=9_999_999_999, is_more=True,
        help="What 1 of that currency is in the sheet's, by the sheet's source and day.",
    ),
    day("available_on", "Available on", is_more=True, help="When it can be bought."),
    day("priced_on", "Priced on", is_more=True, help="Where it is not the sheet's day."),
)  # fmt: skip
DISCOUNT = (
    text("description", "Description", 200, is_required=True, is_wide=True),
    number(
        "percent",
        "Per cent",
        places=6,
        least=-MOST_SURCHARGED_PERCENT,
        most=100,
        help="Write this or an amount; a surcharge is below 0.",
    ),
    number("amount", "Amount", help="A fixed amount that is taken off; a surcharge is below 0."),
    choice("columns", "Column", PriceSheetDiscount.Columns.choices),
    names("of_sellers", "Of sellers", 120, help=f"The sellers it is on. {SCOPE}"),
    names("of_categories", "Of categories", 80, help=f"The categories it is on. {SCOPE}"),
    names("of_kinds", "Of kinds", 8, help=f"The kinds it is on: hardware, licence, support, other. {SCOPE}"),
    names("of_lines", "Of lines", 200, help=f"The part numbers or descriptions it is on. {SCOPE}"),
    choice("rounding", "Rounded", PriceSheetDiscount.Rounding.choices, is_more=True),
    whole("places", "Decimals", least=-6, most=6, empty=2, default="2", is_more=True),
    choice("rounded_per", "Rounded where", PriceSheetDiscount.RoundedPer.choices, is_more=True),
    flag("is_on_rest", "On what is left", default="no", is_more=True, help="Of what earlier discounts leave."),
)
SHEET = (
    text("name", "Name", 120),
    text("hardware", "Hardware", 140),
    text("currency", "Currency", 3),
    day("priced_on", "Priced on"),
    text("source", "Source", 300),
    whole("term_months", "Term, months", least=1, empty=36, default="36"),
    whole("places", "Decimals", most=6, empty=2, default="2"),
    choice("rounded_per", "Rounded where", PriceSheet.RoundedPer.choices),
    choice("rounding", "Rounded", PriceSheet.Rounding.choices),
    whole("total_places", "Decimals of the total", least=-6, most=6),
    flag("is_large_quantity", "Large quantity", default="no"),
    Field("remark", "Remark", str),
)
TABLES: Mapping[str, tuple[Field, ...]] = {"lines": LINE, "discounts": DISCOUNT}
SHEET_NAMES = tuple(field.name for field in SHEET)
NEW = {"currency": "EUR", "term_months": "36", "places": "2", "rounded_per": "line", "rounding": "nearest"}
Rows = list[Mapping[str, str]]


@dataclass(slots=True)
class SheetTexts:
    """`sheet` by field; its hardware is a row's key in a form and a name in CSV."""

    sheet: dict[str, str] = field(default_factory=dict)
    lines: Rows = field(default_factory=list)
    discounts: Rows = field(default_factory=list)


def empty_texts() -> SheetTexts:
    return SheetTexts(dict(NEW), [{}, {}, {}], [])


def sent_texts(data: QueryDict) -> SheetTexts:
    """Return what a form has sent, with the row added or removed that it asks for."""
    lines, discounts = (
        row_set.resized(row_set.sent(data, table, fields), table, data) for table, fields in TABLES.items()
    )
    sheet = {name: data.get(name, "").strip() for name in SHEET_NAMES}
    sheet["is_large_quantity"] = "yes" if sheet["is_large_quantity"] in ("yes", "on") else "no"
    return SheetTexts(sheet, lines, discounts)


def texts_of(sheet: PriceSheet) -> SheetTexts:
    """Return the texts of a saved sheet, to be revised."""
    fields = {name: written(getattr(sheet, name)) for name in SHEET_NAMES if name != "hardware"}
    return SheetTexts(
        {**fields, "hardware": written(sheet.hardware_id)},
        _rows(sheet.lines.all(), LINE),
        _rows(sheet.discounts.all(), DISCOUNT),
    )


def _rows(rows: Iterable[Any], fields: Sequence[Field]) -> Rows:
    return [{column.name: _text(column, getattr(row, column.name)) for column in fields} for row in rows]


def _text(column: Field, value: Any) -> str:
    """Write a value; a default that is empty is written as nothing, so that a row shows only what it says."""
    return "" if value == column.empty and not column.default else written(value)


def added_texts(typed: SheetTexts, read: SheetTexts, is_replacing: bool) -> SheetTexts:
    """Return a file's texts beside those that were typed, or instead of them; a name that was typed stays."""
    if is_replacing:
        sheet = {**typed.sheet, **read.sheet, "name": typed.sheet.get("name") or read.sheet.get("name", "")}
        return SheetTexts(sheet, read.lines, read.discounts)
    sheet = {**typed.sheet, **{name: text for name, text in read.sheet.items() if not typed.sheet.get(name)}}
    return SheetTexts(
        sheet, _filled(typed.lines, LINE) + read.lines, _filled(typed.discounts, DISCOUNT) + read.discounts
    )


def _filled(rows: Rows, fields: Sequence[Field]) -> Rows:
    return [row for row in rows if not row_set.is_blank(row, fields)]


def is_untouched(texts: SheetTexts) -> bool:
    """Tell whether no line and no discount has been typed yet."""
    return not _filled(texts.lines, LINE) and not _filled(texts.discounts, DISCOUNT)
