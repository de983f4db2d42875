"""Results that were measured elsewhere: checked as a whole, and stored as runs that say who brought them, whence.

What is bought and asked for (hardware, configuration, workload) must be in the catalogue by name. Hosts and servers
that BenchHub never sees get rows of their own, which no plan offers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db.models.functions import Now

from benchhub.bench.plan import plan
from benchhub.catalog.instances.forms import managed_build
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild, Workload
from runners import tools
from runners.contract import Endpoint, Measure, Outputs, RunResult, RunSpec

LONGEST_NAME = 120
FEW_LINES = 20  # of a log, which chance alone may leave out or double
LARGEST = 2**63  # a whole number in the warehouse
NUMBERS = "numbers/1"
LATENCIES = ("latency_average_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms")


@dataclass(frozen=True, slots=True)
class Place:
    """Where it was measured, by names. `host` and `driver` are those of server and load generator."""

    host: str
    driver: str
    hardware: str
    configuration: str
    postgresql: str
    path: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What curves must agree on, and the experiment that the results are to stand in."""

    experiment: str
    workload: str
    client_version: str
    duration_s: int
    warmup_s: int = 0
    thread_rule: str = "clients"
    vacuum: bool = False
    checkpoint: bool = False


@dataclass(frozen=True, slots=True)
class Brought:
    """One result as it came: `output` as the load generator printed it, or `numbers` (throughput, unit, latencies).

    `text` is the whole of what came for it; `line` its number in the request. `log_sampling_rate` is of the log among
    the files of the output.
    """

    line: int
    place: Place
    conditions: Conditions
    source: str
    clients: int
    measured_at: datetime
    repeat: int | None = None
    output: Outputs | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    log_sampling_rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a line, at a JSON pointer."""

    line: int
    pointer: str
    detail: str


class RejectedError(Exception):
    """Nothing was stored."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Read:
    """A result that can be stored: what it came as, its frozen plan, and what its parser made of it."""

    brought: Brought
    spec: RunSpec
    result: RunResult
    plan: Mapping[str, Any]  # the spec as the warehouse keeps it


class Named:
    """The current rows of the catalogue that lines name, in three queries."""

    def __init__(self, lines: Sequence[Brought]) -> None:
        self.hardware = _by_name(Hardware, {one.place.hardware for one in lines})
        self.configurations = _by_name(Configuration, {one.place.configuration for one in lines})
        self.workloads = _by_name(Workload, {one.conditions.workload for one in lines})

    def faults(self, one: Brought) -> Iterator[Fault]:
        for pointer, kind, name, rows in (
            ("/system/hardware", "hardware", one.place.hardware, self.hardware),
            ("/system/configuration", "configuration", one.place.configuration, self.configurations),
            ("/workload", "workload", one.conditions.workload, self.workloads),
        ):
            if name not in rows:
                detail = f"The catalogue has no {kind} named '{name}': add it first, or write its name as there."
                yield Fault(one.line, pointer, detail)


def _by_name(model: Any, names: set[str]) -> dict[str, Any]:
    return {row.name: row for row in model.objects.current().filter(name__in=names)}


def read(lines: Sequence[Brought]) -> tuple[list[Read], Named]:
    """Check every line, and have its output parsed. Raises RejectedError with all faults of all lines."""
    named, found, faults, specs = Named(lines), list[Read](), list[Fault](), Specs()
    for one in lines:
        wrong = list(named.faults(one))
        if not wrong:
            outcome = _read(one, named.workloads[one.conditions.workload], specs)
            wrong = [outcome] if isinstance(outcome, Fault) else []
            found += [outcome] if isinstance(outcome, Read) else []
        faults += wrong
    if faults:
        raise RejectedError(faults)
    return found, named


class Specs:
    """What was asked for, made once for all lines that ask for the same."""

    def __init__(self) -> None:
        self.known: dict[tuple[Conditions, str, int, float], tuple[RunSpec, dict[str, Any]]] = {}

    def of(self, one: Brought, workload: Workload) -> tuple[RunSpec, dict[str, Any]]:
        key = (one.conditions, one.place.path, one.clients, _logged(one, workload))
        if key not in self.known:
            spec = _spec(one, workload)
            self.known[key] = spec, asdict(spec)
        return self.known[key]


def _read(one: Brought, workload: Workload, specs: Specs) -> Read | Fault:
    try:
        spec, planned = specs.of(one, workload)
    except ValueError as error:
        return Fault(one.line, "/workload", str(error))
    if one.output is None:
        result = _of_numbers(one, spec)
        return result if isinstance(result, Fault) else Read(one, spec, result, planned)
    result = _of_output(one.output, spec)
    if result.outcome != "succeeded":
        return Fault(one.line, "/output", f"It is not the output of a run that ended well. {result.reason}")
    return _contradiction(one, spec, result) or Read(one, spec, result, planned)


def _of_output(output: Outputs, spec: RunSpec) -> RunResult:
    tool = tools.get(spec.tool)
    try:
        result = tool.parse(spec, output)
    except tools.UNREADABLE as error:
        return RunResult("failed", f"It cannot be read ({error!r}).", tool.parser)
    if not all(abs(number) < LARGEST for number in _numbers(result)):
        return RunResult("failed", "It says numbers that no run can have.", tool.parser)
    return result


