"""What was found, and the curves: sentences, figures, the table by clients, and how sure it is."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.words import significant
from benchhub.reports.comparison import comparison
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison import doubts as comparison_doubts
from benchhub.reports.comparison.comparison import Cell, Chosen
from benchhub.reports.curves import figures
from benchhub.reports.prices.table import Table

DEMONSTRATION = (
    "A demonstration is among these curves. Short runs on a shared machine support no verdict: they show how BenchHub "
    "works, not which system is faster or cheaper."
)
MARKS = (
    "Each open mark is one run. The line joins the medians; the bar is the spread of the repeats: their range, or from "
    "three on a 95% interval of the mean."
)
RATIOS = (
    "From three repeats on each side the ratio is that of the geometric means, with its 95% interval, and whether it "
    "tells the two apart is tested, corrected for the number of levels (Welch, Holm). With fewer, it is the ratio of "
    "medians, and its range sets the worst repeat against the other's best, and the other way round."
)
UNDER_WAY = "Runs of this comparison were still to come when it was published."


def findings(chosen: Sequence[Chosen], baseline: Chosen, priced: Table, said: Mapping[str, Any], remarks: str) -> Node:
    """`said` is what reports.findings has to say."""
    more = {finding.one.key: finding.sentences for finding in said["more"]}
    blocks = [nodes.paragraph(DEMONSTRATION, "note")] if any(one.experiment.is_demonstration for one in chosen) else []
    if any(not run.is_final for one in chosen for run in one.runs):
        blocks.append(nodes.paragraph(UNDER_WAY, "note"))
    blocks += [nodes.paragraph(part) for part in remarks.replace("\r", "").split("\n\n") if part.strip()]
    if len(chosen) == 1:
        blocks.append(nodes.paragraph(comparison.alone(chosen[0], is_read_only=True), "lead"))
    for one in chosen:
        if one is not baseline:
            first, *others = comparison.sentences(one, baseline)
            blocks.append(nodes.paragraph(first, "lead", series=one.of.series))
            blocks += [nodes.paragraph(sentence, "caption") for sentence in (*others, *more.get(one.key, ()))]
    if priced.lead:
        blocks.append(nodes.paragraph(priced.lead, "lead"))
    return nodes.section("found", "What was found", [*blocks, *_doubts(chosen)])


def _doubts(chosen: Sequence[Chosen]) -> list[Node]:
    doubts = comparison_doubts.all_doubts(chosen)
    judged = [
        nodes.paragraph(f"{one.label}: {doubts.words(one, verdict)}.", series=one.of.series)
        for one, verdict in doubts.verdicts
    ]
    if not doubts.count:
        return [*judged, nodes.paragraph("There are no doubts about these curves that BenchHub knows of.", "caption")]
    together = [nodes.listing("Doubts", doubts.together, "doubts")] if doubts.together else []
    return (
        judged
        + together
        + [nodes.listing(f"Doubts about {one.label}", said, "doubts") for one, said in doubts.of_curves]
    )


def curves(chosen: Sequence[Chosen]) -> Node:
    drawn = [one.of for one in chosen]
    unit = drawn[0].curve.unit
    return nodes.section(
        "curves",
        "Throughput and latency against clients",
        [
            nodes.figure(
                "throughput", f"Throughput, {unit}", "Throughput against clients", figures.throughput_figure(drawn)
            ),
            nodes.figure(
                "latency", "Average latency, ms", "Average latency against clients", figures.latency_figure(drawn)
            ),
            nodes.paragraph(MARKS, "caption"),
        ],
    )


def levels(chosen: Sequence[Chosen], baseline: Chosen) -> Node:
    unit = baseline.of.curve.unit
    said = f"Median throughput in {unit} and its ratio to {baseline.label}. {RATIOS}"
    columns = [nodes.column("Clients", is_number=True)]
    columns += [nodes.column(f"{one.label}, {unit}", is_number=True, series=one.of.series) for one in chosen]
    rows = [
        nodes.row([nodes.cell(f"{clients:,}", exact=str(clients)), *(_cell(cell, len(chosen) > 1) for cell in cells)])
        for clients, cells in comparison.levels(chosen, baseline)
    ]
    lead = [nodes.paragraph(said, "caption")] if len(chosen) > 1 else []
    shown = nodes.table("by-clients", "Throughput by clients and curve", columns, rows, style="levels")
    return nodes.section("levels", "By number of clients", [*lead, shown])


def _cell(cell: Cell | None, is_compared: bool) -> Node:
    if cell is None:
        return nodes.cell("–", role="missing")
    spread = cell.level.throughput
    notes = [_ratio(cell)] if is_compared else []
    notes.append(f"{spread.n} run{'s' * (spread.n > 1)}" + (f", {spread_words(cell)}" if spread.n > 1 else ""))
    if count := len(cell.level.doubts):
        notes.append(f"{count} doubt{'s' * (count > 1)}")
    tags = [*(["best"] if cell.is_best else []), *([cell.unsure] if cell.unsure else [])]
    median = significant(spread.median, spread.digits)
    return nodes.cell(median, exact=repr(spread.median), notes=notes, tags=tags, role="strong")


def spread_words(cell: Cell) -> str:
    spread = cell.level.throughput
    return f"{significant(spread.low, spread.digits)} to {significant(spread.high, spread.digits)}"


def _ratio(cell: Cell) -> str:
    if cell.is_baseline:
        return "baseline"
    return cell.times or "not in the baseline"


def tables(chosen: Sequence[Chosen], baseline: Chosen) -> list[Node]:
    text = comparison_csv.levels(comparison.levels(chosen, baseline), chosen, baseline)
    unit = baseline.of.curve.unit
    units = dict.fromkeys(("median", "lowest", "highest"), unit)
    units |= dict.fromkeys(("latency_average_ms", "latency_p95_ms", "latency_p99_ms"), "ms")
    return [from_csv("levels", "Throughput by clients and curve", text, units)]


def from_csv(
    name: str, title: str, text: str, units: dict[str, str], about: dict[str, list[str]] | None = None
) -> Node:
    """A table for programs of what the comparison's page offers as CSV."""
    heads, *rows = csv.reader(StringIO(text))
    columns = [nodes.data_column(head, units.get(head, ""), (about or {}).get(head, ())) for head in heads]
    return nodes.data(name, title, columns, rows)
