"""The document of a published report: its page, and the note that it was not measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from benchhub.analysis.snapshot import canonical, nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.words import word
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


def document(report: Report, at: datetime, release: str) -> Node:
    report_page = page.PublishedPage(report)
    return {
        "format": canonical.FORMAT,
        "version": canonical.VERSION,
        "kind": "published",
        "title": report.about["title"],
        "summary": f"{NOT_MEASURED} {_tally(report)}",
        "taken_at": at.isoformat(timespec="seconds"),
        "release": release,
        "unit": "",
        "sections": [
            _about(report),
            *(_section(section) for section in report_page.sections),
            nodes.section(
                "found",
                "What does not survive",
                [
                    nodes.paragraph(_tally(report)),
                    *([nodes.listing("", report.findings)] if report.findings else []),
                ],
            ),
            *([_lost(report_page.lost)] if report_page.lost else []),
            _given(report_page.given),
            _oddities(report_page),
            _recomputed(report_page.groups),
        ],
        "tables": [_data(table) for table in page.all_tables(report).values()],
        "bundles": [],
        "names": [],
        "source": {},
    }


def _tally(report: Report) -> str:
    tally = report.tally
    others = (
        (tally.consistent, word("is", tally.consistent, "are") + " within what is printed"),
        (tally.rounded_up, word("is", tally.rounded_up, "are") + " rounded up"),
        (tally.disagrees, word("disagrees", tally.disagrees, "disagree")),
    )
    first = f"{tally.agrees} of {tally.total} numbers that follow from others in the report agree"
    return ", ".join([first, *(f"{number} {text}" for number, text in others if number)]) + "."


def _about(report: Report) -> Node:
    rows = [nodes.row([nodes.cell(name, role="head"), nodes.cell(report.about[key])]) for name, key in ABOUT.items()]
    table = nodes.table(
        "about-table", "The report", [nodes.column("What"), nodes.column("As printed")], rows, style="given"
    )
    return nodes.section("about", "The report", [nodes.paragraph(NOT_MEASURED, "note"), table])


def _section(section: Section) -> Node:
    figures = [nodes.figure(chart.name, chart.title, chart.label, chart.figure) for chart in section.charts]
    tables = [_table(table, section.is_long) for table in section.tables]
    return nodes.section(section.name, section.title, [*figures, nodes.paragraph(section.caption, "caption"), *tables])


def _table(table: Table, is_folded: bool) -> Node:
    columns = [nodes.column(column.title, is_number=column.is_number) for column in table.columns]
    rows = [
        nodes.row(
            (nodes.cell(cell.text, exact=_exact(cell), role="missing" if cell.is_missing else "") for cell in row),
            is_marked=False,
        )
        for row in table.rows
    ]
    totals = [
        nodes.row([nodes.cell(cell.text, exact=_exact(cell), role="strong") for cell in row]) for row in table.totals
    ]
    every_row = [*rows, *totals]
    return nodes.table(f"{table.key}-table", table.title, columns, every_row, style="printed", is_folded=is_folded)


def _exact(cell: Cell) -> str:
    return cell.written if cell.is_number else ""


def _data(table: Table) -> Node:
    columns = [nodes.data_column(column.title) for column in table.columns]
    return nodes.data(
        table.key, table.title, columns, [[cell.written for cell in row] for row in (*table.rows, *table.totals)]
    )


def _lost(rows: Sequence[Mapping[str, Any]]) -> Node:
    texts = [f"{row['what']} ({row['where']}). {row['text']}" for row in rows]
    return nodes.section("lost", "What cannot be drawn again", [nodes.listing("", texts)])


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


def _group(group: Mapping[str, Any]) -> Iterable[Node]:
    where = ". ".join(filter(None, [group["where"], group.get("oddity", "")]))
    yield nodes.row([nodes.cell(group["group"], role="head", notes=[where]), nodes.cell("")])
    for name, value in group["values"].items():
        yield nodes.row([nodes.cell(str(name)), nodes.cell(str(value))])


def _oddities(report_page: page.PublishedPage) -> Node:
    texts = [f"{row['text']} ({row['where']})" for row in report_page.oddities]
    marked = [f"{figure.subject}, {figure.printed} ({where}): {figure.oddity}" for figure, where in report_page.marked]
    lists = [nodes.listing("", texts), *([nodes.listing("Figures that are marked", marked)] if marked else [])]
    return nodes.section("oddities", "Oddities, kept as they are", lists)


def _recomputed(groups: Iterable[tuple[str, Sequence[Recomputed]]]) -> Node:
    text = (
        "The difference is what is published less what was computed, from the exact fraction. Below a published number "
        "stands what may have been printed like that, below a computed one what its inputs leave: where the two "
        "intervals meet, the numbers are consistent."
    )
    heads = (("What", False), ("Published", True), ("Computed", True), ("Difference", True), ("Verdict", False))
    columns = [nodes.column(title, is_number=is_number) for title, is_number in heads]
    blocks = [
        block
        for number, (group, rows) in enumerate(groups, start=1)
        for block in (
            nodes.paragraph(group, "lead"),
            nodes.table(f"recomputed-{number}", f"Recomputation {number}: {group}", columns, map(_check, rows)),
        )
    ]
    return nodes.section("recomputed", "Recomputation", [nodes.paragraph(text, "caption"), *blocks])


def _notes(room: str) -> list[str]:
    return [room] if room else []


def _check(recomputed: Recomputed) -> Node:
    check = recomputed.check
    exactly = f"Exactly: {recomputed.exact}{f' {check.unit}' if check.unit else ''}."
    return nodes.row(
        [
            nodes.cell(check.subject, role="head", notes=[recomputed.where]),
            nodes.cell(str(check.published), exact=str(check.published), notes=_notes(recomputed.published_room)),
            nodes.cell(
                recomputed.computed,
                exact=str(check.computed),
                role="strong",
                notes=_notes(recomputed.computed_room),
            ),
            nodes.cell(recomputed.difference, exact=str(check.difference)),
            nodes.cell(check.verdict, notes=[check.why] if check.why else [], steps=[*map(str, check.steps), exactly]),
        ]
    )
