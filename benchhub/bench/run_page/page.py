"""The page of a run: everything that belongs to it, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from benchhub.analysis.doubts.pins import Grid, Pin, pins
from benchhub.analysis.doubts.verdict import RunFacts, Verdict
from benchhub.analysis.protocol.differences import Difference
from benchhub.bench.models import (
    Attempt,
    Event,
    Evidence,
    Found,
    LatencyHistogram,
    Result,
    Run,
    RunTelemetry,
    Series,
    System,
    TelemetryImport,
    Watch,
)
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates, progress
from benchhub.bench.results import live_log
from benchhub.ui.facts import Fact, Section, sections
from runners import tools
from runners.contract import READS_PER_LOOK
from runners.tools import Tool
from runners.tools.kinds import Script

from . import figures
from .beside import environment_differences, runs_beside, sources
from .evidence import Statements, command_line, command_text, timed_statements
from .latency import Percentiles, percentiles_of, type_rows
from .measures import facts_for_verdict, measure_facts, steadiness_facts, unreported_text, verdict_on
from .series import SeriesGroup, is_zero, metric_words, series_groups
from .settings import (
    OsSetting,
    ServerSetting,
    Setting,
    environment_sections,
    os_rows,
    requested_settings,
    server_rows,
    setting_rows,
    unmet_settings,
)
from .spec import spec_facts
from .timeline import figure, panels
from .timeline.ghosts import ghosts_of
from .timeline.segments import SegmentRow, segment_rows
from .types import Type, logged_share


def runs() -> QuerySet[Run]:
    """Return runs with the single rows that their pages and bundles read."""
    return Run.objects.select_related(
        "experiment__workload", "delivery__by", "system__hardware", "system__build", "system__configuration",
        "system__driver", "system__instance__host", "result__attempt", "found", "watch", "set_aside_by",
        "telemetry_import__by",
    )  # fmt: skip


@dataclass(frozen=True)
class RunPage:
    """The page of a run. The run comes out of `runs()`; lists are read when they are first needed."""

    run: Run
    numbers_beside: tuple[int, ...] = ()

    # --- its rows -----------------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
        return self.run.system

    @property
    def tool(self) -> Tool:
        return tools.get(self.run.spec["tool"])

    @property
    def result(self) -> Result | None:
        return getattr(self.run, "result", None)

    @property
    def found(self) -> Found | None:
        return getattr(self.run, "found", None)

    @property
    def watch(self) -> Watch | None:
        return getattr(self.run, "watch", None)

    @cached_property
    def attempts(self) -> list[Attempt]:
        return list(self.run.attempts.order_by("number"))

    @cached_property
    def evidence(self) -> list[Evidence]:
        files = Evidence.objects.filter(attempt__run=self.run).defer("content")
        return list(files.select_related("attempt"))

    @cached_property
    def events(self) -> list[Event]:
        return list(self.run.events.all())

    @cached_property
    def _series(self) -> list[Series]:
        return list(self.run.series.order_by("unit", "metric"))

    @cached_property
    def _histograms(self) -> list[LatencyHistogram]:
        return [histogram for histogram in self.run.histograms.order_by("pk") if sum(histogram.counts)]

    # --- where it stands ----------------------------------------------------------------------------------------

    @property
    def is_rerunnable(self) -> bool:
        return self.run.state in (State.FAILED, State.LOST)

    @property
    def expected_end(self) -> datetime | None:
        """Return when it was expected to end, where it is under way for longer; otherwise None."""
        if not self.run.started_at or self.run.is_final:
            return None
        now, extras = timezone.now(), Run.objects.extras_s([self.run.experiment_id])
        is_late = progress.run_seconds_late(self.run, now, extras)
        return progress.expected_end(self.run, now, extras) if is_late else None

    @property
    def deadline(self) -> datetime | None:
        return progress.deadline(self.run)

    @cached_property
    def waits(self) -> list[str]:
        """Say why a queued run does not start now."""
        if self.run.state != State.QUEUED:
            return []
        return gates.sentences(gates.with_gates(runs()).get(pk=self.run.pk))

    @cached_property
    def log(self) -> list[live_log.Part]:
        """Return the last part of the newest attempt's logs, as long as its evidence is not here."""
        newest = self.attempts[-1:]
        return [live_log.part(log, 0) for attempt in newest for log in attempt.live_logs.order_by("stream")]

    @cached_property
    def live_ghosts(self) -> list[list[float | None]]:
        """Return the throughputs of earlier repeats, second by second, to stand behind the line of a run under way."""
        return [list(source.values) for source in ghosts_of(self.run) if source.panel == panels.THROUGHPUT]

    # --- what was measured --------------------------------------------------------------------------------------

    @cached_property
    def measures(self) -> list[Fact]:
        return measure_facts(self.result, self.tool) if self.result else []

    @cached_property
    def rate_steps(self) -> Sequence[str]:
        measures = {name: measure["value"] for name, measure in self.result.measures.items()} if self.result else {}
        return self.tool.rate_steps(measures, self.run.spec.get("duration_s"), self.is_sampled)

    @property
    def strict_rate(self) -> float | None:
        """Return the throughput by the stricter of the load generator's rules, where it has two."""
        measure = self.result.measures.get(self.tool.strict_measure) if self.result else None
        return measure and float(measure["value"])

    @property
    def is_sampled(self) -> bool:
        """Tell whether only a share of the transactions was logged."""
        return 0 < logged_share(self._histograms, self.run.spec) < 1

    @property
    def is_strict_estimated(self) -> bool:
        """Tell whether the strict rate rests on a share of the reads."""
        return self.is_sampled or bool(self.result and READS_PER_LOOK in self.result.measures)

    @property
    def unreported(self) -> str:
        """Say why the last seconds are missing, unless the steps of the rate say it."""
        return unreported_text(self.run.spec, self.result) if self.result and not self.rate_steps else ""

    @cached_property
    def verdict(self) -> Verdict | None:
        return verdict_on(self._run_facts) if self._run_facts else None

    @cached_property
    def steadiness(self) -> list[Fact]:
        return steadiness_facts(self._run_facts, self._deltas) if self._run_facts else []

    @cached_property
    def types(self) -> list[tuple[Type, dict[str, float | None]]]:
        return type_rows(self.result, self._histograms, self.run.spec) if self.result else []

    @cached_property
    def statements(self) -> Statements | None:
        return timed_statements(self.run, self.result.attempt, self.evidence) if self.result else None

    @cached_property
    def segments(self) -> list[SegmentRow]:
        return segment_rows(self.result, self._histograms, self.run.spec) if self.result else []

    @cached_property
    def _run_facts(self) -> RunFacts | None:
        return facts_for_verdict(self.run, self.result, self._series, self._deltas) if self.result else None

    @property
    def _deltas(self) -> dict[str, Any]:
        return self.found.deltas if self.found else {}

    # --- over time, and by latency ------------------------------------------------------------------------------

    @cached_property
    def series(self) -> list[SeriesGroup]:
        return series_groups([row for row in self._series if not is_zero(row)])

    @cached_property
    def zeros(self) -> list[str]:
        """Return the metrics that are 0 all the time."""
        return [metric_words(row) for row in self._series if is_zero(row)]

    @cached_property
    def latency_figure(self) -> figures.Figure | None:
        return figures.latency_figure(self._histograms) if self._histograms else None

    @cached_property
    def percentiles(self) -> list[Percentiles]:
        return [percentiles_of(histogram) for histogram in self._histograms]

    @cached_property
    def undrawn(self) -> list[tuple[str, int]]:
        """Return the scripts with too few logged transactions for the figure, each with their number."""
        return [(figures.script_title(row.name), sum(row.counts)) for row in figures.too_few(self._histograms)]

    @property
    def fewest_drawn(self) -> int:
        return figures.FEWEST_DRAWN

    @cached_property
    def _telemetry(self) -> list[RunTelemetry]:
        return list(self.run.telemetry.all())

    @cached_property
    def timeline(self) -> panels.Timeline | None:
        if self.beside:
            return panels.timeline_of(self._series, self._telemetry, sources(self.beside), self.origin)
        ghosts = ghosts_of(self.run) if self._telemetry and self._series else ()
        return panels.timeline_of(self._series, self._telemetry, ghosts, self.origin)

    @property
    def timeline_address(self) -> str:
        """Return the CSV of what is drawn over time; of a run that was not observed that of its load alone."""
        return reverse("run-telemetry" if self._telemetry else "run-series", args=[self.run.pk])

    @property
    def timeline_subject(self) -> str:
        """Name what is drawn over time, and what its CSV has."""
        return "load, machine and server" if self._telemetry else "load"

    @property
    def telemetry_import(self) -> TelemetryImport | None:
        """Return where the telemetry comes from, if BenchHub did not observe it itself."""
        return getattr(self.run, "telemetry_import", None)

    @property
    def origin(self) -> str:
        """Return who noted the telemetry."""
        return self.telemetry_import.source_text if self.telemetry_import else panels.BENCHHUB

    @property
    def takes_telemetry(self) -> bool:
        """Tell whether a reader may add what sysstat noted, as long as nothing was observed."""
        return self.result is not None and self.run.kind == Run.Kind.MEASURE and not self._telemetry

    @cached_property
    def beside(self) -> list[Run]:
        """Return the runs that the reader wants on the same axis."""
        return runs_beside(self.run, self.numbers_beside) if self.numbers_beside else []

    @property
    def beside_text(self) -> str:
        return ", ".join(map(str, self.numbers_beside))

    @cached_property
    def environment_differences(self) -> list[Difference]:
        return environment_differences([self.run, *self.beside])

    @cached_property
    def pins(self) -> list[Pin]:
        """Return the doubts with their places in time."""
        if self.verdict is None or self._run_facts is None:
            return []
        series = {row.metric: Grid(row.values, row.step_s) for row in self._series}
        return pins(self.verdict.doubts, self._run_facts.steadiness, series | panels.grids(self._telemetry))

    @property
    def pinned(self) -> list[Pin]:
        """Return the doubts that have a place on the axis of time."""
        return [pin for pin in self.pins if pin.spans_s]

    @cached_property
    def timeline_first(self) -> figure.View | None:
        if self.timeline is None:
            return None
        return figure.view("timeline-first", self.timeline, self.timeline.first, self.pins, has_reading=True)

    @cached_property
    def timeline_further(self) -> figure.View | None:
        """Return what else was observed; None where nothing was."""
        if self.timeline is None or not self.timeline.further:
            return None
        return figure.view("timeline-further", self.timeline, self.timeline.further)

    def part(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return a part that is fetched when it is opened: its template, and what that takes; None if there is none.

        `series` is each metric by itself, `further` what else was observed; all others are tables, by their figure.
        """
        if name == "series" and self.series:
            return "bench/run/series.html", {"page": self}
        if name == "further" and self.timeline_further:
            return "bench/run/timeline_further.html", {"page": self}
        for view in (self.timeline_first, self.timeline_further):
            if view and view.figure_id == name:
                return "bench/run/timeline_table.html", {"view": view}
        group = next((group for group in self.series if group.figure_id == name), None)
        return ("bench/run/series_table.html", {"group": group}) if group else None

    # --- how it was run, and on what ----------------------------------------------------------------------------

    @cached_property
    def command(self) -> str:
        return command_text(self.attempts, self.evidence)

    @property
    def command_line(self) -> str:
        return command_line(self.command, self.tool.program)

    @cached_property
    def spec(self) -> list[Fact]:
        spec = {**self.run.spec, "log_sampling_rate": logged_share(self._histograms, self.run.spec)}
        return spec_facts(spec, is_imported=self.run.is_imported)

    @cached_property
    def scripts(self) -> Sequence[Script]:
        return self.tool.scripts(self.run.spec.get("parameters") or {})

    @cached_property
    def scripts_digest(self) -> str:
        return self.tool.scripts_digest(self.run.spec.get("parameters") or {})

    @cached_property
    def differences(self) -> list[Setting]:
        return unmet_settings(self.found.differences) if self.found else []

    @cached_property
    def settings(self) -> list[Fact]:
        return setting_rows(self.found.settings) if self.found else []

    @cached_property
    def requested_settings(self) -> list[Setting]:
        return requested_settings(self.system.configuration.settings, self.found.settings) if self.found else []

    @cached_property
    def os_settings(self) -> list[OsSetting]:
        return os_rows(self.run.spec, self._deltas.get("os_settings", {})) if self.found else []

    @cached_property
    def server_settings(self) -> list[ServerSetting]:
        return server_rows(self.run.spec, self._deltas.get("server_settings", {})) if self.found else []

    @cached_property
    def facts(self) -> list[Section]:
        return environment_sections(self.found) if self.found else []

    @property
    def statement_counts(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._deltas.get("pg_stat_statements", [])
        return rows

    @cached_property
    def deltas(self) -> list[Section]:
        apart = ("os_settings", "server_settings", "is_held", "pg_stat_statements")
        deltas = {name: value for name, value in self._deltas.items() if name not in apart}
        return sections(("Differences", deltas)) if self.found else []
