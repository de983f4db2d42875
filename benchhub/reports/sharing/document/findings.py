"""Intervals and tests behind the findings, the noise of the hosts, and how both are computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.words import p_value, significant
from benchhub.reports.comparison.answers import findings
from benchhub.reports.comparison.answers.findings import Finding, Row
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.entries import Entry

from .prices import panel_blocks
from .results import from_csv

RATIOS = (
    ("At", False),
    ("Ratio", True),
    ("From", True),
    ("To", True),
    ("Chance if equal", True),
    ("among all levels", True),
)
PER_PIECE = "Peak throughput per piece of hardware"
DIVIDED = "Hardware as bought. Throughput need not grow with cores or clock: this divides, it does not predict."
AVERAGE = "Average latency, ms"
LATENCY_MARKS = "Open marks are averages of runs. The line joins their medians."
TOO_FEW = "No level has three repeats of both, and fewer have neither interval nor test."


def section(comparison: Comparison) -> Node:
    """Write intervals, tests, the noise of the hosts and the law of scalability, with how each is computed."""
    blocks = [block for finding in comparison.findings for block in _finding(finding, comparison.baseline)]
    noise = [nodes.paragraph(" ".join(host.sentences)) for host in comparison.host_noise]
    rows = [nodes.row([nodes.cell(name, role="head"), nodes.cell(method)]) for name, method in findings.METHODS]
    columns = [nodes.column("What"), nodes.column("How it is computed")]
    methods = nodes.table("methods", "How these are computed", columns, rows, style="given", is_folded=True)
    too_few = nodes.paragraph("Too few repeats on these hosts to say how noisy they are.", "caption")
    law = panel_blocks(comparison.scalability, ())
    return nodes.section("statistics", "Intervals, tests and noise", [*blocks, *(noise or [too_few]), *law, methods])


def loads(comparison: Comparison) -> list[Node]:
    """Write percentiles of latency where they are known, and figures that a load generator's reports have."""
    figure = comparison.latency_figure
    latency = nodes.figure("latency", AVERAGE, "Average latency against clients", figure)
    marks = nodes.paragraph(f"{LATENCY_MARKS} {figure['layout']['meta']['bars_text']}".strip(), "caption")
    blocks = [block for panel in comparison.load_panels for block in panel_blocks(panel, ())]
    return [nodes.section("loads", "Levels and latencies", [latency, marks, *blocks])]


def _finding(finding: Finding, baseline: Entry) -> list[Node]:
    title = f"{finding.entry.label} against {baseline.label}"
    rows = [*finding.rows, *(normalised.row for normalised in finding.normalised)]
    lead = nodes.paragraph(title, "lead", series=finding.entry.series)
    if not rows:
        return [lead, nodes.paragraph(TOO_FEW)]
    columns = [nodes.column(head, is_number=is_number) for head, is_number in RATIOS]
    columns += [nodes.column("Repeats", is_number=True), nodes.column("Verdict")]
    name = f"ratios-{finding.entry.series}"
    return [lead, nodes.table(name, f"Ratios: {title}", columns, map(_row, rows)), *_per_piece(finding, baseline)]


def _per_piece(finding: Finding, baseline: Entry) -> list[Node]:
    """Write peaks divided by the hardware as bought: their ratios stand in the table above."""
    if not finding.normalised:
        return []
    labels = (finding.entry.label, baseline.label)
    columns = [nodes.column("Peak throughput per"), *(nodes.column(label, is_number=True) for label in labels)]
    rows = [
        nodes.row([nodes.cell(piece.per, role="head"), _number(piece.value, 4), _number(piece.baseline, 4)])
        for piece in finding.normalised
    ]
    name = f"per-piece-{finding.entry.series}"
    table = nodes.table(name, f"{PER_PIECE}: {labels[0]} against {labels[1]}", columns, rows)
    return [table, nodes.paragraph(DIVIDED, "caption")]


def _row(row: Row) -> Node:
    repeats = row.n if row.n == row.baseline_n else f"{row.n} and {row.baseline_n}"
    numbers = [_number(value, 4) for value in (row.value, row.low, row.high)]
    tests = [_cell(value, p_value) for value in (row.p, row.adjusted_p)]
    return nodes.row(
        [
            nodes.cell(row.where, role="head"),
            *numbers,
            *tests,
            nodes.cell(repeats, exact=row.n),
            nodes.cell(row.verdict),
        ]
    )


def _number(value: float | None, digits: int) -> Node:
    return _cell(value, partial(significant, digits=digits))


def _cell(value: float | None, words: Callable[[float], str]) -> Node:
    return nodes.cell("–", role="missing") if value is None else nodes.cell(words(value), exact=repr(value))


def tables(comparison: Comparison) -> list[Node]:
    if not comparison.findings:
        return []
    text = findings.table(comparison.findings, comparison.baseline)
    return [from_csv("findings", "Ratios, intervals and tests", text, {})]
