"""The page on which a reader chooses curves among all that are finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict

from benchhub.bench.models import ExperimentSystem, Level
from benchhub.ui.listing import Column, Listing

from . import filters, queries
from .entries import key_of
from .state import MOST, PARAMETERS, State

# What has an order has an index for it: years of curves cannot be sorted anew for each page. The rest are filters.
COLUMNS = (
    Column("pick", "Compare"),
    Column("experiment", "Experiment", ("experiment__name",)),
    Column("system", "System"),
    Column("workload", "Workload"),
    Column("duration", "Duration"),
    Column("host", "Host"),
    Column("date", "Planned", ("experiment__created_at", "-position")),
    Column("runs", "Runs", ("result_count",), is_number=True),
    Column("peak", "Peak", is_number=True),
)


@dataclass(frozen=True)
class PickingPage:
    """Finished curves to tick; `hidden` are the parameters of the comparison that the form keeps."""

    state: State
    listing: Listing[ExperimentSystem]
    hidden: Sequence[tuple[str, str]]
    note: str = ""

    most = MOST

    @classmethod
    def load(cls, query: QueryDict, state: State, note: str = "") -> PickingPage:
        listing = Listing(
            query, queries.finished(), COLUMNS, search=queries.SEARCH, filters=filters.filters(), default="-date"
        )
        hidden = [(name, value) for name in PARAMETERS[1:] for value in query.getlist(name)]
        return cls(state, listing, hidden, note)

    @cached_property
    def ticked(self) -> set[str]:
        return {f"{experiment}-{system}" for experiment, system in self.state.keys}

    @cached_property
    def rows(self) -> list[tuple[str, ExperimentSystem, Level | None]]:
        rows = list(self.listing.page)
        peaks = queries.peaks([(row.experiment_id, row.system_id) for row in rows])
        return [(key_of(row), row, peaks.get((row.experiment_id, row.system_id))) for row in rows]

    @cached_property
    def elsewhere(self) -> list[tuple[str, ExperimentSystem]]:
        """Return the curves that are ticked and not on this page of the list."""
        listed_names = {name for name, *_ in self.rows}
        keys = [key for key in self.state.keys if f"{key[0]}-{key[1]}" not in listed_names]
        return [(key_of(row), row) for row in queries.rows(keys)]

    @property
    def all_address(self) -> str:
        return f"{self.state.address(curve=sorted(self.ticked))}&pick=1"
