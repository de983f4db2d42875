"""Prices as they were: the table with derivations, its figures, and the source of a comparison with today."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.curves.panel import Panel, PanelRow, Value
from benchhub.reports.prices import what_if
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.table import Table
from benchhub.reports.prices.terms import Terms

from .results import from_csv

# The derivation of a price tells list prices, discounts and who sells.
DERIVATION = ("discount", "vendor")
DISCOUNT = ("discount",)


def sections(pricing: Pricing) -> list[Node]:
    """Write the table of prices, its figures, and what if; nothing where there is nothing to price."""
    prices, subject = pricing.table, pricing.subject
    if not prices.rows or not prices.licence_models:
        return []
    table = nodes.section("prices", f"Price per {prices.price_unit}", _table(prices))
    if subject is None:
        return [table]
    about = about_discount(prices.terms)
    figures = [block for panel in pricing.panels for block in panel_blocks(panel, about)]
    answers = [block for panel in pricing.what_if_panels for block in _answer(panel, prices.terms)]
    lead = nodes.paragraph(f"These answers are about {subject.name}, by the terms above.")
    return [
        table,
        nodes.section("price-figures", "Prices in figures", figures),
        nodes.section("what-if", "What if", [lead, *answers]),
    ]


def _answer(panel: Panel, terms: Terms) -> list[Node]:
    """Write an answer. What moves the price shows one without discount, which tells the discount."""
    blocks = panel_blocks(panel, about_discount(terms))
    if panel.name != what_if.SENSITIVITY:
        return blocks
    return [{**block, "about": list(about_discount(terms))} for block in blocks]


def about_discount(terms: Terms) -> tuple[str, ...]:
    """Return the classes that a sentence with these terms discloses."""
    return DISCOUNT if terms.discount_percent else ()


def _table(prices: Table) -> list[Node]:
    blocks = [nodes.paragraph(_caption(prices), "caption")]
    if prices.terms.discount_percent:
        blocks.append(nodes.paragraph(f"{prices.terms.discount_percent:f}% is off everything.", "caption", DISCOUNT))
    blocks += [nodes.paragraph(prices.lead, "lead")] if prices.lead else []
    blocks += [nodes.paragraph(prices.remark, "note")] if prices.remark else []
    columns = [nodes.column("System"), *(nodes.column(str(model)) for model in prices.licence_models)]
    rows = [nodes.row([_system(row), *_cells(row, prices)]) for row in prices.rows]
    return [*blocks, nodes.table("price-table", f"Price per {prices.price_unit}", columns, rows, style="prices")]


def _caption(prices: Table) -> str:
    """Write the terms without the discount, which has a sentence of its own."""
    words = replace(prices.terms, discount_percent=Decimal(0)).words
    text = f"{prices.per[:1].upper()}{prices.per[1:]}, {prices.load_words}, over {words}. Its range is that of the "
    text += "throughput: of two repeats their range, from three on their 95% interval."
    return f"{text} {prices.closed_loop}".strip()


def _system(row: Row) -> Node:
    machine = row.system_curve.system.machines_text
    notes = [f"{machine}, {row.at.words}" if row.at else machine]
    return nodes.cell(row.system_curve.system.label, notes=notes, series=row.system_curve.series, role="head")


def _cells(row: Row, prices: Table) -> list[Node]:
    if row.refusal:
        return [nodes.cell(row.refusal, role="error") for _ in prices.licence_models]
    return [_cell(cell, prices) for cell in row.cells]


def _cell(cell: Cell, prices: Table) -> Node:
    if cell.quote is None or cell.amounts is None:
        is_not_eligible = bool(cell.refusal and cell.refusal.is_not_eligible)
        refusal = cell.refusal.sentence if cell.refusal else ""
        return nodes.cell(
            "not eligible" if is_not_eligible else "no price", notes=[nodes.note(refusal, DERIVATION)], role="missing"
        )
    against = cell.verdict.against if cell.verdict else ()
    return nodes.cell(
        f"{cell.amounts.price:,f}",
        exact=f"{cell.quote.quotient:f}" if not prices.is_per_million else "",
        unit=f"{cell.quote.currency} per {prices.price_unit}",
        notes=[*_notes(cell, prices), *(nodes.note(flag, DISCOUNT, "flag") for flag in cell.flags)],
        tags=["lowest"] if cell.verdict and cell.verdict.is_lowest else [],
        steps=[*map(str, cell.steps), *(f"Against {label}: {price_ratio.sentence}" for label, price_ratio in against)],
        steps_about=DERIVATION,
        role="price",
    )


def _notes(cell: Cell, prices: Table) -> list[str]:
    texts = [cell.spread_words]
    if cell.verdict:
        texts += [text for text in (cell.verdict.leader.words, cell.verdict.probability_text) if text]
    if cell.per_million is not None and cell.quote and not prices.is_per_million:
        use = f"{prices.terms.utilisation_percent:f}% use"
        texts.append(f"{cell.per_million:,f} {cell.quote.currency} per million transactions at {use}")
    return texts


def panel_blocks(panel: Panel, about: Sequence[str]) -> list[Node]:
    paragraphs = [nodes.paragraph(sentence, "plain", about) for sentence in panel.captions]
    if panel.refusal or panel.figure is None:
        return [*paragraphs, nodes.paragraph(panel.refusal, "note")]
    columns = [nodes.column(name, is_number=is_number) for name, is_number in panel.heads]
    table = nodes.table(f"{panel.name}-table", panel.title, columns, map(_panel_row, panel.rows), is_folded=True)
    return [nodes.figure(panel.name, panel.title, panel.title, panel.figure), *paragraphs, table]


def _panel_row(row: PanelRow) -> Node:
    cells = [nodes.cell(_grouped(value), exact=_exact(value)) for value in row.values]
    if row.steps:
        cells[-1] |= {"steps": {"items": [str(step) for step in row.steps], "about": list(DERIVATION)}}
    return nodes.row(cells, is_marked=row.is_marked)


def _grouped(value: Value) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"


def _exact(value: Value) -> str:
    if value is None or isinstance(value, str):
        return ""
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def of_panels(panels: Iterable[Panel], terms: Terms) -> list[Node]:
    """Return the numbers of each figure for programs."""
    data_tables = []
    for panel in panels:
        if panel.rows:
            data = from_csv(panel.name, panel.title, panel.csv(), {}, {"derivation": list(DERIVATION)})
            tells_discount = panel.name == what_if.SENSITIVITY and terms.discount_percent
            data_tables.append({**data, "about": list(DISCOUNT)} if tells_discount else data)
    return data_tables


def tables(pricing: Pricing) -> list[Node]:
    """Return the table of prices and the numbers of their figures, for programs."""
    return [_data(pricing.table), *of_panels([*pricing.panels, *pricing.what_if_panels], pricing.terms)]


def _data(prices: Table) -> Node:
    about = {name: list(DERIVATION) for name in ("derivation", "missing")} | {"flags": list(DISCOUNT)}
    about["terms"] = list(about_discount(prices.terms))
    amounts = dict.fromkeys(("total", "hardware_total", "licence_total", "support_total"), "as in the column currency")
    money_units = dict.fromkeys(
        ("price", "price_low", "price_high", "exact"), "the column currency per the column unit"
    )
    units = {**amounts, **money_units, "per_million": "the column currency per million transactions"}
    text = comparison_csv.prices(prices)
    return from_csv("prices", f"Price per {prices.unit}", text, {**units, "utilisation_percent": "%"}, about)


def source(comparison: Comparison) -> list[dict[str, Any]]:
    """Return each price with the throughput and the total that gave it, to be compared with today's prices."""
    pairs = zip(comparison.entries, comparison.prices.rows, strict=True)
    return [_source(entry.key, cell) for entry, row in pairs for cell in row.cells if cell.quote]


def _source(key: str, cell: Cell) -> dict[str, Any]:
    assert cell.quote is not None and cell.price is not None
    exponent = cell.price.as_tuple().exponent
    return {
        "curve": key,
        "licence": cell.model.pk,
        "throughput": cell.quote.throughput.value,
        "total": cell.quote.total,
        "currency": cell.quote.currency,
        "price": cell.price,
        "places": -exponent if isinstance(exponent, int) else 2,
    }
