"""The page of a tuning series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse

from benchhub.analysis.tuning import treatments, words
from benchhub.analysis.words import listing
from benchhub.bench.models import TuningSeries
from benchhub.reports.comparison.answers.answer import Tile
from benchhub.reports.curves.figures import Figure

from . import answer, exports
from .exports import Export
from .figures import figure
from .series import Series


@dataclass(frozen=True)
class SeriesPage:
    """The answer first, then picture, tables and files."""

    series: Series

    @classmethod
    def load(cls, row: TuningSeries) -> SeriesPage:
        return cls(Series.load(row))

    @property
    def row(self) -> TuningSeries:
        return self.series.row

    @property
    def verdict(self) -> str:
        return answer.verdict(self.series)

    @property
    def sentences(self) -> list[str]:
        return answer.sentences(self.series)

    @cached_property
    def tiles(self) -> Sequence[Tile]:
        return tuple(answer.tiles(self.series))

    @cached_property
    def figure(self) -> Figure:
        return figure(self.series)

    @property
    def total_text(self) -> str:
        return words.effect_text(self.series.effects.total)

    @property
    def has_running(self) -> bool:
        return any(step.running for step in self.series.steps)

    @property
    def has_aliases(self) -> bool:
        return any(step.alias_text for step in self.series.steps)

    @property
    def levels_text(self) -> str:
        return listing(map(str, self.series.effects.levels or self.row.experiment.client_levels))

    @cached_property
    def exports(self) -> list[Export]:
        """Return the files of the best configuration; none while there is no best."""
        best = self.series.best
        return exports.exports_of(best, self.row.name) if best else []

    @property
    def export_title(self) -> str:
        """Call the configuration to take away the best only where its effect is shown."""
        best = self.series.best
        if best is None or not best.place:
            return "The baseline"
        is_shown = best.ratio is not None and best.ratio.is_tested and best.ratio.is_distinguishable
        return "The best configuration" if is_shown else "The fastest configuration as measured"

    @property
    def comparison_address(self) -> str:
        """Return the comparison of the configurations as durable as the baseline: others are not compared with it."""
        rows = [treatment.row for treatment in self.series.treatments if not treatment.relaxed]
        curves = [("curve", f"{self.row.experiment_id}-{row.system_id}") for row in rows]
        return f"{reverse('compare')}?{urlencode(curves)}"

    @property
    def over_time_address(self) -> str:
        """Return the page of a run of the baseline with one of the best on its axis; empty where they are no two.

        Where the baseline itself is the best, it is one of all steps together, if anything was measured so.
        """
        baseline, *others = self.series.treatments
        best = self.series.best
        if best and not best.place and self.series.kind == treatments.CUMULATIVE:
            best = others[-1]
        pair = [self.series.typical_run(row) for row in (baseline, best) if row]
        if None in pair or len(set(pair)) < 2:
            return ""
        return f"{reverse('run', args=pair[:1])}?with={pair[1]}#timeline"

    @property
    def again_address(self) -> str:
        """Return the form of a new series whose baseline is the best configuration of this one."""
        place = self.series.best.place if self.series.best else 0
        return f"{reverse('tuning-new')}?like={self.row.pk}&baseline={place}"
