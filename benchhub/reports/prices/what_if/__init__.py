"""Questions beside the table of prices: a module for each, which draws its panel, and its line in QUESTIONS."""

from __future__ import annotations

from collections.abc import Callable

from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices.table import Table

from . import break_even, frontier, sensitivity, standbys
from .sensitivity import NAME as SENSITIVITY
from .subjects import Subject, subject

__all__ = ["SENSITIVITY", "Subject", "panels", "subject"]

# In the order of the page. A question that does not arise returns None.
QUESTIONS: tuple[Callable[[Table, Subject], Panel | None], ...] = (
    break_even.panel,
    sensitivity.panel,
    standbys.panel,
    frontier.panel,
)


def panels(table: Table, subject: Subject) -> list[Panel]:
    return [panel for question in QUESTIONS if (panel := question(table, subject))]
