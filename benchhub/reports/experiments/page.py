"""The page of an experiment: its runs, how far it is, and a section of curves and prices for each protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse

from benchhub.analysis.curves import saturation
from benchhub.analysis.curves.curve import Curve
from benchhub.analysis.protocol.digest import labels
from benchhub.analysis.statistics import resemblance
from benchhub.analysis.statistics.spread import INTERVAL, RANGE
from benchhub.bench.models import Experiment, Run, RunTally, System, Worker
from benchhub.bench.models.states import FINAL, State
from benchhub.bench.queue.page import why_waiting
from benchhub.bench.queue.progress import tallies
from benchhub.reports.comparison.answers.fastest import Fastest, fastest
from benchhub.reports.curves import curves, figures, latencies, sweeps
from benchhub.reports.curves import runs as runs_of_curves
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.curves.figures import Figure
from benchhub.reports.curves.runs import CurveRun
from benchhub.reports.models import Tag
from benchhub.reports.prices.queries import price_book
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import terms
from benchhub.ui.listing import Listing

from . import growth, limits, notes, protocol, queries, runs_table
from .notes import Note
from .progress import Progress, progress


@dataclass(frozen=True)
class ExperimentPage:
    """The page of an experiment; `query` has the terms of prices and the filters of the list of runs."""

    experiment: Experiment
    query: QueryDict

    @cached_property
    def rows(self) -> QuerySet[Run]:
        return queries.runs(self.experiment)

    @cached_property
    def runs(self) -> list[CurveRun]:
        """Return the runs that curves and verdicts are made of."""
        return queries.curve_runs(self.experiment)

    @cached_property
    def systems(self) -> list[System]:
        return queries.systems(self.experiment)

    @cached_property
    def groups(self) -> list[curves.Group]:
        return groups(self.experiment, self.runs, self.systems)

    @property
    def protocol(self) -> list[str]:
        return protocol.sentences(self.experiment)

    @cached_property
    def tags(self) -> list[Tag]:
        return list(Tag.objects.filter(experiment=self.experiment))

    @cached_property
    def listing(self) -> Listing[Run]:
        return runs_table.listing(self.query, self.experiment, self.rows, self.systems)

    @property
    def run_rows(self) -> list[tuple[Run, int]]:
        """Return the runs of the list, each with the number by which colour and shape tell its system."""
        series_by_system = {system.pk: series for series, system in enumerate(self.systems)}
        return [(run, series_by_system[run.system_id]) for run in self.listing.page]

    @cached_property
    def progress(self) -> Progress:
        rows = tallies(RunTally.objects.filter(experiment=self.experiment))
        is_live = any(row.state not in FINAL for row in rows)
        return progress(rows, self.experiment.rest_s, is_worked_on=not is_live or self._is_worked_on())

    @cached_property
    def waits(self) -> list[str]:
        """Say why its next run does not start; empty while one is under way, or where a person knows why."""
        is_waiting = self.progress.is_live and not self.progress.active and self.experiment.paused_at is None
        return why_waiting(self.experiment) if is_waiting else []

    def _is_worked_on(self) -> bool:
        return Worker.objects.alive().exists() and not queries.is_out_of_sight(self.experiment)

    @cached_property
    def provenance(self) -> list[str]:
        """Say who imported runs of it and from where, each once; empty where BenchHub made them."""
        return queries.provenance(self.experiment) if self.experiment.is_brought_in else []

    @cached_property
    def growth(self) -> growth.Shown | None:
        return growth.shown(self.experiment)

    @cached_property
    def added(self) -> int:
        """Count the runs beyond the repeats of the plan; a plan that grows has none."""
        return 0 if self.experiment.grows else runs_of_curves.added(self.runs, self.experiment.repeats)

    @cached_property
    def sweeps(self) -> list[sweeps.Sweep]:
        return sweeps.sweeps(self.experiment, self.systems)

    @property
    def offered_text(self) -> str:
        """Say why runs at rates of their own have no curve; empty for a sweep of rates and for a closed loop."""
        is_offered = not self.experiment.rates_tps and any(run.rate_tps for run in self.runs)
        return curves.OFFERED if is_offered else ""

    @property
    def sweep_figure(self) -> Figure:
        return sweeps.throughput_figure(self.sweeps)

    @property
    def sweep_latency(self) -> Figure:
        return sweeps.latency_figure(self.sweeps)

    @property
    def compare_address(self) -> str:
        comparison_query = self.query.copy()
        comparison_query["experiment"] = str(self.experiment.pk)
        return f"{reverse('compare')}?{comparison_query.urlencode()}"

    @cached_property
    def sections(self) -> list[Section]:
        price_terms = terms(self.query)
        machines = (machine for system in self.systems for machine in system.machines)
        prices = price_book(machines, (price_terms.day, price_terms.today))
        return [Section(group, self.runs, table(group.curves, prices, price_terms)) for group in self.groups]

    @cached_property
    def protocol_differences(self) -> list[str]:
        """Name the fields that keep the systems apart; empty for one protocol, which is the rule."""
        if len(self.groups) < 2:
            return []
        return labels(curves.differences(queries.protocol_forms(group.protocol_digest for group in self.groups)))


@dataclass(frozen=True)
class Section:
    """The curves of one protocol, drawn and priced; `runs` are all of the experiment."""

    group: curves.Group
    runs: Sequence[CurveRun]
    prices: Table

    @property
    def figure_id(self) -> str:
        return f"figure-{self.group.number}"

    @property
    def latency_id(self) -> str:
        return f"latency-{self.group.number}"

    @cached_property
    def answer(self) -> Fastest[SystemCurve] | None:
        """Return which system is the fastest; None while there are no curves, and where they are not compared."""
        return fastest(self.group.curves) if self.group.curves and not self.group.refusal else None

    @cached_property
    def figure(self) -> Figure:
        return figures.throughput_figure(self.group.curves)

    @property
    def latency(self) -> Figure:
        return figures.latency_figure(self.group.curves)

    @property
    def bars_text(self) -> str:
        """Say what the bars are, and why there is a range where one expects an interval."""
        text: str = self.figure["layout"]["meta"]["bars_text"]
        kinds = curves.kinds(self.group.curves)
        intervals = " Intervals are of the geometric mean (t distribution of logarithms)." if INTERVAL in kinds else ""
        ranges = " An interval needs three runs, and is not shown where it says nothing." if RANGE in kinds else ""
        return f"{text}{intervals}{ranges}"

    @property
    def assumption(self) -> str:
        """Say what the intervals take for granted, by the curve of the fewest runs; empty where none is shown."""
        runs = [sum(level.throughput.n for level in curve.levels) for curve in self._curves_with_intervals()]
        return resemblance.assumption_text(min(runs)) if runs else ""

    def _curves_with_intervals(self) -> list[Curve]:
        all_curves = [system_curve.curve for system_curve in self.group.curves]
        return [curve for curve in all_curves if any("interval" in level.throughput.kind for level in curve.levels)]

    @cached_property
    def aside(self) -> int:
        return sum(len(system_curve.aside) for system_curve in self.group.curves)

    @property
    def all_failed(self) -> bool:
        digest = self.group.protocol_digest
        measuring = [run for run in self.runs if run.kind == Run.Kind.MEASURE and run.protocol_id == digest]
        return all(run.state in (State.FAILED, State.LOST) for run in measuring)

    @cached_property
    def limits(self) -> list[limits.Limit]:
        return limits.limits(self.group.curves)

    @property
    def bounds_of_limits(self) -> str:
        return saturation.LIMITS

    @cached_property
    def notes(self) -> list[notes.Note]:
        return notes.notes(self.group, self.runs)

    @property
    def weightiest(self) -> Note:
        """Return the note on the curve that is trusted least, the first of them; there must be a curve."""
        return max(self.notes, key=lambda note: note.verdict.weight)


def groups(experiment: Experiment, runs: Sequence[CurveRun], systems: Sequence[System]) -> list[curves.Group]:
    histograms = latencies.of_runs(run.pk for run in runs if not run.rate_tps)
    plan = curves.Plan(queries.protocols(experiment), tuple(experiment.client_levels))
    return curves.groups(plan, runs, systems, histograms)
