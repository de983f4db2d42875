"""The recomputation of published reports for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from textwrap import wrap
from typing import Any

from benchhub.analysis.published import VERDICTS, Check, Tally, tally
from benchhub.analysis.words import count

from .files import Report

JSON_VERSION = 1
NARROWEST, WIDEST = 80, 120
# Width and alignment of each column; 'What' takes the rest.
COLUMNS = (
    ("Section", 10, "<"),
    ("What", 0, "<"),
    ("Published", 11, ">"),
    ("Computed", 11, ">"),
    ("Difference", 10, ">"),
    ("Verdict", 10, "<"),
)
INDENT = " " * 11


def text(reports: Sequence[Report], columns: int, why: bool = False) -> Iterator[str]:
    """Yield lines no wider than the terminal: a table for each report, what does not survive, and a closing count."""
    width = min(max(columns, NARROWEST), WIDEST) - 1
    for report in reports:
        yield from _table(report, width, why)
    yield "What does not survive"
    for report in reports:
        for finding in report.findings:
            yield from wrap(f"{report.document.letter}  {finding}", width, subsequent_indent="   ")
    yield ""
    yield from wrap(_closing(reports), width)


def as_json(reports: Sequence[Report]) -> str:
    """Write the recomputation as JSON; every number is text, so that none is rounded when it is read."""
    content = {
        "version": JSON_VERSION,
        "reports": [_report_json(report) for report in reports],
        "tally": _tally_json(_all(reports)),
    }
    return json.dumps(content, indent=2)


def signed(difference: Decimal) -> str:
    """Write published less computed with its sign: +0.0052, -0.0020 or 0.00."""
    return f"{difference:+,}" if difference else f"{difference:,}"


def exact(check: Check) -> str:
    """Write the computed number without any rounding, as a whole number or a fraction."""
    fraction = check.exact
    return str(fraction.numerator) if fraction.denominator == 1 else f"{fraction.numerator}/{fraction.denominator}"


def _table(report: Report, width: int, why: bool) -> Iterator[str]:
    yield from wrap(f"{report.document.letter}  {report.about['title']} ({report.about['year']})", width)
    yield from _row([name for name, _, _ in COLUMNS], width)
    yield "-" * width
    for group, checks in groupby(report.checks, key=lambda check: check.group):
        yield f"{group}:"
        for check in checks:
            yield from _row(_cells(check), width)
            if why:
                yield from wrap(check.why, width, initial_indent=INDENT, subsequent_indent=INDENT)
    yield ""


def _cells(check: Check) -> list[str]:
    computed = f"{check.computed:,}"
    return [
        check.section,
        f"{check.subject} ({check.unit})" if check.unit else check.subject,
        check.published,
        computed,
        signed(check.difference),
        check.verdict,
    ]


def _row(cells: Sequence[str], width: int) -> Iterator[str]:
    """Yield one row, over as many lines as its longest cell needs."""
    rest_width = width - sum(column_width for _, column_width, _ in COLUMNS) - (len(COLUMNS) - 1)
    widths = [column_width or rest_width for _, column_width, _ in COLUMNS]
    wrapped = [wrap(cell, cell_width) or [""] for cell, cell_width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, wrapped))):
        lines = [cell[number] if number < len(cell) else "" for cell in wrapped]
        padded = [
            f"{line:{side}{cell_width}}" for line, cell_width, (_, _, side) in zip(lines, widths, COLUMNS, strict=True)
        ]
        yield " ".join(padded).rstrip()


def _closing(reports: Sequence[Report]) -> str:
    total = _all(reports)
    return (
        f"{total.total} numbers of {count(len(reports), 'report')}: {total.agrees} agree, "
        f"{total.consistent} consistent, {total.rounded_up} rounded up, {total.disagrees} disagree."
    )


def _all(reports: Iterable[Report]) -> Tally:
    return tally(check for report in reports for check in report.checks)


def _report_json(report: Report) -> dict[str, Any]:
    about = {name: report.about[name] for name in ("letter", "slug", "title", "document", "who", "year", "compared")}
    return {
        **about,
        "checks": [_check_json(check) for check in report.checks],
        "findings": list(report.findings),
        "tally": _tally_json(report.tally),
    }


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "report": check.report,
        "section": check.section,
        "group": check.group,
        "what": check.subject,
        "published": check.published,
        "published_value": f"{check.value:f}",
        "published_low": f"{check.published_low:f}",
        "published_high": f"{check.published_high:f}",
        "unit": check.unit,
        "computed": f"{check.computed:f}",
        "computed_low": f"{check.computed_low:f}",
        "computed_high": f"{check.computed_high:f}",
        "exact": exact(check),
        "difference": f"{check.difference:f}",
        "verdict": check.verdict,
        "why": check.why,
        "steps": list(check.steps),
    }


def _tally_json(tally: Tally) -> dict[str, int]:
    counts = (tally.agrees, tally.consistent, tally.rounded_up, tally.disagrees)
    return {"total": tally.total, **dict(zip(VERDICTS, counts, strict=True))}