def _numbers(result: RunResult) -> Iterator[float]:
    yield from (measure.value for measure in result.measures.values())
    for series in result.series:
        yield from (value for value in series.values if value is not None)
    for histogram in result.histograms:
        yield from (*histogram.counts, *histogram.upper_us, histogram.sum_us)


def _spec(one: Brought, workload: Workload) -> RunSpec:
    """ValueError says what the load generator itself refuses."""
    of = one.conditions
    spec = RunSpec(
        tool=workload.tool,
        tool_version=of.client_version,
        bin_directory="",
        endpoint=Endpoint(one.place.path, "elsewhere", 0, "", ""),  # type: ignore[arg-type]  # one of the paths
        parameters=workload.parameters,
        clients=one.clients,
        threads=plan.resolve_threads(of.thread_rule, one.clients),
        duration_s=of.duration_s,
        warmup_s=of.warmup_s,
        vacuum=of.vacuum,
        checkpoint=of.checkpoint,
        log_sampling_rate=_logged(one, workload),
    )
    tools.get(spec.tool).check(spec)
    return spec


def _logged(one: Brought, workload: Workload) -> float:
    """Return the share of transactions in the log that came along; 0 without a log."""
    has_log = tools.get(workload.tool).needs_log or (one.output is not None and one.output.files)
    return one.log_sampling_rate if has_log else 0.0


def _contradiction(one: Brought, spec: RunSpec, result: RunResult) -> Fault | None:
    """Where the output itself says that it is of another run."""
    tool, reported = tools.get(spec.tool), result.measures
    if one.output and "reported_clients" not in reported:
        reported = tool.reported(one.output)
    for pointer, name, said in (
        ("/clients", "reported_clients", spec.clients),
        ("/thread_rule", "reported_threads", spec.threads),
        ("/workload", "reported_scale", tool.expectation(spec.parameters).scale),
    ):
        printed = reported.get(name)
        if printed is not None and said is not None and printed.value != said:
            words = name.removeprefix("reported_")
            return Fault(one.line, pointer, f"The output is of {printed.value:.0f} {words}, not of {said}.")
    return _other_sample(one, spec, result)


def _other_sample(one: Brought, spec: RunSpec, result: RunResult) -> Fault | None:
    """Where a log holds quite another share of the transactions than was said: then latencies say a wrong n.

    Only by a factor of two: a short run's log may begin up to a second before its measured part does.
    """
    known = [result.measures.get(f"{kind}_transactions") for kind in ("logged", "ended", "refused")]
    if not all(known):
        return None
    logged, ended, refused = (round(measure.value) for measure in known if measure)
    expected = spec.log_sampling_rate * (ended - refused)
    if expected / 2 - FEW_LINES <= logged <= 2 * expected + FEW_LINES:
        return None
    text = f"Of {ended - refused:,} transactions that count the log has {logged:,}, which is no sample of 1 of "
    return Fault(one.line, "/output/log_sampling_rate", f"{text}{1 / spec.log_sampling_rate:.4g}.")


def _of_numbers(one: Brought, spec: RunSpec) -> RunResult | Fault:
    unit, given = tools.get(spec.tool).unit, one.numbers
    if given["unit"] != unit:
        return Fault(one.line, "/numbers/unit", f"{spec.tool} counts in {unit}: write the throughput in that unit.")
    latencies = {name: Measure(given[name], "ms") for name in LATENCIES if given.get(name) is not None}
    measures = {unit.lower(): Measure(given["throughput"], unit), **latencies}
    return RunResult("succeeded", "", NUMBERS, measures)


# --- rows for what BenchHub never sees ------------------------------------------------------------------------


class Places:
    """Systems of results that come from elsewhere; each is made once, and found again by the next delivery."""

    def __init__(self, named: Named) -> None:
        self.named = named
        self.build = cache(managed_build)
        self.host = cache(_host)
        self.system = cache(self._system)

    def _system(self, place: Place) -> Any:
        build, configuration = self.build(place.postgresql), self.named.configurations[place.configuration]
        return plan.system_under_test(
            _instance(self.host(place.host), build, configuration),
            driver=self.host(place.driver),
            hardware=self.named.hardware[place.hardware],
            path=place.path,
            label=place.label or f"{build} on {place.host}",
        )


def _host(name: str) -> Host:
    """The host of this name, or one that BenchHub never connects to."""
    elsewhere = {"address": name, "port": 22, "username": "", "trust": Host.Trust.ELSEWHERE}
    return Host.objects.get_or_create(name=name, defaults=elsewhere)[0]


def _instance(host: Host, build: PgBuild, configuration: Configuration) -> Instance:
    """Retired from its first day: no plan offers it."""
    name = f"{build.version} on {host.name}, {configuration.name}"[:LONGEST_NAME]
    defaults = {
        "host": host,
        "build": build,
        "configuration": configuration,
        "address": "elsewhere",
        "database": "",
        "username": "",
        "retired_at": Now(),
    }
    return Instance.objects.get_or_create(name=name, defaults=defaults)[0]


def ended_at(one: Brought) -> datetime:
    return one.measured_at + timedelta(seconds=one.conditions.duration_s)


def by_conditions(found: Sequence[Read]) -> dict[Conditions, list[Read]]:
    groups: dict[Conditions, list[Read]] = defaultdict(list)
    for one in found:
        groups[one.brought.conditions].append(one)
    return groups
