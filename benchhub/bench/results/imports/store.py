"""Store what check.py has read: experiments, runs, results and their evidence, in bulk, in one transaction."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from benchhub import silence
from benchhub.accounts.rights import Role, denied_hosts, is_at_least
from benchhub.analysis.protocol import digest
from benchhub.bench.models import (
    Attempt,
    Delivery,
    Evidence,
    Experiment,
    ExperimentSystem,
    Found,
    LatencyHistogram,
    Protocol,
    Result,
    Run,
    Series,
    System,
)
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.results import ingest
from benchhub.catalog.instances.forms import managed_build
from benchhub.catalog.models import Host

from .check import NamedRows, read
from .lines import Conditions, Fault, ImportedRun, Place, Reading, RejectedError, by_conditions
from .places import Places

BATCH = 2000
PART_LINES, PART_CHARACTERS = 2000, 4_000_000
LONGEST_READING_S = 600  # of a part, on a busy machine
MOST_FAULTS = 100
NEEDS_PERMIT = "results of it take a permit to run there. Ask an administrator, or name the host otherwise."


@dataclass(frozen=True, slots=True)
class Stored:
    """What came of a delivery; `runs` are keys, in the order of the lines."""

    delivery: Delivery
    experiments: tuple[Experiment, ...]
    runs: tuple[int, ...]


def store(lines: Iterable[ImportedRun | Fault], user: Any, token: str = "") -> Stored:
    """Store all these results, part by part. Raises RejectedError, and stores nothing, where any of them has a fault.

    Faults come in the place of lines that have the wrong shape; behind the hundredth no more lines are read.
    """
    faults: list[Fault] = []
    with transaction.atomic():
        silence.allow(LONGEST_READING_S)
        parts = _Parts(Delivery.objects.create(by=user, token=token, run_count=0))
        for part in _parts(lines):
            faults += [line for line in part if isinstance(line, Fault)]
            try:
                parts.take([line for line in part if isinstance(line, ImportedRun)], is_check=bool(faults))
            except RejectedError as error:
                faults += error.faults
            if len(faults) >= MOST_FAULTS:
                raise RejectedError(_sorted(faults)[:MOST_FAULTS], is_whole=False)
        if faults:
            raise RejectedError(_sorted(faults))
        return parts.stored()


def _sorted(faults: Iterable[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda fault: fault.line)


def _parts(lines: Iterable[ImportedRun | Fault]) -> Iterator[list[ImportedRun | Fault]]:
    """Yield lines in parts that fit into memory together."""
    part, characters = list[ImportedRun | Fault](), 0
    for line in lines:
        part.append(line)
        characters += len(line.text) if isinstance(line, ImportedRun) else 0
        if len(part) >= PART_LINES or characters >= PART_CHARACTERS:
            yield part
            part, characters = [], 0
    if part:
        yield part


class _Parts:
    """A delivery that is stored part by part."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.experiments: dict[int, Experiment] = {}
        self.repeats: dict[int, _Repeats] = {}
        self.runs: list[tuple[int, int]] = []

    def take(self, lines: Sequence[ImportedRun], *, is_check: bool) -> None:
        """Store the lines, or only look for their faults. Raises RejectedError."""
        readings, catalogue = read(lines)
        if is_check:
            return
        places, pairs = Places(catalogue), list[tuple[Reading, Run]]()
        for conditions, group in by_conditions(readings).items():
            experiment = _experiment(conditions, catalogue, self.delivery.by, group)
            self.experiments[experiment.pk] = experiment
            repeats = self.repeats.setdefault(experiment.pk, _Repeats(experiment))
            pairs += zip(group, _runs(experiment, group, places, self.delivery, repeats), strict=True)
        _store(pairs)
        self.runs += [(reading.line.number, run.pk) for reading, run in pairs]

    def stored(self) -> Stored:
        self.delivery.run_count = len(self.runs)
        self.delivery.save(update_fields=["run_count"])
        keys = tuple(key for _, key in sorted(self.runs))
        return Stored(self.delivery, tuple(self.experiments.values()), keys)


