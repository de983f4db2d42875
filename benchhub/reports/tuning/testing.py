"""Tuning series with results, for the tests of what shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchhub.bench import testing
from benchhub.bench.models import System, TuningSeries, TuningStep, TuningTreatment
from benchhub.catalog.models import Configuration
from benchhub.reports.testing import variant

STEPS = (
    ("memory", {"shared_buffers": "4GB"}),
    ("wal", {"max_wal_size": "16GB"}),
    ("sync", {"synchronous_commit": "off"}),
)
CUMULATIVE = {(): 1000.0, (1,): 1120.0, (1, 2): 1120.1, (1, 2, 3): 2128.0}


def make_series(
    system: System,
    throughput: Mapping[tuple[int, ...], float],
    *,
    kind: str = "cumulative",
    repeats: Sequence[float] = (-0.2, 0.0, 0.2),
    steps: Sequence[tuple[str, Mapping[str, Any]]] = STEPS,
    os_steps: Mapping[int, Mapping[str, str]] | None = None,
    name: str = "Night",
) -> TuningSeries:
    """Make a series by treatments (step numbers) -> TPS, 0 for none yet; `repeats` are off it by so many per cent.

    `os_steps` are what steps, by their numbers, set in the operating system.
    """
    rows, os_steps = [system], os_steps or {}
    for numbers in list(throughput)[1:]:
        settings, os_settings = dict(system.configuration.settings), dict(system.configuration.os_settings)
        for number in numbers:
            settings |= steps[number - 1][1]
            os_settings |= os_steps.get(number, {})
        row = Configuration.objects.create(
            name=f"{name} / {'+'.join(map(str, numbers))}", settings=settings, os_settings=os_settings
        )
        rows.append(variant(system, label=f"System {numbers}", configuration_id=row.pk))
    experiment = testing.make_experiment(rows, name=name, client_levels=[8], repeats=len(repeats))
    for repeat, percent in enumerate(repeats, start=1):
        for row, tps in zip(rows, throughput.values(), strict=True):
            run = testing.make_run(experiment, row, 8, repeat)
            if tps:
                testing.succeeded(run, tps * (1 + percent / 100))
    series = TuningSeries.objects.create(
        name=name, kind=kind, baseline=system.configuration, instance=system.instance, experiment=experiment
    )
    for number, (title, settings) in enumerate(steps, start=1):
        own = {"settings": settings, "os_settings": os_steps.get(number, {})}
        TuningStep.objects.create(series=series, number=number, name=title, **own)
    for place, (row, numbers) in enumerate(zip(rows, throughput, strict=True)):
        TuningTreatment.objects.create(series=series, place=place, step_numbers=list(numbers), system=row)
    return series
