"""Storing what `brought` has read: experiments, runs, results and their evidence, in bulk, in one transaction."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

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
from benchhub.bench.plan import plan
from benchhub.catalog.instances.forms import managed_build
from runners.contract import Doubt

from . import ingest
from .import_check import Brought, Conditions, Fault, Named, Places, Read, RejectedError, by_conditions, ended_at, read

BATCH = 2000


@dataclass(frozen=True, slots=True)
class Stored:
    delivery: Delivery
    experiments: tuple[Experiment, ...]
    runs: tuple[Run, ...]


def bring_in(lines: Sequence[Brought], user: Any, token: str = "") -> Stored:
    """Store all of these results. Raises RejectedError, and stores nothing, where any of them has a fault."""
    found, named = read(lines)
    with transaction.atomic():
        delivery = Delivery.objects.create(by=user, token=token, run_count=len(found))
        places, pairs, experiments = Places(named), list[tuple[Read, Run]](), list[Experiment]()
        for conditions, group in by_conditions(found).items():
            experiment = _experiment(conditions, named, user, group)
            experiments.append(experiment)
            pairs += zip(group, _runs(experiment, group, places, delivery), strict=True)
        _store(pairs, user)
    return Stored(delivery, tuple(experiments), tuple(run for _, run in pairs))


def _experiment(of: Conditions, named: Named, user: Any, group: Sequence[Read]) -> Experiment:
    """The experiment of this name and these conditions that results were brought into before, or a new one."""
    asked: dict[str, Any] = {
        "name": of.experiment,
        "is_brought_in": True,
        "workload": named.workloads[of.workload],
        "client_build": managed_build(of.client_version),
        "duration_s": of.duration_s,
        "warmup_s": of.warmup_s,
        "thread_rule": of.thread_rule,
        "vacuum": of.vacuum,
        "checkpoint": of.checkpoint,
    }
    levels = {one.brought.clients for one in group}
    known = Experiment.objects.select_for_update().filter(**asked).order_by("pk").first()
    if known is None:
        return Experiment.objects.create(**asked, client_levels=sorted(levels), created_by=user)
    known.client_levels = sorted(levels | set(known.client_levels))
    known.save(update_fields=["client_levels"])
    return known


def _runs(experiment: Experiment, group: Sequence[Read], places: Places, delivery: Delivery) -> Iterator[Run]:
    """Unsaved, in the order of the lines."""
    systems = _systems(experiment, group, places)
    protocols = {key: Protocol.of(plan.protocol_form(experiment, system)) for key, system in systems.items()}
    position = experiment.runs.aggregate(last=Max("position"))["last"] or 0
    repeats, now = _Repeats(experiment), timezone.now()  # one value: the rows then go by one short statement
    for number, one in enumerate(group, start=position + 1):
        system, key = systems[one.brought.place], uuid.uuid4()
        yield Run(
            uuid=key,
            experiment=experiment,
            system=system,
            delivery=delivery,
            source=one.brought.source,
            position=number,
            clients=one.spec.clients,
            threads=one.spec.threads,
            repeat=repeats.take(one.brought, system),
            spec={**one.plan, "application_name": f"benchhub-{key}"},
            protocol=protocols[one.brought.place],
            expected_s=one.spec.expected_s,
            state=State.SUCCEEDED,
            created_at=now,
            started_at=one.brought.measured_at,
            ended_at=ended_at(one.brought),
        )
    repeats.raise_faults()
    Experiment.objects.filter(pk=experiment.pk).update(repeats=repeats.most)


def _systems(experiment: Experiment, group: Sequence[Read], places: Places) -> dict[Any, System]:
    """By place; those that are new to the experiment are added to it."""
    systems = {place: places.system(place) for place in dict.fromkeys(one.brought.place for one in group)}
    there = set(experiment.systems.values_list("pk", flat=True))
    new = [pk for pk in dict.fromkeys(system.pk for system in systems.values()) if pk not in there]
    ExperimentSystem.objects.bulk_create(
        ExperimentSystem(experiment=experiment, system_id=pk, position=number)
        for number, pk in enumerate(new, start=len(there))
    )
    return systems


class _Repeats:
    """Which repeats an experiment has at each level; a line that names none gets the next."""

    def __init__(self, experiment: Experiment) -> None:
        taken = experiment.runs.order_by().values_list("system_id", "clients", "repeat")
        self.taken = set(taken)
        self.last: dict[tuple[int, int], int] = {}
        for system, clients, repeat in self.taken:
            self.last[system, clients] = max(repeat, self.last.get((system, clients), 0))
        self.faults: list[Fault] = []

    def take(self, one: Brought, system: System) -> int:
        level = (system.pk, one.clients)
        repeat = one.repeat or self.last.get(level, 0) + 1
        if (*level, repeat) in self.taken:
            detail = f"Repeat {repeat} at {one.clients} clients is there already: leave it out to add another one."
            self.faults.append(Fault(one.line, "/repeat", detail))
        self.taken.add((*level, repeat))
        self.last[level] = max(repeat, self.last.get(level, 0))
        return repeat

    @property
    def most(self) -> int:
        return max(self.last.values())

    def raise_faults(self) -> None:
        if self.faults:
            raise RejectedError(self.faults)


def _store(pairs: Sequence[tuple[Read, Run]], user: Any) -> None:
    Run.objects.bulk_create([run for _, run in pairs], batch_size=BATCH)
    attempts = [_attempt(one.brought, run) for one, run in pairs]
    Attempt.objects.bulk_create(attempts, batch_size=BATCH)
    stored = list(zip(pairs, attempts, strict=True))
    Evidence.objects.bulk_create(_each(_evidence(one.brought, of) for (one, _), of in stored), batch_size=BATCH)
    found = {run.pk: row for one, run in pairs if (row := _found(one.brought, run))}
    Found.objects.bulk_create(found.values(), batch_size=BATCH)
    differing = {pk: row.differences for pk, row in found.items()}
    results = [_result(one, run, of, differing.get(run.pk, ()), user) for (one, run), of in stored]
    Result.objects.bulk_create(results, batch_size=BATCH)
    Series.objects.bulk_create(_each(ingest.series_rows(run, one.result) for one, run in pairs), batch_size=BATCH)
    histograms = _each(ingest.histogram_rows(run, one.result) for one, run in pairs)
    LatencyHistogram.objects.bulk_create(histograms, batch_size=BATCH)


def _each(groups: Iterable[Iterable[Any]]) -> list[Any]:
    return [row for group in groups for row in group]


def _attempt(one: Brought, run: Run) -> Attempt:
    returncode = one.output.returncode if one.output else None
    return Attempt(
        run=run,
        number=1,
        started_at=one.measured_at,
        ended_at=ended_at(one),
        outcome=State.SUCCEEDED,
        returncode=returncode,
        acknowledged_at=ended_at(one),
    )


def _evidence(one: Brought, attempt: Attempt) -> Iterator[Evidence]:
    """The raw text, as it came."""
    files: Mapping[str, bytes] = {"brought.json": one.text.encode()}
    if one.output:
        files = {"out.log": one.output.stdout, "err.log": one.output.stderr, **one.output.files}
    for name, content in files.items():
        if content:
            checksum = hashlib.sha256(content).hexdigest()
            yield Evidence(attempt=attempt, name=name, content=content, size_bytes=len(content), sha256=checksum)


def _found(one: Brought, run: Run) -> Found | None:
    if not one.settings and not one.facts:
        return None
    seen = {name: {"setting": value, "unit": None} for name, value in one.settings.items()}
    return Found(
        run=run,
        settings=seen,
        host=dict(one.facts),
        differences=ingest.settings_that_differ(run, seen) if seen else [],
        facts_digest=digest.digest(digest.facts_form({"settings": one.settings, "host": one.facts})),
    )


def _result(one: Read, run: Run, attempt: Attempt, differences: Sequence[Mapping[str, str]], user: Any) -> Result:
    source = one.brought.source
    said = f"Measured elsewhere and brought in by {user} from {source}: BenchHub did not see the run."
    doubts = [Doubt("brought_in", said), *map(ingest.difference_doubt, differences)]
    row = ingest.result_row(run, attempt, one.result, ingest.Observed(), doubts)
    row.parsed_at = run.created_at
    return row
