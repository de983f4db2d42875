"""The page on which a tuning series is planned, and what a form starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from benchhub.analysis.planning.levels import spell
from benchhub.analysis.protocol import digest
from benchhub.analysis.tuning import fractions
from benchhub.analysis.tuning.presets import PRESETS, Preset
from benchhub.analysis.tuning.treatments import Step
from benchhub.analysis.words import listing
from benchhub.bench.models import TuningSeries
from benchhub.bench.plan import preview
from benchhub.bench.plan.fields.rows import typed_rows
from benchhub.bench.plan.preview import Preview
from benchhub.bench.queue.forms.times import window_values

from .draft import PREFIX, SeriesDraft
from .form import FIRST_STEPS, SeriesForm, StepForm

MOST_TYPED = 50


@dataclass(frozen=True)
class NewSeriesPage:
    """The form of a series, and what it would queue as it stands."""

    draft: SeriesDraft

    @cached_property
    def preview(self) -> Preview | None:
        return preview.look(self.draft.request.plan_request) if self.draft.request else None

    @property
    def presets(self) -> Mapping[str, Preset]:
        return PRESETS

    @property
    def warnings(self) -> list[str]:
        return [*self._less_durable, *(self.preview.warnings if self.preview else ())]

    @property
    def configurations(self) -> list[str]:
        """Return the names of the configurations in the order of the first repeat."""
        return self.draft.request.labels if self.draft.request else []

    @property
    def design_title(self) -> str:
        request = self.draft.request
        return request.design.title if request and request.design else ""

    @property
    def mixed(self) -> list[str]:
        """Return what the design cannot tell apart, as sentences; empty where that is nothing."""
        request = self.draft.request
        if request is None or request.design is None:
            return []
        names = [step.name for step in request.steps]
        return [*_mixed_steps(request.design, names), *_mixed_pairs(request.design, names)]

    @property
    def _less_durable(self) -> list[str]:
        request = self.draft.request
        if request is None:
            return []
        rows = [system.configuration for system in request.plan_request.systems]
        forms = [digest.durability(row.settings, volatile_storage=row.volatile_storage) for row in rows]
        labels = [label for label, form in zip(request.labels, forms, strict=True) if form != forms[0]]
        if not labels:
            return []
        return [f"Not as durable as the baseline, and so no candidate for the best: {listing(labels)}."]


def _mixed_steps(design: fractions.Fraction, names: Sequence[str]) -> list[str]:
    sentences = []
    for place, name in enumerate(names):
        if aliases := design.aliases((place,)):
            mixed = " or of ".join(_pair(alias.factors, names) for alias in aliases)
            sentences.append(f"The effect of {name} is not told from the interaction of {mixed}.")
    return sentences


def _mixed_pairs(design: fractions.Fraction, names: Sequence[str]) -> list[str]:
    groups = [[pair, *(alias.factors for alias in design.aliases(pair))] for pair in design.interactions()]
    return [
        f"These interactions are not told apart: {'; '.join(_pair(pair, names) for pair in group)}."
        for group in groups
        if len(group) > 1
    ]


def _pair(places: Sequence[int], names: Sequence[str]) -> str:
    return " with ".join(names[place] for place in places)


def like(series: TuningSeries, place: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values and steps for a series like this; `place` is the treatment that becomes its baseline.

    With another baseline there are no steps yet: those of before are in it.
    """
    experiment = series.experiment
    names = (
        "repeats", "duration_s", "warmup_s", "rest_s", "thread_rule", "loading", "no_copies", "vacuum", "checkpoint",
        "telemetry",
    )  # fmt: skip
    values = {name: getattr(experiment, name) for name in names}
    treatments = {row.place: row for row in series.treatments.select_related("system")}
    baseline = treatments[place].system.configuration_id if place in treatments else series.baseline_id
    values |= {
        "remark": series.remark,
        "kind": series.kind,
        "instance": series.instance_id,
        "baseline": baseline,
        "workload": experiment.workload_id,
        "client": experiment.client_bin_directory,
        "levels": spell(experiment.client_levels),
        **window_values(experiment),
    }
    steps = [_values(step.step) for step in series.steps.all()]
    return values, steps if place is None else [{}] * FIRST_STEPS


def typed(data: QueryDict) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values and steps as they were typed. Nothing is checked."""
    names = (*SeriesForm.base_fields, "instance", "baseline", "workload", "client")
    steps = typed_rows(data, PREFIX, StepForm.base_fields, MOST_TYPED)
    values: dict[str, Any] = {name: data.get(name, "") for name in names}
    values |= {"window_days": data.getlist("window_days"), "window_zone": data.get("window_zone", "UTC")}
    return values, steps


def filled(values: Mapping[str, Any], key: str, draft: SeriesDraft) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values with the steps of a preset, scaled to the memory of the host of the cluster in them.

    Raises ValueError with a sentence where there is no such preset, or nobody knows the memory.
    """
    instance = draft.catalogue.instances.get(str(values.get("instance", "")))
    if key not in PRESETS:
        raise ValueError("There are no such steps to start from: choose one of the buttons.")
    if instance is None:
        raise ValueError("Choose a cluster first: its steps are parts of the memory of its host.")
    memory_bytes = instance.usable_memory_bytes
    if memory_bytes is None:
        raise ValueError("The memory of the cluster's host is not known: probe the host first.")
    steps = [_values(step) for step in PRESETS[key].scaled(memory_bytes)]
    return {**values, "kind": PRESETS[key].kind}, steps


def _values(step: Step) -> dict[str, Any]:
    return {"name": step.name, **asdict(step.environment)}
