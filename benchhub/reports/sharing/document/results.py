"""Findings and curves of a document: sentences, figures, the table by clients, and the doubts."""

from __future__ import annotations

import csv
from io import StringIO

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.words import count, significant
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison.answers.doubts import Doubts
from benchhub.reports.comparison.answers.levels import Cell, Row
from benchhub.reports.comparison.comparison import Comparison

# The product's name is in no sentence of a document: an account of that name would be hidden in it as well.
DEMONSTRATION = (
    "A demonstration is among these curves. Short runs on a shared machine support no verdict: they show how this "
    "works, not which system is faster or cheaper."
)
MARKS = "Open marks are runs. The line joins their geometric means."
RATIOS = (
    "With three repeats on each side it has a 95% interval and is tested (Welch, Holm over the levels); with fewer it "
    "has a range, the worst repeats against the best."
)
FOUND = "found"
# The one sentence of what was found that depends on prices.
PRICES_PART = "prices"
UNDER_WAY = "Runs of this comparison were still to come when it was published."


def findings(comparison: Comparison, remarks: str) -> Node:
    """Write the findings, the plainest first, with the lowest price and the doubts."""
    sentences = {finding.entry.key: finding.sentences for finding in comparison.findings}
    blocks = [nodes.paragraph(DEMONSTRATION, "note")] if comparison.demonstrations else []
    if comparison.imported:
        blocks.append(nodes.paragraph(comparison.imported_text, "note"))
    if comparison.is_under_way:
        blocks.append(nodes.paragraph(UNDER_WAY, "note"))
    blocks += [nodes.paragraph(part) for part in remarks.replace("\r", "").split("\n\n") if part.strip()]
    if text := comparison.alone_text(is_read_only=True):
        blocks.append(nodes.paragraph(text, "lead"))
    for entry, claims in comparison.claims:
        first, *others = map(str, claims)
        blocks.append(nodes.paragraph(first, "lead", series=entry.series))
        blocks += [nodes.reason(text, entry.label, entry.series) for text in (*others, *sentences.get(entry.key, ()))]
    if comparison.prices.lead:
        blocks.append(nodes.paragraph(comparison.prices.lead, "lead") | {"part": PRICES_PART})
    return nodes.section(FOUND, "What was found", [*blocks, *_doubts(comparison.doubts)])


def _doubts(doubts: Doubts) -> list[Node]:
    verdicts = [
        nodes.paragraph(f"{entry.label}: {doubts.words(entry, verdict)}.", series=entry.series)
        for entry, verdict in doubts.verdicts
    ]
    if not doubts.count:
        return [*verdicts, nodes.paragraph("No reason for doubt about these curves was found.", "caption")]
    together = [nodes.listing("Doubts", doubts.together, "doubts")] if doubts.together else []
    listings = [nodes.listing(f"Doubts about {entry.label}", texts, "doubts") for entry, texts in doubts.of_curves]
    return [*verdicts, *together, *listings]


def curves(comparison: Comparison) -> Node:
    throughput = f"Throughput, {comparison.entries[0].curve.unit}"
    figure = comparison.throughput_figure
    meta = figure["layout"]["meta"]
    return nodes.section(
        "curves",
        "Throughput against clients",
        [
            nodes.figure("throughput", throughput, "Throughput against clients", figure),
            nodes.paragraph(" ".join(filter(None, (MARKS, meta["bars_text"], meta["looks_text"]))), "caption"),
        ],
    )


def levels(comparison: Comparison) -> Node:
    """Write a row for each number of clients, with each curve's throughput and its ratio to the baseline."""
    entries, unit = comparison.entries, comparison.unit
    caption = f"Throughput in {unit}, the geometric mean of the repeats, and its ratio to {comparison.baseline.label}."
    columns = [nodes.column("Clients", is_number=True)]
    columns += [nodes.column(f"{entry.label}, {unit}", is_number=True, series=entry.series) for entry in entries]
    rows = [_level(row, len(entries)) for row in comparison.levels]
    lead = [nodes.paragraph(f"{caption} {RATIOS}", "caption")] if len(entries) > 1 else []
    table = nodes.table("by-clients", "Throughput by clients and curve", columns, rows, style="levels")
    return nodes.section("levels", "By number of clients", [*lead, table])


def _level(row: Row, curve_count: int) -> Node:
    clients = nodes.cell(f"{row.clients:,}", exact=str(row.clients))
    return nodes.row([clients, *(_cell(cell, curve_count) for cell in row.cells)])


def _cell(cell: Cell | None, curve_count: int) -> Node:
    """Write a throughput with its ratio and spread; of two curves a tag says enough of whether it wins."""
    if cell is None:
        return nodes.cell("–", role="missing")
    spread = cell.level.throughput
    ratio_text = "baseline" if cell.is_baseline else cell.times or "not in the baseline"
    notes = [ratio_text] if curve_count > 1 else []
    notes.append(count(spread.n, "run") + (f", {spread_words(cell)}" if spread.n > 1 else ""))
    if cell.level.doubts:
        notes.append(count(len(cell.level.doubts), "doubt"))
    if curve_count > 2 and cell.leader and cell.leader.candidates:
        notes.append(cell.leader.words)
    mean = significant(spread.mean, spread.digits)
    tags = [tag.word for tag in cell.tags]
    return nodes.cell(mean, exact=repr(spread.mean), notes=notes, tags=tags, role="strong")


def spread_words(cell: Cell) -> str:
    spread = cell.level.throughput
    return f"{significant(spread.low, spread.digits)} to {significant(spread.high, spread.digits)}"


def tables(comparison: Comparison) -> list[Node]:
    text = comparison_csv.levels(comparison)
    units = dict.fromkeys(("geometric_mean", "lowest", "highest"), comparison.unit)
    units |= dict.fromkeys(("latency_average_ms", "latency_p95_ms", "latency_p99_ms"), "ms")
    return [from_csv("levels", "Throughput by clients and curve", text, units)]


def from_csv(
    name: str, title: str, text: str, units: dict[str, str], about: dict[str, list[str]] | None = None
) -> Node:
    """Return a table for programs, from a CSV of the comparison's page."""
    heads, *rows = csv.reader(StringIO(text))
    columns = [nodes.data_column(head, units.get(head, ""), (about or {}).get(head, ())) for head in heads]
    return nodes.data(name, title, columns, rows)
