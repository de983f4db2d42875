"""The page of a design: what its matrix says, with its rows and columns chosen in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict

from benchhub.bench.plan.page import DesignPage
from benchhub.reports.curves.panel import Panel

from . import figures
from .matrix import CLIENTS, DIMENSIONS, SCALE, SYSTEM, THREADS, WORKLOAD, HeatMap, Matrix, Place, peak_words

ROWS, COLUMNS = "rows", "columns"
# The dimension that comes first makes the rows of a page that nobody has turned yet.
ORDER = (SCALE, WORKLOAD, THREADS, SYSTEM, CLIENTS)


@dataclass(frozen=True)
class DesignResultPage(DesignPage):
    """A design with its results; `query` is the address."""

    query: QueryDict

    @cached_property
    def matrix(self) -> Matrix:
        return Matrix.load(self.design, self.parts)

    @property
    def is_under_way(self) -> bool:
        return self.ended_count < self.planned_count or not self.matrix.places

    @property
    def dimensions(self) -> list[tuple[str, str]]:
        """Return what may be rows and columns, as (name, title)."""
        return [(name, DIMENSIONS[name]) for name in self._names]

    @cached_property
    def _names(self) -> Sequence[str]:
        return [name for name in ORDER if name == CLIENTS or name in self.matrix.many]

    @cached_property
    def _turned(self) -> tuple[str, str]:
        """Return rows and columns: those of the address where it names two that there are."""
        rows, columns = self.query.get(ROWS, ""), self.query.get(COLUMNS, "")
        if rows in self._names and columns in self._names and rows != columns:
            return rows, columns
        first, *others = [*self._names, *(name for name in ORDER if name not in self._names)]
        return first, others[0]

    @property
    def rows(self) -> str:
        return self._turned[0]

    @property
    def columns(self) -> str:
        return self._turned[1]

    @property
    def problem(self) -> str:
        """Say why the address is not followed; empty where it is."""
        pair = (self.query.get(ROWS, ""), self.query.get(COLUMNS, ""))
        if not any(pair) or pair == self._turned:
            return ""
        return "Choose two different dimensions for rows and columns, each with several values. These are as usual."

    @property
    def row_title(self) -> str:
        return DIMENSIONS[self.rows]

    @property
    def column_title(self) -> str:
        return DIMENSIONS[self.columns]

    @property
    def quantity(self) -> str:
        """Say what a cell of the heat map holds."""
        return "Peak throughput" if self.has_peaks else "Throughput"

    @property
    def has_peaks(self) -> bool:
        """Tell whether cells are peaks, so that each has a number of clients of its own."""
        return CLIENTS not in self._turned

    @cached_property
    def heat_maps(self) -> list[tuple[HeatMap, Panel | None]]:
        """Return the heat maps, each with a picture of the same numbers; with clients, the curves are that picture."""
        maps = self.matrix.heat_maps(self.rows, self.columns)
        return [(heat_map, self._picture(heat_map, number)) for number, heat_map in enumerate(maps, start=1)]

    def _picture(self, heat_map: HeatMap, number: int) -> Panel | None:
        if not self.has_peaks or not self.matrix.unit or len(heat_map.rows) < 2:
            return None
        title = f"Peaks by {self.row_title.lower()}{', ' if heat_map.title else ''}{heat_map.title}"
        return Panel(f"map-{number}", title, figure=figures.along(self.matrix, heat_map, self.rows))

    @property
    def best_text(self) -> str:
        return peak_words(self.matrix.best, self.matrix.many)

    @property
    def lowest_text(self) -> str:
        """Write the lowest of the peaks; empty where there is only one."""
        places = sorted(self.matrix.places, key=_peak_mean)
        return peak_words(places[0], self.matrix.many) if len(places) > 1 else ""

    @cached_property
    def peaks(self) -> Panel:
        """Return the table of peaks with the dimensions that have several values; its CSV has them all."""
        dimensions = [name for name in figures.NAMED if name in self.matrix.many] or [WORKLOAD]
        return figures.peaks(self.matrix, dimensions)

    @cached_property
    def multiples(self) -> list[tuple[Panel, str]]:
        """Return the curves as small pictures, each with the address of its CSV."""
        panels = figures.multiples(self.matrix, self.rows, self.columns)
        return [(panel, self.csv_address(panel.name)) for panel in panels]

    @property
    def peaks_address(self) -> str:
        return self.csv_address(figures.PEAKS)

    def csv_address(self, name: str) -> str:
        return f"?rows={self.rows}&columns={self.columns}&csv={name}"

    def table(self, name: str) -> Panel | None:
        """Return the panel of a name, for its CSV; None where there is none."""
        panels = [figures.peaks(self.matrix), *(panel for panel, _ in self.multiples)] if self.matrix.places else []
        return next((panel for panel in panels if panel.name == name), None)


def _peak_mean(place: Place) -> float:
    return place.curve.peak.level.throughput.mean
