"""A figure with its table: the same rows are drawn, shown and exported, so that they agree to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.pricing.steps import Step
from benchhub.analysis.words import listing
from benchhub.ui.csv_files import csv_text

from .figures import Figure

Value = str | int | Decimal | None


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a panel. `steps` derive its numbers; `why` is the place on the page that has the rest of them."""

    values: tuple[Value, ...]
    steps: tuple[Step, ...] = ()
    why: str = ""
    is_marked: bool = False

    @property
    def cells(self) -> list[tuple[Value, bool]]:
        """Return each value, and whether it is a number."""
        return [(value, isinstance(value, int | Decimal)) for value in self.values]


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure and its table. `sentences` explain it; `refusal` says why nothing is drawn: then there is no figure."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[PanelRow, ...] = ()
    figure: Figure | None = None
    refusal: str = ""

    @property
    def captions(self) -> tuple[str, ...]:
        """Return the sentences, and those that say what the bars in the figure are, and whether looks come again."""
        meta = self.figure["layout"].get("meta", {}) if self.figure else {}
        return (*self.sentences, *(text for name in ("bars_text", "looks_text") if (text := meta.get(name))))

    @property
    def script_id(self) -> str:
        return f"figure-{self.name}"

    @property
    def has_derivations(self) -> bool:
        return any(row.steps or row.why for row in self.rows)

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Return each column's name, and whether any of its values is a number."""
        return [
            (name, any(isinstance(row.values[place], int | Decimal) for row in self.rows))
            for place, name in enumerate(self.columns)
        ]

    def csv(self) -> str:
        rows = ((*row.values, " ".join(map(str, row.steps))) for row in self.rows)
        return csv_text((*self.columns, "derivation"), rows)


def refused(name: str, title: str, sentence: str, lead: Sequence[str] = ()) -> Panel:
    return Panel(name, title, tuple(lead), refusal=sentence)


def unlike(currencies: Sequence[str]) -> str:
    """Say why amounts are not drawn together; empty where they may be."""
    units = sorted(set(currencies))
    if len(units) < 2:
        return ""
    return f"Amounts in {listing(units)} are never on one axis. Choose one currency under 'More terms'."
