"""The page of the laboratory: what it says first, what it draws, and where its handles and links lead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict
from django.urls import reverse

from benchhub.analysis.pricing.certainty import SAME_RUNS
from benchhub.analysis.pricing.laboratory import words
from benchhub.analysis.pricing.laboratory.handles import DISCOUNT, UTILISATION
from benchhub.analysis.statistics.estimate import NOT_TESTED, WITHHELD
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State, address
from benchhub.reports.curves.figures import Figure
from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices.cells import Cell

from . import figures, tables
from .handles import Handle
from .settings import OWN, PARAMETERS, Settings
from .setup import MOST_DRAWN, Setup, Subject

MOST_SAID = 4
PLAIN = "numbers plain"
WHY_NONE = {DISCOUNT: "It lowers all prices alike.", UTILISATION: "It divides all prices alike."}
IN_FORM = (*OWN, *PARAMETERS.values(), "licence")


@dataclass(frozen=True)
class LaboratoryPage:
    """The page of a comparison in the laboratory; `query` is its whole address."""

    setup: Setup
    query: QueryDict

    @classmethod
    def load(cls, query: QueryDict) -> LaboratoryPage:
        return cls(Setup(Comparison.load(State.read(query)), Settings.read(query)), query)

    @property
    def comparison(self) -> Comparison:
        return self.setup.comparison

    @cached_property
    def refusal(self) -> str:
        """Say why nothing is drawn; empty where something is."""
        if not self.comparison.is_comparable:
            return self.comparison.refusal
        return self.setup.refusal

    @property
    def compare_address(self) -> str:
        return f"{reverse('compare')}{self.comparison.state.address()}#prices-1"

    @property
    def usual_address(self) -> str:
        """Return the address with every handle back where it is as usual."""
        empty: list[str] = []
        return address(self.query, **dict.fromkeys(PARAMETERS.values(), empty))

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Return what the form keeps beside what it sets itself."""
        state = self.comparison.state.query
        return [(name, value) for name, values in state.lists() if name not in IN_FORM for value in values]

    @property
    def problems(self) -> dict[str, str]:
        """Return a sentence for each parameter that was not understood, by its name."""
        return {**self.comparison.terms.problems, **self.setup.settings.problems}

    @property
    def other_problems(self) -> list[tuple[str, str]]:
        """Return (parameter, sentence) of what is no handle: a handle has its own beside it."""
        parameters = {handle.parameter for handle in self.setup.handles.values()}
        return [(name, sentence) for name, sentence in self.problems.items() if name not in parameters]

    @property
    def typed(self) -> dict[str, str]:
        return {**self.comparison.terms.typed, **self.setup.settings.typed}

    @cached_property
    def controls(self) -> list[tuple[Handle, str, str]]:
        """Return each handle with what was typed for it and what is wrong with that, that of the axis first."""
        handles = sorted(self.setup.handles.values(), key=lambda handle: handle.name != self.setup.handle.name)
        return [
            (handle, self.typed.get(handle.parameter, ""), self.problems.get(handle.parameter, ""))
            for handle in handles
        ]

    @property
    def is_moved(self) -> bool:
        return any(handle.is_moved for handle in self.setup.handles.values())

    @cached_property
    def shared_doubt(self) -> str:
        """Return what is not known of any flip that is not exact, to be said once; empty where it differs by flip."""
        unsure = [group[0] for group, _ in self.setup.groups if group[0].zone.kind != SAME_RUNS]
        kinds = {flip.zone.kind for flip in unsure}
        if len(unsure) < 2 or len(kinds) > 1 or not kinds <= {NOT_TESTED, WITHHELD}:
            return ""
        return words.doubt(self.setup.axis, unsure[0])

    @cached_property
    def sentences(self) -> list[str]:
        groups = self.setup.groups[:MOST_SAID]
        return [words.turn(self.setup.axis, group) if self.shared_doubt else text for group, text in groups]

    @property
    def why_none(self) -> str:
        """Say why nothing can flip along the axis; empty where something might."""
        return WHY_NONE.get(self.setup.handle.name, "")

    @property
    def is_outside(self) -> bool:
        """Tell whether the handle lies beyond the axis, as the reader's own range has it."""
        return not self.setup.axis.low <= self.setup.handle.value <= self.setup.axis.high

    @property
    def unsaid(self) -> int:
        """Return how many flips only the table has."""
        return max(0, len(self.setup.groups) - MOST_SAID)

    @property
    def undrawn(self) -> int:
        return max(0, len(self.setup.subjects) - MOST_DRAWN)

    @property
    def at_handle(self) -> str:
        """Say which choice is the lowest where the handles are, as the comparison says it of its own prices."""
        where, lead = f"With {self.setup.handle.condition}", self.setup.table.lead
        subject, cell = self.setup.ranked[0]
        if cell.quote is None:
            return f"{where} nothing has a price."
        if lead:
            return f"{where}, {lead[0].lower()}{lead[1:]}"
        price = f"{cell.price:,} {cell.quote.currency} per {self.comparison.prices.unit}"
        return f"{where}, lowest as measured: {subject.choice.name}, {price}."

    @cached_property
    def ranked(self) -> list[tuple[Subject, Cell, str]]:
        """Return each choice with its price where the handles are, and the strokes of its line."""
        models = self.comparison.prices.licence_models
        return [(subject, cell, figures.strokes(models.index(subject.model))) for subject, cell in self.setup.ranked]

    @cached_property
    def figure(self) -> Figure:
        return figures.figure(self.setup)

    @cached_property
    def panels(self) -> list[tuple[Panel, str, str]]:
        """Return the tables of flips and of lines, each with the address of its CSV and its classes.

        Flips stack on a phone; prices along the axis are read across, and scroll.
        """
        panels = ((tables.spoken_flip_panel(self.setup), f"{PLAIN} stack bare"), (tables.wide_panel(self.setup), PLAIN))
        return [(panel, address(self.query, csv=[panel.name]), css) for panel, css in panels]

    @property
    def handles_csv(self) -> str:
        return address(self.query, csv=[tables.HANDLES])
