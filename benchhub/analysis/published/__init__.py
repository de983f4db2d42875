"""Recompute published reports: `read` a parsed file, `recompute` it; `findings` says what does not survive.

Nothing here opens a file. Numbers come as text and are exact (Decimal, Fraction) all the way; each published number is
compared with what follows from the other numbers of the same report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import report_a, report_b, report_c, report_d
from .check import VERDICTS, Check, Tally, Verdict, findings, tally
from .document import Document, PublishedError, read

__all__ = [
    "VERDICTS",
    "Check",
    "Document",
    "PublishedError",
    "Tally",
    "Verdict",
    "findings",
    "read",
    "recompute",
    "tally",
]

CHECKS_BY_LETTER: Mapping[str, Callable[[Document], tuple[Check, ...]]] = {
    "A": report_a.checks,
    "B": report_b.checks,
    "C": report_c.checks,
    "D": report_d.checks,
}


def recompute(document: Document) -> tuple[Check, ...]:
    """Return the checks of one report, in the report's order. Raises PublishedError if a figure is missing."""
    try:
        return CHECKS_BY_LETTER[document.letter](document)
    except ZeroDivisionError:
        raise PublishedError(f"{document.file}: a figure that others are divided by is 0.") from None