def _experiment(conditions: Conditions, catalogue: NamedRows, user: Any, group: Sequence[Reading]) -> Experiment:
    """Return the experiment of this name and these conditions that results were imported into before, or a new one."""
    fields: dict[str, Any] = {
        "name": conditions.experiment,
        "is_brought_in": True,
        "workload": catalogue.workloads[conditions.workload],
        "client_build": managed_build(conditions.client_version),
        "duration_s": conditions.duration_s,
        "warmup_s": conditions.warmup_s,
        "thread_rule": conditions.thread_rule,
        "vacuum": conditions.vacuum,
        "checkpoint": conditions.checkpoint,
    }
    open_loop = conditions.open_loop
    fields["latency_limit_us"] = open_loop.latency_limit_us if open_loop else 0
    levels = {reading.spec.clients for reading in group}
    rates_tps = {reading.line.rate_tps for reading in group if open_loop and reading.line.rate_tps}
    rows = Experiment.objects.filter(**fields)
    alike = (
        rows.filter(client_levels=[open_loop.clients]).exclude(rates_tps=[]) if open_loop else rows.filter(rates_tps=[])
    )
    existing = alike.select_for_update().order_by("pk").first()
    if existing is None:
        of_levels = {"client_levels": sorted(levels), "rates_tps": sorted(rates_tps)}
        return Experiment.objects.create(**fields, **of_levels, created_by=user)
    _require_owner(existing, user, group)
    existing.client_levels = sorted(levels | set(existing.client_levels))
    existing.rates_tps = sorted(rates_tps | set(existing.rates_tps))
    existing.save(update_fields=["client_levels", "rates_tps"])
    return existing


def _require_owner(experiment: Experiment, user: Any, group: Sequence[Reading]) -> None:
    """Raise RejectedError unless the experiment is the user's: a result of somebody else's would change its curve."""
    if experiment.created_by_id == user.pk or is_at_least(user, Role.ADMINISTRATOR):
        return
    detail = (
        f"{experiment.created_by or 'Somebody else'} has imported the results of '{experiment.name}' under these "
        "conditions, and only they or an administrator add to them: choose another name."
    )
    raise RejectedError([Fault(reading.line.number, "/experiment", detail) for reading in group])


def _require_permit(systems: Mapping[Place, System], user: Any, group: Sequence[Reading]) -> None:
    """Raise RejectedError for results of hosts that BenchHub itself reaches, unless the user may run there."""
    hosts = {place: {system.driver, system.instance.host} - {None} for place, system in systems.items()}
    reached = {host.pk for pair in hosts.values() for host in pair if host and host.trust != Host.Trust.ELSEWHERE}
    denied = denied_hosts(user, reached)
    faults = [
        Fault(reading.line.number, "/system/host", f"{host} is a host that BenchHub measures: {NEEDS_PERMIT}")
        for reading in group
        for host in hosts[reading.line.place]
        if host and host.pk in denied
    ]
    if faults:
        raise RejectedError(faults)


def _runs(
    experiment: Experiment, group: Sequence[Reading], places: Places, delivery: Delivery, repeats: _Repeats
) -> Iterator[Run]:
    """Yield the runs, unsaved, in the order of the lines."""
    systems = _systems(experiment, group, places)
    _require_permit(systems, delivery.by, group)
    protocols = {key: Protocol.stored(specs.protocol_form(experiment, system)) for key, system in systems.items()}
    position = experiment.runs.aggregate(last=Max("position"))["last"] or 0
    now = timezone.now()  # one value: the rows then go by one short statement
    for number, reading in enumerate(group, start=position + 1):
        system, key = systems[reading.line.place], uuid.uuid4()
        yield Run(
            uuid=key,
            experiment=experiment,
            system=system,
            delivery=delivery,
            source=reading.line.source,
            position=number,
            clients=reading.spec.clients,
            threads=reading.spec.threads,
            repeat=repeats.take(reading, system),
            rate_tps=specs.offered_tps(reading.spec),
            spec={**reading.plan, "application_name": f"benchhub-{key}"},
            protocol=protocols[reading.line.place],
            expected_s=reading.spec.expected_s,
            state=State.SUCCEEDED,
            created_at=now,
            started_at=reading.line.measured_at,
            ended_at=reading.line.ended_at,
        )
    repeats.raise_faults()
    Experiment.objects.filter(pk=experiment.pk).update(repeats=repeats.most)


def _systems(experiment: Experiment, group: Sequence[Reading], places: Places) -> dict[Any, System]:
    """Return the systems by place; those that are new to the experiment are added to it."""
    systems = {place: places.system(place) for place in dict.fromkeys(reading.line.place for reading in group)}
    old_keys = set(experiment.systems.values_list("pk", flat=True))
    new_keys = [pk for pk in dict.fromkeys(system.pk for system in systems.values()) if pk not in old_keys]
    ExperimentSystem.objects.bulk_create(
        ExperimentSystem(experiment=experiment, system_id=pk, position=number)
        for number, pk in enumerate(new_keys, start=len(old_keys))
    )
    return systems


