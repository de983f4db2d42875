"""What a run's page shows: everything that belongs to one run, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from django.db.models import QuerySet

from benchhub.analysis.doubts import verdict
from benchhub.analysis.doubts.verdict import RunFacts, Verdict
from benchhub.analysis.protocol.settings import in_unit_asked
from benchhub.bench.models import Attempt, Evidence, LatencyHistogram, Result, Run, Series
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates
from benchhub.bench.results import live_log, run_facts
from benchhub.ui.facts import Fact, as_fact, in_words, sections
from runners import tools
from runners.contract import Histogram, RunSpec
from runners.tools.histogram import percentile_us
from runners.tools.pgbench.parameters import scripts_digest

from . import figures, mqth, types

COMMAND_FILE = "command.sh"
NO_AMOUNTS = ("port", "seed")  # numbers that name something: no separators
WARMUP = "warmup_"  # so a load generator's parser begins the name of the throughput in the warm-up
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class SeriesGroup:
    """Metrics of one unit: a figure, and a table of its values by second."""

    figure_id: str
    unit: str
    metrics: tuple[str, ...]
    figure: figures.Figure
    rows: tuple[tuple[float | None, ...], ...]
    has_warmup: bool = False

    @property
    def title(self) -> str:
        listed = ", ".join(self.metrics)
        unit = "" if self.unit == listed else f", {self.unit}"
        return f"{listed[:1].upper()}{listed[1:]} over time{unit}"


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latency of one script. `values` are (label, milliseconds), None where too few samples lie above."""

    name: str
    samples: int
    sampling_rate: float
    mean_ms: float
    lowest_ms: float
    highest_ms: float
    values: tuple[tuple[str, float | None], ...]

    @property
    def sampled_percent(self) -> str:
        return f"{100 * self.sampling_rate:.3g}"


def run(pk: int) -> QuerySet[Run]:
    return Run.objects.filter(pk=pk).select_related(
        "experiment__workload", "delivery__by", "system__hardware", "system__build", "system__configuration",
        "system__driver", "system__instance__host", "result__attempt", "found", "watch", "set_aside_by",
    )  # fmt: skip


def context(of: Run) -> dict[str, Any]:
    attempts = list(of.attempts.order_by("number"))
    evidence = list(Evidence.objects.filter(attempt__run=of).defer("content").select_related("attempt"))
    histograms = [histogram for histogram in of.histograms.order_by("pk") if sum(histogram.counts)]
    found, result = getattr(of, "found", None), getattr(of, "result", None)
    series = list(of.series.order_by("unit", "metric"))
    known = facts_of(of, result, series, found.deltas if found else {}) if result else None
    return {
        "run": of,
        "system": of.system,
        "result": result,
        "measures": measures(result) if result else [],
        "rate_steps": (rate_steps := mqth.steps(result, of.spec) if result else []),
        "strict": mqth.strict_rate(result) if result else None,
        "is_sampled": mqth.is_sampled(of.spec),
        "unreported": unreported(of, result) if result and not rate_steps else "",
        "verdict": judged(known) if known else None,
        "steadiness": steadiness_facts(known, found.deltas if found else {}) if known else [],
        "types": type_rows(result, histograms, of.spec) if result else [],
        "watch": getattr(of, "watch", None),
        "found": found,
        "waits": waits(of),
        "is_rerunnable": of.state in (State.FAILED, State.LOST),
        "log": log_parts(attempts),
        "events": of.events.all(),
        "attempts": attempts,
        "evidence": evidence,
        "command": (command := command_text(attempts, evidence)),
        "command_line": command_line(command, tools.get(of.spec["tool"]).program),
        "spec": spec_facts(of.spec),
        "scripts": scripts(parameters := of.spec.get("parameters") or {}),
        "scripts_digest": scripts_digest(parameters),
        "series": series_groups([one for one in series if not is_zero(one)]),
        "zeros": [in_words(figures.named(one.metric, one.unit)) for one in series if is_zero(one)],
        "latency_figure": figures.latency_figure(histograms) if histograms else None,
        "percentiles": [percentiles(histogram) for histogram in histograms],
        "undrawn": [(figures.script_title(one.name), sum(one.counts)) for one in figures.too_few(histograms)],
        "fewest_drawn": figures.FEWEST_DRAWN,
        "differences": differences(found.differences) if found else [],
        "settings": setting_rows(found.settings) if found else [],
        "asked_settings": asked_settings(of, found.settings) if found else [],
        "facts": sections(("Server", found.server), ("Host", found.host)) if found else [],
        "deltas": sections(("Differences", found.deltas)) if found else [],
    }


def type_rows(
    of: Result, histograms: Sequence[LatencyHistogram], asked: Mapping[str, Any]
) -> list[tuple[types.Type, dict[str, Any]]]:
    """Each type with its percentiles by label, in milliseconds."""
    unknown = dict.fromkeys(_label(share) for share in SHARES)
    rows = types.types(of.measures, histograms, is_sampled=mqth.is_sampled(asked))
    return [(row, dict(percentiles(row.histogram).values) if row.histogram else unknown) for row in rows]


