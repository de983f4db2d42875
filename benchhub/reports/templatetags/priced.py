"""Filters that write amounts and derivations of prices: grouped digits, and links to the sources of a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from benchhub.analysis.pricing.steps import Step
from benchhub.reports.curves.panel import PanelRow
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.pictures import why
from benchhub.reports.prices.queries import PriceBook
from benchhub.reports.prices.table import Table
from benchhub.ui.numbers import MISSING

register = template.Library()
OF_LINES = ("line", "maintenance")
FEW_LINES = 6
# By whether it holds a number.
CELL = {True: '<td class="n">', False: "<td>"}


@register.filter
def amount(value: Any) -> SafeString:
    """Write a number with all its digits, grouped; text as it is; a dash for None."""
    if value is None:
        return MISSING
    if isinstance(value, Decimal):
        return mark_safe(f"{value:,f}")  # nosec B308
    return mark_safe(f"{value:,}") if isinstance(value, int) else escape(value)  # nosec B308


@register.filter
def signed(value: Decimal) -> str:
    """Write a number with its sign: +1.5 or -0.3."""
    return f"{value:+,}"


# A page has thousands of these, so that they are written here and not by a loop in the template.
@register.filter
def cells(row: PanelRow) -> SafeString:
    """Write the values of a row as cells, numbers to the right."""
    return mark_safe("".join(f"{CELL[is_number]}{amount(value)}</td>" for value, is_number in row.cells))  # nosec B308


@register.filter
def labelled_cells(row: PanelRow, columns: Sequence[str]) -> SafeString:
    """Write the values of a row as cells that name their column, for a table whose rows stack on a phone."""
    pairs = zip(row.cells, columns, strict=True)
    return mark_safe("".join(_labelled(*cell, column) for cell, column in pairs))  # nosec B308


def _labelled(value: Any, is_number: bool, column: str) -> str:
    css = "n none" if value is None else "n line" if is_number else "line"
    return f'<td class="{css}" data-label="{escape(column)}">{amount(value)}</td>'


@register.filter
def derivation(steps: Iterable[Step], price_book: PriceBook) -> SafeString:
    return mark_safe("".join(f"<li>{_written(step, price_book)}</li>" for step in steps))  # nosec B308


@register.simple_tag
def price_steps(row: Row, cell: Cell, prices: Table, number: int) -> SafeString:
    """Derive a price of the table. A sheet's many lines are derived under the first price that has them."""
    place = why(row, cell.model) + (f"-{number}" if number > 1 else "")
    lines = [step for step in cell.steps if step.kind in OF_LINES]
    first = prices.price_book.places.setdefault(tuple(map(id, lines)), place) if len(lines) > FEW_LINES else place
    if first == place:
        return derivation(cell.steps, prices.price_book)
    where = f'<li>Lines: their {len(lines)} steps stand <a href="#{first}">with the first price that has them</a>.</li>'
    at = cell.steps.index(lines[0])
    before, after = cell.steps[:at], [step for step in cell.steps[at:] if step.kind not in OF_LINES]
    return mark_safe(derivation(before, prices.price_book) + where + derivation(after, prices.price_book))  # nosec B308


def _written(step: Step, price_book: PriceBook) -> str:
    if id(step) not in price_book.written:
        price_book.written[id(step)] = (step, linked(step, price_book))
    return price_book.written[id(step)][1]


def linked(step: Step, price_book: PriceBook) -> SafeString:
    """Link the list prices, price sheets and runs in the sentence of a step to their pages."""
    sentence = str(escape(step.sentence))
    if step.kind == "throughput":
        head, _, tail = sentence.rpartition("(")
        runs, where, rest = tail.partition(" at ")
        return mark_safe(f"{head}({re.sub('[0-9]+', _run_link, runs)}{where}{rest}")  # escaped above  # nosec B308
    if step.kind == "price_sheet":
        return _sheet(sentence, str(step.result), price_book)
    return mark_safe(re.sub("list price ([0-9]+)", lambda match: _price_link(match, price_book), sentence))  # nosec B308


def _run_link(match: re.Match[str]) -> str:
    return f'<a href="{_address_of_run(int(match[0]))}">{match[0]}</a>'


@lru_cache(maxsize=4096)
def _address_of_run(pk: int) -> str:
    return reverse("run", args=[pk])


def _price_link(match: re.Match[str], price_book: PriceBook) -> str:
    description = price_book.descriptions.get(int(match[1]))
    if description is None:
        return match[0]
    return f'<a href="{_address_of_price(description)}">{match[0]}</a>'


@lru_cache(maxsize=1024)
def _address_of_price(description: str) -> str:
    return escape(f"{reverse('prices')}?{urlencode({'q': description})}")


def _sheet(sentence: str, name: str, price_book: PriceBook) -> SafeString:
    row = next((row for rows in (price_book.sheets or {}).values() for row in rows if str(row) == name), None)
    try:
        address = reverse("price-sheet", args=[row.pk]) if row else ""
    except NoReverseMatch:
        address = ""
    link = f' <a href="{address}">The sheet with its lines</a>' if address else ""
    return mark_safe(sentence + link)  # escaped by the caller  # nosec B308
