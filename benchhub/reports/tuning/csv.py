"""A tuning series as CSV: a row for each step and interaction, and one for each configuration that was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchhub.analysis.curves.ratio import Ratio
from benchhub.ui.csv_files import csv_text

from .series import Series, Step

EFFECTS = (
    "what", "number", "name", "changed", "effect", "low", "high", "p", "p_of_several", "n", "before_n", "verdict",
    "running", "not_told_from",
)  # fmt: skip
SYSTEMS = (
    "place", "name", "steps", "throughput", "unit", "ratio", "low", "high", "verdict", "less_durable", "licence",
    "price", "currency",
)  # fmt: skip
TABLES = ("effects", "systems")


def text(series: Series, table: str) -> str:
    """Return one of TABLES as CSV."""
    if table == "effects":
        return effects(series, lambda step: step.changes_text)
    return csv_text(SYSTEMS, _systems(series))


def effects(series: Series, changes_text: Callable[[Step], str]) -> str:
    """Return the effects, with what each step changes in the words of `changes_text`."""
    return csv_text(EFFECTS, _effects(series, changes_text))


def _effects(series: Series, changes_text: Callable[[Step], str]) -> Iterator[Sequence[Any]]:
    for step in series.steps:
        running = step.running.value if step.running else None
        cells = ("step", step.number, step.name, changes_text(step), *_ratio(step.effect.ratio))
        yield (*cells, running, step.alias_text)
    for row in series.interactions:
        number = " ".join(map(str, row.effect.steps))
        yield ("interaction", number, row.name, "", *_ratio(row.effect.ratio), None, row.alias_text)
    if total := series.effects.total:
        yield ("total", "", "all steps together", "", *_ratio(total), total.value, "")


def _ratio(ratio: Ratio | None) -> tuple[Any, ...]:
    if ratio is None:
        return (None,) * 8
    tests = (ratio.p, ratio.adjusted_p, ratio.n, ratio.baseline_n, ratio.verdict)
    return (ratio.value, ratio.lowest, ratio.highest, *tests)


def _systems(series: Series) -> Iterator[Sequence[Any]]:
    for row in series.treatments:
        ratio = row.ratio
        bounds = (ratio.value, ratio.lowest, ratio.highest, ratio.verdict) if ratio else (None, None, None, "")
        steps = " ".join(map(str, row.row.step_numbers))
        throughput = row.measured.throughput if row.measured else None
        cells = (row.place, row.label, steps, throughput, row.unit, *bounds, row.relaxed_text)
        prices: list[tuple[Any, ...]] = [(price.licence, price.amount, price.currency) for price in row.prices if price]
        yield from ((*cells, *price) for price in prices or [("", "", "")])
