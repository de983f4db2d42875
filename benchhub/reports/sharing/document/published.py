"""The document of a published report: what its page shows, and that it was not measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from benchhub.analysis.snapshot import canonical, nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.published import page
from benchhub.reports.published.files import Report
from benchhub.reports.published.page import Recomputed, Section
from benchhub.reports.published.tables import Cell, Table

NOT_MEASURED = (
    "Published, not measured here. Every figure is as the report prints it, or is marked as derived. BenchHub has "
    "checked its arithmetic and repeated no run."
)
ABOUT = {
    "Document": "document",
    "By": "who",
    "Dated": "dated",
    "Compared": "compared",
    "Load": "tool",
    "Figures from": "source",
}


def document(of: Report, at: datetime, release: str) -> Node:
    shown = page.context(of)
    return {
        "format": canonical.FORMAT,
        "version": canonical.VERSION,
        "kind": "published",
        "title": of.about["title"],
        "summary": f"{NOT_MEASURED} {_tally(of)}",
        "taken_at": at.isoformat(timespec="seconds"),
        "release": release,
        "unit": "",
        "sections": [
            _about(of),
            nodes.section(
                "found", "What does not survive", [nodes.paragraph(_tally(of)), nodes.listing("", of.findings)]
            ),
            *(_section(section) for section in shown["sections"]),
            *([_lost(shown["lost"])] if shown["lost"] else []),
            _given(shown["given"]),
            _oddities(shown),
            _recomputed(shown["groups"]),
        ],
        "tables": [_data(table) for table in page.all_tables(of).values()],
        "bundles": [],
        "names": [],
        "source": {},
    }


def _tally(of: Report) -> str:
    tally = of.tally
    said = f"{tally.agrees} of {tally.total} numbers that follow from others in the report agree"
    said += f", {tally.rounded_up} rounded up" if tally.rounded_up else ""
    return said + (f", {tally.disagrees} disagree." if tally.disagrees else ".")


def _about(of: Report) -> Node:
    rows = [nodes.row([nodes.cell(name, role="head"), nodes.cell(of.about[key])]) for name, key in ABOUT.items()]
    table = nodes.table(
        "about-table", "The report", [nodes.column("What"), nodes.column("As printed")], rows, style="given"
    )
    return nodes.section("about", "The report", [nodes.paragraph(NOT_MEASURED, "note"), table])


def _section(of: Section) -> Node:
    figures = [nodes.figure(chart.name, chart.title, chart.label, chart.figure) for chart in of.charts]
    return nodes.section(
        of.name, of.title, [*figures, nodes.paragraph(of.caption, "caption"), *(_table(table) for table in of.tables)]
    )


def _table(of: Table) -> Node:
    columns = [nodes.column(column.title, is_number=column.is_number) for column in of.columns]
    rows = [nodes.row(map(_cell, row), is_marked=False) for row in of.rows]
    totals = [nodes.row([nodes.cell(one.shown, exact=_exact(one), role="strong") for one in row]) for row in of.totals]
    return nodes.table(f"{of.key}-table", of.title, columns, [*rows, *totals], style="printed")


def _cell(of: Cell) -> Node:
    return nodes.cell(of.shown, exact=_exact(of), role="missing" if of.is_missing else "")


def _exact(of: Cell) -> str:
    return of.written if of.is_number else ""


def _data(of: Table) -> Node:
    columns = [nodes.data_column(column.title) for column in of.columns]
    return nodes.data(of.key, of.title, columns, [[cell.written for cell in row] for row in (*of.rows, *of.totals)])


def _lost(rows: Sequence[Mapping[str, Any]]) -> Node:
    said = [f"{row['what']} ({row['where']}). {row['text']}" for row in rows]
    return nodes.section("lost", "What cannot be drawn again", [nodes.listing("", said)])


def _given(groups: Sequence[Mapping[str, Any]]) -> Node:
    rows = [row for group in groups for row in _group(group)]
    table = nodes.table(
        "given-table",
        "Hardware, settings and method",
        [nodes.column("What"), nodes.column("As printed")],
        rows,
        style="given",
    )
    return nodes.section("given", "Hardware, settings and method", [table])


def _group(of: Mapping[str, Any]) -> Iterable[Node]:
    where = ". ".join(filter(None, [of["where"], of.get("oddity", "")]))
    yield nodes.row([nodes.cell(of["group"], role="head", notes=[where]), nodes.cell("")])
    for name, value in of["values"].items():
        yield nodes.row([nodes.cell(str(name)), nodes.cell(str(value))])


def _oddities(shown: Mapping[str, Any]) -> Node:
    said = [f"{row['text']} ({row['where']})" for row in shown["oddities"]]
    marked = [f"{figure.subject}, {figure.printed} ({where}): {figure.oddity}" for figure, where in shown["marked"]]
    lists = [nodes.listing("", said), *([nodes.listing("Figures that are marked", marked)] if marked else [])]
    return nodes.section("oddities", "Oddities, kept as they are", lists)


def _recomputed(groups: Iterable[tuple[str, Sequence[Recomputed]]]) -> Node:
    said = "The difference is what is published less what was computed, from the exact fraction."
    heads = (("What", False), ("Published", True), ("Computed", True), ("Difference", True), ("Verdict", False))
    columns = [nodes.column(title, is_number=is_number) for title, is_number in heads]
    tables = [
        nodes.table(f"recomputed-{number}", group, columns, map(_check, rows))
        for number, (group, rows) in enumerate(groups, start=1)
    ]
    blocks = [block for table in tables for block in (nodes.paragraph(table["title"], "lead"), table)]
    return nodes.section("recomputed", "Recomputation", [nodes.paragraph(said, "caption"), *blocks])


def _check(of: Recomputed) -> Node:
    check = of.check
    exactly = f"Exactly: {of.exact}{f' {check.unit}' if check.unit else ''}."
    return nodes.row(
        [
            nodes.cell(check.subject, role="head", notes=[of.where]),
            nodes.cell(str(check.published), exact=str(check.published)),
            nodes.cell(of.computed, exact=str(check.computed), role="strong"),
            nodes.cell(of.difference, exact=str(check.difference)),
            nodes.cell(check.verdict, notes=[check.why] if check.why else [], steps=[*map(str, check.steps), exactly]),
        ]
    )
