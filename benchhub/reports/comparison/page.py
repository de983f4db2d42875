"""The page of a comparison: where its links and forms lead, beside the comparison itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict
from django.urls import reverse

from benchhub.reports import models
from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices.terms import QUESTIONS

from . import declared
from .answers import environment, findings
from .comparison import Comparison
from .csv import TABLES
from .entries import Entry
from .state import CEILING, State

Linked = list[tuple[Panel, str]]
PLACES = (
    ("curves", "Throughput"), ("levels", "By clients"), ("prices-1", "Price"), ("found", "Findings and doubts"),
    ("differences", "What differs"), ("environment", "Environment"), ("method", "Method"), ("sources", "Evidence"),
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonPage:
    """The page of a comparison; `saved` is the kept comparison whose page it is, `form` the one to declare by."""

    comparison: Comparison
    saved: models.Comparison | None = None
    form: declared.DeclarationForm | None = None

    where_found = environment.WHERE
    design = environment.DESIGN
    methods = findings.METHODS

    @property
    def state(self) -> State:
        return self.comparison.state

    @property
    def address(self) -> str:
        return self.state.address()

    @property
    def pick_address(self) -> str:
        return f"{self.address}&pick=1"

    @cached_property
    def places(self) -> list[tuple[str, str]]:
        """Return the places of the page, as (anchor, title); those of which there is nothing are left out."""
        prices = self.comparison.prices
        is_absent = {
            "prices-1": not (prices.rows and prices.licence_models),
            "environment": not self.comparison.environment,
        }
        return [place for place in PLACES if not is_absent.get(place[0])]

    @property
    def is_about_prices(self) -> bool:
        """Tell whether the reader chose what the figures of prices are about, so that they are not folded away."""
        return any(self.state.query.get(name) for name in QUESTIONS)

    @property
    def remedy_address(self) -> str:
        """Return where what the answer lacks is added; empty where nothing is, or nothing can be."""
        remedy = self.comparison.answer.confidence.remedy
        if remedy is None:
            return ""
        return f"{reverse('experiment-repeats', args=[remedy.experiment_id])}?repeats={remedy.repeats}"

    @cached_property
    def host_keys(self) -> list[int]:
        """Return the hosts that more runs of these curves would need."""
        systems = [entry.system for entry in self.comparison.curves]
        keys = {key for system in systems for key in (system.driver_id, system.instance.host_id) if key}
        return sorted(keys)

    @property
    def steps_address(self) -> str:
        keys = [entry.key for entry in self.comparison.entries]
        return f"{reverse('tuning-steps')}{State.of_curves(keys).address()}"

    @property
    def laboratory_address(self) -> str:
        return f"{reverse('laboratory')}{self.address}"

    @cached_property
    def is_changed(self) -> bool:
        """Tell whether the address differs from the comparison that was kept."""
        return self.saved is not None and QueryDict(self.saved.query) != self.state.query

    @cached_property
    def snapshots(self) -> list[models.Snapshot]:
        return list(self.saved.snapshots.for_list()) if self.saved else []

    @cached_property
    def curves(self) -> list[tuple[Entry, str]]:
        """Return each curve, with the address of the comparison without it."""
        curves = self.comparison.curves
        return [(entry, self._address([other for other in curves if other is not entry])) for entry in curves]

    @cached_property
    def groups(self) -> list[tuple[list[Entry], str]]:
        """Return each group of comparable curves, with the address of its own comparison."""
        return [(group, self._address(group)) for group in self.comparison.groups]

    def _address(self, entries: Sequence[Entry]) -> str:
        return self.state.address(curve=[entry.key for entry in entries])

    @property
    def has_curves(self) -> bool:
        """Tell whether there is anything to draw."""
        return bool(self.comparison.curves) and self.comparison.is_comparable

    @property
    def alone_text(self) -> str:
        return self.comparison.alone_text()

    @property
    def hidden_beside_baseline(self) -> list[tuple[str, str]]:
        return self.state.hidden("baseline")

    @property
    def hidden_beside_ceiling(self) -> list[tuple[str, str]]:
        return self.state.hidden(CEILING)

    @property
    def hidden_beside_drawn(self) -> list[tuple[str, str]]:
        return self.state.hidden("drawn")

    @property
    def hidden_beside_questions(self) -> list[tuple[str, str]]:
        return self.state.hidden(*QUESTIONS)

    @cached_property
    def csv(self) -> dict[str, str]:
        """Return the address of each table as CSV."""
        return {table: self.state.address(csv=[table]) for table in TABLES}

    @cached_property
    def load_panels(self) -> Linked:
        return self._linked(self.comparison.load_panels)

    @cached_property
    def price_panels(self) -> Linked:
        return self._linked(self.comparison.price_panels)

    @cached_property
    def what_if_panels(self) -> Linked:
        return self._linked(self.comparison.what_if_panels)

    def _linked(self, panels: Sequence[Panel]) -> Linked:
        """Return each panel with the address of its CSV."""
        return [(panel, self.state.address(csv=[panel.name])) for panel in panels]

    @cached_property
    def subjects(self) -> list[tuple[Entry, bool]]:
        """Return each curve, and whether the questions below the prices are about it."""
        subject = self.comparison.subject
        return [(entry, subject is not None and entry is subject.row.system_curve) for entry in self.comparison.entries]