class _Repeats:
    """The repeats that an experiment has at each level; a line that names none gets the next."""

    def __init__(self, experiment: Experiment) -> None:
        rows = experiment.runs.order_by().values_list("system_id", "clients", "rate_tps", "repeat")
        self.taken = set(rows)
        self.last: dict[tuple[int, int, int], int] = {}
        for system, clients, rate_tps, repeat in self.taken:
            level = (system, clients, rate_tps)
            self.last[level] = max(repeat, self.last.get(level, 0))
        self.faults: list[Fault] = []

    def take(self, reading: Reading, system: System) -> int:
        line, rate_tps = reading.line, specs.offered_tps(reading.spec)
        level = (system.pk, reading.spec.clients, rate_tps)
        repeat = line.repeat or self.last.get(level, 0) + 1
        if (*level, repeat) in self.taken:
            words = f"{rate_tps:,} TPS" if rate_tps else f"{reading.spec.clients} clients"
            detail = f"Repeat {repeat} at {words} is there already: leave it out to add another one."
            self.faults.append(Fault(line.number, "/repeat", detail))
        self.taken.add((*level, repeat))
        self.last[level] = max(repeat, self.last.get(level, 0))
        return repeat

    @property
    def most(self) -> int:
        return max(self.last.values())

    def raise_faults(self) -> None:
        if self.faults:
            raise RejectedError(self.faults)


def _store(pairs: Sequence[tuple[Reading, Run]]) -> None:
    Run.objects.bulk_create([run for _, run in pairs], batch_size=BATCH)
    attempts = [_attempt(reading.line, run) for reading, run in pairs]
    Attempt.objects.bulk_create(attempts, batch_size=BATCH)
    with_attempts = list(zip(pairs, attempts, strict=True))
    Evidence.objects.bulk_create(
        _each(_evidence(reading.line, attempt) for (reading, _), attempt in with_attempts), batch_size=BATCH
    )
    facts = {run.pk: row for reading, run in pairs if (row := _facts_row(reading.line, run))}
    Found.objects.bulk_create(facts.values(), batch_size=BATCH)
    differences = {pk: row.differences for pk, row in facts.items()}
    results = [_result(reading, run, attempt, differences.get(run.pk, ())) for (reading, run), attempt in with_attempts]
    Result.objects.bulk_create(results, batch_size=BATCH)
    Series.objects.bulk_create(
        _each(ingest.series_rows(run, reading.result) for reading, run in pairs), batch_size=BATCH
    )
    histograms = _each(ingest.histogram_rows(run, reading.result) for reading, run in pairs)
    LatencyHistogram.objects.bulk_create(histograms, batch_size=BATCH)


def _each(groups: Iterable[Iterable[Any]]) -> list[Any]:
    return [row for group in groups for row in group]


def _attempt(line: ImportedRun, run: Run) -> Attempt:
    returncode = line.output.returncode if line.output else None
    return Attempt(
        run=run,
        number=1,
        started_at=line.measured_at,
        ended_at=line.ended_at,
        outcome=State.SUCCEEDED,
        returncode=returncode,
        acknowledged_at=line.ended_at,
    )


def _evidence(line: ImportedRun, attempt: Attempt) -> Iterator[Evidence]:
    """Yield the raw text, as it came."""
    files: Mapping[str, bytes] = {"brought.json": line.text.encode()}
    if line.output:
        files = {"out.log": line.output.stdout, "err.log": line.output.stderr, **line.output.files}
    for name, content in files.items():
        if content:
            checksum = hashlib.sha256(content).hexdigest()
            yield Evidence(attempt=attempt, name=name, content=content, size_bytes=len(content), sha256=checksum)


def _facts_row(line: ImportedRun, run: Run) -> Found | None:
    if not line.settings and not line.facts:
        return None
    settings = {name: {"setting": value, "unit": None} for name, value in line.settings.items()}
    return Found(
        run=run,
        settings=settings,
        host=dict(line.facts),
        differences=ingest.settings_that_differ(run, settings) if settings else [],
        facts_digest=digest.digest(digest.facts_form({"settings": line.settings, "host": line.facts})),
    )


def _result(reading: Reading, run: Run, attempt: Attempt, differences: Sequence[Mapping[str, str]]) -> Result:
    """Return the result, judged as a run of our own; that it was imported is provenance, which its run has."""
    observed = ingest.Observed()
    doubts = [*map(ingest.difference_doubt, differences), *ingest.verdict_doubts(run, reading.result, observed)]
    row = ingest.result_row(run, attempt, reading.result, observed, doubts)
    row.parsed_at = run.created_at
    return row
