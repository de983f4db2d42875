"""Check results that were measured elsewhere as a whole, before store.py stores any of them as runs.

What is bought and asked for (hardware, configuration, workload) must be in the catalogue by name. Hosts and servers
that BenchHub never sees get rows of their own, which no plan offers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchhub.analysis.words import count
from benchhub.bench.plan import specs
from benchhub.catalog.models import Configuration, Hardware, Workload
from runners import tools
from runners.contract import Endpoint, Measure, Outputs, RunResult, RunSpec
from runners.readings import short
from runners.tools.claims import (
    CLIENT_VERSION,
    CLIENTS,
    DURATION,
    RATE,
    SERVER_VERSION,
    THREADS,
    WARMUP,
)

from . import parts, rates, texts
from .lines import Conditions, Fault, ImportedRun, Reading, RejectedError

FEW_LINES = 20  # of a log, which chance alone may leave out or double
LARGEST = 2**63  # a whole number in the warehouse
NUMBERS = "numbers/1"
SHAPE_REFUSED = "a load shape is measured by BenchHub itself, and cannot be imported."
# Where a delivery states a fact; of the others its workload does.
POINTERS = {
    CLIENT_VERSION: "/client_version",
    SERVER_VERSION: "/system/postgresql",
    CLIENTS: "/clients",
    THREADS: "/thread_rule",
    DURATION: "/duration_s",
    WARMUP: "/warmup_s",
    RATE: rates.POINTER,
}
LATENCIES = ("latency_average_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms")


class NamedRows:
    """The current rows of the catalogue that lines name, in three queries."""

    def __init__(self, lines: Sequence[ImportedRun]) -> None:
        self.hardware = _by_name(Hardware, {line.place.hardware for line in lines})
        self.configurations = _by_name(Configuration, {line.place.configuration for line in lines})
        self.workloads = _by_name(Workload, {line.conditions.workload for line in lines})

    def faults(self, line: ImportedRun) -> Iterator[Fault]:
        for pointer, kind, name, rows in (
            ("/system/hardware", "hardware", line.place.hardware, self.hardware),
            ("/system/configuration", "configuration", line.place.configuration, self.configurations),
            ("/workload", "workload", line.conditions.workload, self.workloads),
        ):
            if name not in rows:
                detail = f"The catalogue has no {kind} named '{name}': add it first, or write its name as there."
                yield Fault(line.number, pointer, detail)


def _by_name(model: Any, names: set[str]) -> dict[str, Any]:
    return {row.name: row for row in model.objects.current().filter(name__in=names)}


def read(lines: Sequence[ImportedRun]) -> tuple[list[Reading], NamedRows]:
    """Check every line, and have its output parsed. Raises RejectedError with all faults of all lines."""
    catalogue, readings, faults, specs = NamedRows(lines), list[Reading](), list[Fault](), Specs()
    for line in lines:
        line_faults = list(catalogue.faults(line))
        if not line_faults:
            outcomes = list(_outcomes(line, catalogue.workloads[line.conditions.workload], specs))
            line_faults = [outcome for outcome in outcomes if isinstance(outcome, Fault)]
            readings += [outcome for outcome in outcomes if isinstance(outcome, Reading)]
        faults += line_faults
    if faults:
        raise RejectedError(faults)
    return readings, catalogue


def preview(line: ImportedRun, workload: Workload) -> list[Reading]:
    """Return what a line holds, whose place may still be missing. Raises RejectedError with all its faults."""
    outcomes = list(_outcomes(line, workload, Specs()))
    if faults := [outcome for outcome in outcomes if isinstance(outcome, Fault)]:
        raise RejectedError(faults)
    return [outcome for outcome in outcomes if isinstance(outcome, Reading)]


class Specs:
    """The specs of lines, made once for all lines that ask for the same."""

    def __init__(self) -> None:
        self._specs: dict[tuple[Conditions, str, int, float, int | None], tuple[RunSpec, dict[str, Any]]] = {}

    def spec(self, line: ImportedRun, clients: int, workload: Workload) -> tuple[RunSpec, dict[str, Any]]:
        key = (line.conditions, line.place.path, clients, _log_sampling_rate(line, workload), line.rate_tps)
        if key not in self._specs:
            spec = _spec(line, clients, workload)
            self._specs[key] = spec, asdict(spec)
        return self._specs[key]


def _outcomes(line: ImportedRun, workload: Workload, specs: Specs) -> Iterator[Reading | Fault]:
    """Yield what comes of a line: several where its output holds several runs of the clients that were sent."""
    if tools.get(workload.tool).planned_segments(workload.parameters):
        yield Fault(line.number, "/workload", f"{workload.name}: {SHAPE_REFUSED}")
        return
    if line.output is None:
        rule = line.conditions.thread_rule or CLIENTS
        yield from _read(replace(line, conditions=replace(line.conditions, thread_rule=rule)), workload, specs)
        return
    try:
        runs = parts.printed_runs(tools.get(workload.tool), line.output, line.clients)
    except ValueError as error:
        yield Fault(line.number, "/output/stdout", str(error))
        return
    if len(runs) > 1 and line.repeat is not None:
        yield Fault(line.number, "/repeat", f"The output holds {len(runs):,} runs: leave the repeat out.")
        return
    if line.rates_tps and len(line.rates_tps) != len(runs):
        yield Fault(line.number, rates.POINTER, rates.OTHER_NUMBER.format(count(len(runs), "run")))
        return
    begun_at = line.measured_at
    for place, run in enumerate(runs):
        single = replace(_single(line, place, run), measured_at=begun_at)
        begun_at = single.ended_at + timedelta(seconds=single.conditions.warmup_s)
        for outcome in _read(single, workload, specs):
            yield outcome if len(runs) == 1 else _in_text(outcome, place, len(runs), run.line)


def _single(line: ImportedRun, place: int, run: parts.PrintedRun) -> ImportedRun:
    """Return one of the runs that the output of a line holds, with what only it says of its conditions."""
    conditions = replace(
        line.conditions,
        thread_rule=line.conditions.thread_rule or _printed_rule(run),
        duration_s=line.conditions.duration_s or run.duration_s or 0,
    )
    rate_tps = line.rates_tps[place] if line.rates_tps else line.rate_tps
    clients = run.clients if line.clients is None else line.clients
    return replace(line, conditions=conditions, output=run.output, clients=clients, rate_tps=rate_tps)


def _printed_rule(run: parts.PrintedRun) -> str:
    """Return the thread rule of a run for which none was sent: the number that it prints, where that is another."""
    return CLIENTS if run.threads in (None, run.clients) else str(run.threads)


def _in_text(outcome: Reading | Fault, place: int, number: int, text_line: int) -> Reading | Fault:
    if isinstance(outcome, Fault):
        return replace(outcome, detail=f"The run that begins at line {text_line:,}: {outcome.detail}")
    remark = f"Run {place + 1:,} of {number:,} in one text, at line {text_line:,}."
    if place:
        remark += " When it began is reckoned from the runs before it."
    return replace(outcome, result=replace(outcome.result, remarks=(*outcome.result.remarks, remark)))


def _read(line: ImportedRun, workload: Workload, specs: Specs) -> Sequence[Reading | Fault]:
    """Return the reading of one run, or its faults."""
    if line.clients is None:
        if line.output and (sentence := texts.added(line.output, workload.tool)):
            return [Fault(line.number, "/output/stdout", sentence)]
        return [Fault(line.number, "/clients", "Write how many clients there were: no output says it.")]
    if not line.conditions.duration_s:
        return [Fault(line.number, "/duration_s", "Write how long it lasted: its output does not say it.")]
    if line.measured_at > timezone.now():
        detail = "The output holds more runs than can have ended since that time: write when the first of them began."
        return [Fault(line.number, "/measured_at", detail)]
    placed = rates.in_open_loop(line, workload)
    return [placed] if isinstance(placed, Fault) else _read_by(placed, line.clients, workload, specs)


def _read_by(line: ImportedRun, clients: int, workload: Workload, specs: Specs) -> Sequence[Reading | Fault]:
    """Return the reading of a run whose conditions are complete, or its faults."""
    try:
        spec, planned = specs.spec(line, clients, workload)
    except ValueError as error:
        return [Fault(line.number, "/workload", str(error))]
    if line.output is None:
        result = _result_of_numbers(line, spec)
        return [result if isinstance(result, Fault) else Reading(line, spec, result, planned)]
    result = _result_of_output(line.output, spec)
    faults = list(_faults(line, line.output, spec, result))
    return faults or [Reading(line, spec, result, planned)]


def _faults(line: ImportedRun, output: Outputs, spec: RunSpec, result: RunResult) -> Iterator[Fault]:
    """Yield why an output cannot be stored as what it came as: it is no result, or that of another run."""
    for pointer, sentence in texts.faults(output, spec, result):
        yield Fault(line.number, pointer, sentence)
    if not texts.added(output, spec.tool):
        yield from _contradictions(line, output, spec)
        yield from _other_sample(line, spec, result)


def _result_of_output(output: Outputs, spec: RunSpec) -> RunResult:
    tool = tools.get(spec.tool)
    try:
        result = tool.parse(spec, output)
    except tools.UNREADABLE as error:
        return RunResult("failed", short(f"It cannot be read ({error!r})."), tool.parser)
    if not all(abs(number) < LARGEST for number in _numbers(result)):
        return RunResult("failed", "It says numbers that no run can have.", tool.parser)
    return result


def _numbers(result: RunResult) -> Iterator[float]:
    yield from (measure.value for measure in result.measures.values())
    for series in result.series:
        yield from (value for value in series.values if value is not None)
    for histogram in result.histograms:
        yield from (*histogram.counts, *histogram.upper_us, histogram.sum_us)


def _spec(line: ImportedRun, clients: int, workload: Workload) -> RunSpec:
    """Return the spec of a line. Raises ValueError with what the load generator itself refuses."""
    conditions = line.conditions
    spec = RunSpec(
        tool=workload.tool,
        tool_version=conditions.client_version,
        bin_directory="",
        endpoint=Endpoint(line.place.path, "elsewhere", 0, "", ""),  # type: ignore[arg-type]  # one of the paths
        parameters=rates.parameters(line, workload),
        clients=clients,
        threads=specs.resolve_threads(conditions.thread_rule, clients),
        duration_s=conditions.duration_s,
        warmup_s=conditions.warmup_s,
        vacuum=conditions.vacuum,
        checkpoint=conditions.checkpoint,
        log_sampling_rate=_log_sampling_rate(line, workload),
        expected_tps=line.rate_tps or 0,
    )
    tools.get(spec.tool).check(spec)
    return spec


def _log_sampling_rate(line: ImportedRun, workload: Workload) -> float:
    """Return the share of transactions in the log that came along; 0 without a log."""
    has_log = tools.get(workload.tool).needs_log or (line.output is not None and line.output.files)
    return line.log_sampling_rate if has_log else 0.0


def _contradictions(line: ImportedRun, output: Outputs, spec: RunSpec) -> Iterator[Fault]:
    """Yield a fault for each fact that the output states otherwise than the delivery does.

    A thread rule counts by the clients, so it is not held against those of another number of clients.
    """
    names = set()
    tool, version = tools.get(spec.tool), line.place.postgresql
    for contradiction in tool.contradictions(spec, output, server_version=version, is_own=False):
        names.add(contradiction.name)
        if contradiction.name != THREADS or CLIENTS not in names:
            text = f"{contradiction.text} {rates.remedy(spec, contradiction.name)}".strip()
            yield Fault(line.number, POINTERS.get(contradiction.name, "/workload"), text)


def _other_sample(line: ImportedRun, spec: RunSpec, result: RunResult) -> Iterator[Fault]:
    """Yield a fault where a log holds quite another share of the transactions than was sent: its n would be wrong.

    Only by a factor of two: a short run's log may begin up to a second before its measured part does.
    """
    counts = [result.measures.get(f"{kind}_transactions") for kind in ("logged", "ended", "refused")]
    if not all(counts):
        return
    logged, ended, refused = (round(measure.value) for measure in counts if measure)
    share = result.histograms[0].sampling_rate if result.histograms else spec.log_sampling_rate
    expected = share * (ended - refused)
    if not expected / 2 - FEW_LINES <= logged <= 2 * expected + FEW_LINES:
        text = f"Of {ended - refused:,} transactions that count the log has {logged:,}, which is no sample of 1 of "
        yield Fault(line.number, "/output/log_sampling_rate", f"{text}{1 / share:.4g}.")


def _result_of_numbers(line: ImportedRun, spec: RunSpec) -> RunResult | Fault:
    unit, numbers = tools.get(spec.tool).unit, line.numbers
    if numbers["unit"] != unit:
        return Fault(line.number, "/numbers/unit", f"{spec.tool} counts in {unit}: write the throughput in that unit.")
    latencies = {name: Measure(numbers[name], "ms") for name in LATENCIES if numbers.get(name) is not None}
    measures = {unit.lower(): Measure(numbers["throughput"], unit), **latencies}
    return RunResult("succeeded", "", NUMBERS, measures)