def waits(of: Run) -> list[str]:
    """Why a queued run does not start now."""
    if of.state != State.QUEUED:
        return []
    return gates.sentences(gates.with_gates(run(of.pk)).get())


def log_parts(attempts: Sequence[Attempt]) -> list[live_log.Part]:
    """The last part of the newest attempt's logs, as long as its evidence is not here."""
    if not attempts:
        return []
    return [live_log.part(log, 0) for log in attempts[-1].live_logs.order_by("stream")]


def measures(of: Result) -> list[Fact]:
    """What the page does not say above in large figures."""
    above = {of.unit.lower(), mqth.STRICT, "latency_average_ms", "latency_p95_ms", "latency_p99_ms"}
    shown = [name for name in of.measures if name not in above and not types.is_per_type(name)]
    return [_measure(name, **of.measures[name]) for name in shown]


def unreported(of: Run, result: Result) -> str:
    """Why fewer seconds were measured than asked for; empty where all were, or where no load generator tells."""
    asked_s, told = of.spec.get("duration_s") or 0, result.measures.get("measured_s")
    missing_s = round(asked_s - told["value"]) if told else 0
    if missing_s < 1:
        return ""
    last = "the last second" if missing_s == 1 else f"the last {missing_s} s"
    said = f"Of the {asked_s:g} s that were asked for, {told['value']:g} s were measured"
    return f"{said}: the load generator ended before it reported {last}, which is in no throughput."


def facts_of(of: Run, result: Result, series: Sequence[Series], deltas: Mapping[str, Any]) -> RunFacts:
    doubts = [(doubt["code"], doubt["text"]) for doubt in result.doubts]
    values = {name: measure["value"] for name, measure in result.measures.items()}
    tps = [(one.values, one.step_s) for one in series if one.metric == result.unit.lower()]
    return run_facts.facts(of, doubts, values, tps[0] if tps else None, deltas)


def judged(known: RunFacts) -> Verdict:
    """The verdict of today's rules, with the doubts that were noted when the run was read: each sentence once."""
    found = verdict.of_run(known)
    once = {reason.text: reason for reason in found.reasons}
    return Verdict(tuple(once.values()), found.unchecked)


def steadiness_facts(known: RunFacts, deltas: Mapping[str, Any]) -> list[Fact]:
    """How steady the run was, in numbers; a run too short to judge has only its checkpoints."""
    begun = run_facts.checkpoints(deltas)
    facts = [] if begun is None else [Fact("checkpoints begun within the run", begun)]
    if (steady := known.steadiness) is None:
        return facts
    warm_up = f"after {steady.warm_up.end_s:g} s" if steady.warm_up else "before the first second"
    trend = "not known" if steady.trend is None else f"{steady.trend.percent:+.1f}% (p = {steady.trend.p:.2g})"
    stalls = ", ".join(f"{stall_s:g} s" for stall_s in steady.stalls_s) or "none"
    return [
        Fact("coefficient of variation, by second", round(steady.variation_percent, 1), "%"),
        Fact("warm-up ended", warm_up),
        Fact("trend from beginning to end", trend),
        Fact("stalls, below a tenth of the median", stalls),
        *facts,
    ]


def _measure(name: str, value: Any, unit: str) -> Fact:
    words = in_words(figures.named(name, unit))
    return Fact(words, value, "" if words.endswith(unit) else unit)


def command_text(attempts: Sequence[Attempt], evidence: Iterable[Evidence]) -> str:
    """The newest attempt's command as it ran on the driver; empty until its evidence is here."""
    keys = [file.pk for file in evidence if file.name == COMMAND_FILE and file.attempt_id == attempts[-1].pk]
    return Evidence.objects.get(pk=keys[0]).text if keys else ""


def command_line(script: str, tool: str) -> str:
    """The line of command.sh that calls the load generator: the last one of the measured step, or of the load."""
    _, _, step = script.rpartition("\nstep load\n" if "\nstep load\n" in script else "\nstep measure\n")
    lines = [line for line in step.partition("\ncode=$?")[0].splitlines() if tool and tool in line]
    return lines[-1].removesuffix(" || rc=$?") if lines else ""


def evidence_file(run_pk: int, name: str, attempt: int | None) -> QuerySet[Evidence]:
    """The named file of one attempt, or of the newest that has it, first."""
    files = Evidence.objects.filter(attempt__run=run_pk, name=name).select_related("attempt")
    files = files.order_by("-attempt__number")
    return files if attempt is None else files.filter(attempt__number=attempt)


def spec_facts(spec: Mapping[str, Any]) -> list[Fact]:
    """The plan of the run, flat and in the order of RunSpec (the database keeps none); numbers as they were asked."""
    flat: dict[str, Any] = {}
    tool = tools.get(spec["tool"])
    # What stands in place of a field: the version is pgbench's, whatever the load generator.
    told = {
        "parameters": tool.in_full(spec.get("parameters") or {}),
        "tool_version": {"client_program": tool.client(spec.get("tool_version", ""))},
    }
    for field in fields(RunSpec):
        value = told.get(field.name, spec.get(field.name))
        flat |= value if isinstance(value, Mapping) else {field.name: value}
    return [_asked(name, value) for name, value in flat.items()]


