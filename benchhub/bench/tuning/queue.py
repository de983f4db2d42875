"""From a valid tuning series to its rows and its runs in the queue."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from django.db import transaction

from benchhub.bench.models import System, TuningSeries, TuningStep, TuningTreatment
from benchhub.bench.plan import preview
from benchhub.catalog.models import Configuration

from .draft import SeriesRequest


@transaction.atomic
def queue(request: SeriesRequest, user: Any) -> TuningSeries:
    """Save the series with its configurations, and put its runs into the queue."""
    systems = tuple(_with_configuration(system) for system in request.plan_request.systems)
    experiment = preview.queue(replace(request.plan_request, systems=systems), user)
    names = ("name", "remark", "kind", "baseline", "instance")
    values = {name: request.values[name] for name in names}
    series = TuningSeries.objects.create(**values, experiment=experiment, created_by=user)
    TuningStep.objects.bulk_create(
        TuningStep(series=series, number=number, name=step.name, **asdict(step.environment))
        for number, step in enumerate(request.steps, start=1)
    )
    keys = experiment.experimentsystem_set.order_by("position").values_list("system", flat=True)
    TuningTreatment.objects.bulk_create(
        TuningTreatment(series=series, place=place, step_numbers=list(treatment), system_id=key)
        for place, (treatment, key) in enumerate(zip(request.treatments, keys, strict=True))
    )
    return series


def _with_configuration(system: System) -> System:
    """Return the system with its configuration saved; one that is known cites the configuration that it has."""
    if system.configuration._state.adding:
        system.configuration = _saved(system.configuration)
    return system


def _saved(configuration: Configuration) -> Configuration:
    """Return the configuration as a row: the current one of its name, which the draft found alike, else a new one."""
    current: Configuration | None = Configuration.objects.current().filter(name=configuration.name).first()
    if current is None:
        configuration.save()
    return current or configuration