def scripts(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(title, text) of the custom scripts, numbered as the page of the workload does, and of the init script."""
    found = [
        (f"Script {number}, weight {script.get('weight', 1)}", script["text"])
        for number, script in enumerate(parameters.get("scripts", ()), start=1)
    ]
    return [*found, *([("Init script", parameters["init"])] if parameters.get("init") else [])]


def _asked(name: str, value: Any) -> Fact:
    fact = as_fact(name, value)
    if isinstance(value, bool | None):
        return fact
    shown = f"{fact.value:,}" if isinstance(fact.value, int) and name not in NO_AMOUNTS else fact.value
    return Fact(fact.name, f"{shown} {fact.unit}".strip())


def setting_rows(settings: Mapping[str, Any]) -> list[Fact]:
    """Server settings as found, each {"setting", "unit", "source"} or plain text."""
    return [Fact(name, _setting_text(value), _source(value)) for name, value in sorted(settings.items())]


def asked_settings(of: Run, settings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, asked, found) of the settings that the configuration asks for."""
    asked = of.system.configuration.settings
    return [
        (name, str(value), _found_text(str(value), settings.get(name, "not found"))) for name, value in asked.items()
    ]


def differences(rows: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Settings that are not as asked for, each with what was found in the unit asked."""
    return [{**row, "found": in_unit_asked(row["asked"], *_number_and_unit(row["found"]))} for row in rows]


def _number_and_unit(text: str) -> tuple[str, str | None]:
    number, _, unit = text.partition(" ")
    return (number, unit) if unit and number.lstrip("-").isdecimal() else (text, None)


def _found_text(asked: str, found: Any) -> str:
    if not isinstance(found, Mapping):
        return str(found)
    return in_unit_asked(asked, str(found.get("setting", "")), found.get("unit"))


def _setting_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return f"{value.get('setting', '')} {value.get('unit') or ''}".strip()


def _source(value: Any) -> str:
    return str(value.get("source") or "") if isinstance(value, Mapping) else ""


def series_groups(series: Sequence[Series]) -> list[SeriesGroup]:
    """One group per unit and grid of time; `series` comes sorted by unit."""
    warmups = [one for one in series if one.metric.startswith(WARMUP)]
    keyed = sorted((one for one in series if one not in warmups), key=_grid)
    grouped = enumerate(groupby(keyed, key=_grid), start=1)
    groups = [_series_group(f"series-figure-{i}", unit, list(group)) for i, ((unit, *_), group) in grouped]
    return [_with_warmup(group, warmups) for group in groups]


def is_zero(one: Series) -> bool:
    """Whether a line along the axis is all there is to draw, as where nothing failed."""
    return not one.metric.startswith(WARMUP) and all(value == 0 for value in one.values)


def _with_warmup(group: SeriesGroup, warmups: Sequence[Series]) -> SeriesGroup:
    """The throughput of the warm-up before that of the measured part, marked, at negative seconds."""
    before = [one for one in warmups if group.metrics == (in_words(one.metric.removeprefix(WARMUP)),)]
    if not before:
        return group
    seconds = figures.seconds_before(before[0])
    rows = (*zip(seconds, before[0].values, strict=True), *group.rows)
    return replace(group, figure=figures.with_warmup(group.figure, before[0]), rows=rows, has_warmup=True)


def _grid(one: Series) -> tuple[str, float, float, int]:
    return one.unit, one.step_s, one.start_epoch_s, len(one.values)


def _series_group(figure_id: str, unit: str, series: Sequence[Series]) -> SeriesGroup:
    figure = figures.series_figure(series)
    seconds = figure["data"][0]["x"]
    return SeriesGroup(
        figure_id=figure_id,
        unit=unit,
        metrics=tuple(in_words(figures.named(one.metric, one.unit)) for one in series),
        figure=figure,
        rows=tuple(zip(seconds, *(one.values for one in series), strict=True)),
    )


def percentiles(of: LatencyHistogram) -> Percentiles:
    histogram = plain_histogram(of)
    found = ((_label(share), percentile_us(histogram, share)) for share in SHARES)
    return Percentiles(
        name=figures.script_title(of.name),
        samples=histogram.total,
        sampling_rate=of.sampling_rate,
        mean_ms=of.sum_us / histogram.total / 1000,
        lowest_ms=of.min_us / 1000,
        highest_ms=of.max_us / 1000,
        values=tuple((label, None if value is None else value / 1000) for label, value in found),
    )


def _label(share: float) -> str:
    return f"p{100 * share:g}"


def plain_histogram(of: LatencyHistogram) -> Histogram:
    return Histogram(
        name=of.name,
        lower_us=tuple(of.lower_us),
        upper_us=tuple(of.upper_us),
        counts=tuple(of.counts),
        sum_us=of.sum_us,
        min_us=of.min_us,
        max_us=of.max_us,
        sampling_rate=of.sampling_rate,
    )
