"""A tuning series as it is typed: checked at once, with all errors beside their fields, and turned into a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from benchhub.analysis.tuning import fractions, treatments
from benchhub.analysis.tuning.fractions import FractionError
from benchhub.analysis.tuning.treatments import Layer, Step, Treatment
from benchhub.bench.models import Experiment, System
from benchhub.bench.plan import plan
from benchhub.bench.plan.clients import chosen_client
from benchhub.bench.plan.fields.size import run_refusal
from benchhub.bench.plan.fields.systems import Catalogue, guessed_path, system_refusals, usual_label
from benchhub.bench.plan.form import PlanRequest
from benchhub.bench.plan.systems import asked_system
from benchhub.bench.queue import permits
from benchhub.bench.queue.forms.times import WINDOW, window_of
from benchhub.catalog.instances.applying import refusals, refusals_by_layer
from benchhub.catalog.instances.standbys import refusals_to_load
from benchhub.catalog.models import Configuration, Instance, PgBuild

from .form import FIRST_STEPS, SeriesForm, StepForm, StepFormSet, design_of, treatments_of

PREFIX = "steps"
ATTEMPTS_IF_LOST = 2
FOLDED = {
    "remark", "warmup_s", "rest_s", "thread_rule", "client", "loading", "no_copies", "vacuum", "checkpoint",
    "telemetry",
}  # fmt: skip
EXPERIMENT_FIELDS = (
    "name", "remark", "workload", "repeats", "duration_s", "warmup_s", "rest_s", "loading", "no_copies", "vacuum",
    "checkpoint", "telemetry", "thread_rule", "is_exclusive",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SeriesRequest:
    """A valid series, nothing of it saved: `plan_request` has a system for each treatment, in their order."""

    values: Mapping[str, Any]
    steps: tuple[Step, ...]
    treatments: tuple[Treatment, ...]
    design: fractions.Fraction | None
    plan_request: PlanRequest

    @property
    def labels(self) -> list[str]:
        return [treatments.label(row, self.steps, self.values["kind"]) for row in self.treatments]


class SeriesDraft:
    """The whole form. Valid, it has `request`; else errors beside the fields."""

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        steps: Sequence[Mapping[str, Any]] = ({},) * FIRST_STEPS,
        needs_name: bool = True,
        user: Any = None,
    ) -> None:
        self.catalogue, self.user, self.needs_name = Catalogue(), user, needs_name
        self.fill_problem = ""
        self.series = SeriesForm(data, initial=initial, catalogue=self.catalogue)
        self.series.fields["name"].required = needs_name
        self.steps = StepFormSet(data, initial=list(steps), prefix=PREFIX)
        self.request = self._checked() if data is not None else None

    @property
    def has_window(self) -> bool:
        """Tell whether times were typed or are wrong, and must be unfolded."""
        return any(self.series[name].value() or self.series[name].errors for name in WINDOW - {"window_zone"})

    @property
    def has_folded_fault(self) -> bool:
        """Tell whether a field is wrong that the form folds away."""
        return bool(self.series.errors.keys() & FOLDED)

    @property
    def has_instances(self) -> bool:
        return any(instance.is_configurable for instance in self.catalogue.instances.values())

    @property
    def problems(self) -> list[str]:
        """Return all errors as sentences that name their field."""
        problems = [*_sentences(self.series), *map(str, self.steps.non_form_errors())]
        for number, form in enumerate(self.steps, start=1):
            problems += [f"Step {number}, {sentence}" for sentence in _sentences(form)]
        return problems

    @property
    def is_only_unfinished(self) -> bool:
        """Tell whether empty fields are all that is wrong."""
        field_errors = [errors for form in (self.series, *self.steps) for errors in form.errors.as_data().values()]
        return not any(error.code != "required" for errors in field_errors for error in errors)

    @property
    def missing(self) -> list[str]:
        """Return the labels of the fields that are still empty."""
        labels = [str(self.series[name].label) for name in self.series.errors]
        for number, form in enumerate(self.steps, start=1):
            labels += [f"{form[name].label} of step {number}" for name in form.errors]
        return labels

    def _checked(self) -> SeriesRequest | None:
        """Return the series, or None with errors beside the fields: all at once, however many there are."""
        self.series.full_clean()
        self.steps.full_clean()
        values = dict(self.series.cleaned_data)  # an error takes its field out of the form's own
        rows = self._rows(values)
        self._refuse_steps(values, rows)
        self._refuse_instance(values)
        self._refuse_length(values, rows)
        systems = self._systems(values, rows)
        self._refuse_names(systems)
        self.series.refuse_overlap(systems)
        plan_request = self._plan_request(values, systems)
        if plan_request is None or not self._is_valid:
            return None
        return SeriesRequest(values, self._steps, rows, design_of(values, self._steps), plan_request)

    @property
    def _is_valid(self) -> bool:
        return self.series.is_valid() and self.steps.is_valid()

    @cached_property
    def _step_forms(self) -> list[StepForm]:
        """Return the forms that hold a step; rows that were left blank are none."""
        return [form for form in self.steps if form.has_changed()]

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return tuple(form.step for form in self._step_forms)

    def _rows(self, values: Mapping[str, Any]) -> tuple[Treatment, ...]:
        """Return the treatments; none where there is no such design, which is said beside its field."""
        if not values.get("kind") or "size" not in values:
            return ()
        try:
            return tuple(treatments_of(values, self._steps))
        except FractionError as error:
            self.series.add_error("size" if values["size"] else "kind", str(error))
            return ()

    def _refuse_steps(self, values: Mapping[str, Any], rows: Sequence[Treatment]) -> None:
        """Refuse steps that change nothing or contradict each other, and settings that the server would not take."""
        baseline, kind = values.get("baseline"), values.get("kind")
        if baseline is None or kind is None:
            return
        for number, sentences in treatments.faults(kind, baseline.environment, self._steps).items():
            self._add_to_step(number, "settings", sentences)
        if instance := values.get("instance"):
            self._refuse_settings(instance, baseline, rows)

    def _add_to_step(self, number: int, layer: Layer, sentences: Sequence[str]) -> None:
        form = self._step_forms[number - 1]
        for sentence in sentences:
            if layer not in form.errors or sentence not in form.errors[layer]:
                form.add_error(layer, sentence)

    def _refuse_settings(self, instance: Instance, baseline: Configuration, rows: Sequence[Treatment]) -> None:
        """Refuse what the server would not take, beside the step that asks for it first."""
        reported = set(refusals(instance, baseline))
        for sentence in sorted(reported):
            self.series.add_error("baseline", sentence)
        alone = [(number,) for number in range(1, len(self._steps) + 1)]
        for treatment in [*alone, *(row for row in rows if row)]:
            by_layer = refusals_by_layer(instance, self._configuration(baseline, treatment))
            for layer, sentences in by_layer.items():
                self._add_to_step(treatment[-1], layer, [text for text in sentences if text not in reported])
                reported |= set(sentences)

    def _refuse_instance(self, values: Mapping[str, Any]) -> None:
        instance = values.get("instance")
        if instance is None:
            return
        if self.user and (sentence := permits.refusal(self.user, (instance.host_id,))):
            self.series.add_error("instance", sentence)
        if instance.host.hardware is None:
            self.series.add_error("instance", f"The hardware of {instance.host} is not known: choose it on its page.")
        if values.get("loading") == Experiment.Loading.EACH:
            for sentence in refusals_to_load(instance):
                self.series.add_error("loading", sentence)
        driven = {"driver": instance.host, "path": _path(instance), "configuration": values["baseline"]}
        refusal = system_refusals(instance, driven).get("instance")
        if refusal and not self.series.errors.get("instance"):
            self.series.add_error("instance", refusal)

    def _refuse_length(self, values: Mapping[str, Any], rows: Sequence[Treatment]) -> None:
        runs = len(rows) * len(values.get("levels") or ()) * (values.get("repeats") or 0)
        if sentence := run_refusal(runs):
            self.series.add_error("repeats", sentence)

    def _refuse_names(self, systems: Sequence[System]) -> None:
        if taken := _taken([system.configuration for system in systems]):
            self.series.add_error("name", f"There is a configuration called '{taken}' already: choose another name.")

    def _client(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        if not values.get("instance") or "client" not in values:
            return None
        try:
            return chosen_client([values["instance"].host], values["client"])
        except LookupError as error:
            self.series.add_error("client", error.args[0])
            return None

    def _plan_request(self, values: Mapping[str, Any], systems: tuple[System, ...]) -> PlanRequest | None:
        """Return the plan, or None where fields are missing or the load generator refuses it."""
        client = self._client(values)
        if client is None or not systems or not values.keys() >= {*EXPERIMENT_FIELDS, "levels"}:
            return None
        experiment = _experiment(values, client)
        try:
            plan.spec_for(experiment, plan.step_at(experiment, systems[0], max(experiment.levels), 1))
        except ValueError as error:
            self.series.add_error("workload", str(error))
            return None
        labels = tuple(system.label for system in systems)
        window = window_of(values) if self.series.is_valid() else None
        beside = {"name": values["name"], "window": window, "may_trade_durability": True}
        return PlanRequest((experiment,), systems, labels, client, **beside)

    def _systems(self, values: Mapping[str, Any], rows: Sequence[Treatment]) -> tuple[System, ...]:
        """Return a system for each treatment; none while the fields that make them up are missing."""
        instance = values.get("instance")
        if instance is None or instance.host.hardware is None or not values.keys() >= {"name", "baseline"}:
            return ()
        return tuple(_system(instance, self._configuration(values["baseline"], row, values)) for row in rows)

    def _configuration(
        self, baseline: Configuration, treatment: Treatment, values: Mapping[str, Any] | None = None
    ) -> Configuration:
        """Return the configuration of a treatment, unsaved; of the baseline the row itself."""
        if not treatment:
            return baseline
        kind = values["kind"] if values else treatments.CUMULATIVE
        environment = treatments.environment_of(baseline.environment, self._steps, treatment)
        short = "+".join(map(str, treatment)) if kind == treatments.FACTORIAL else self._steps[treatment[-1] - 1].name
        return Configuration(
            name=f"{values['name'] if values else ''} / {short}",
            settings=environment.settings,
            os_settings=environment.os_settings,
            volatile_storage=baseline.volatile_storage,
            remark=f"Made by a tuning series, from {baseline}.",
        )


def _system(instance: Instance, configuration: Configuration) -> System:
    host, path = instance.host, _path(instance)
    assert host is not None and host.hardware is not None  # _systems() looks at its hardware
    label = usual_label(instance, {"path": path, "configuration": configuration}, path)
    return asked_system(
        instance, driver=host, hardware=host.hardware, path=path, label=label, configuration=configuration
    )


def _path(instance: Instance) -> str:
    return guessed_path(instance, instance.host)


def _taken(configurations: Sequence[Configuration]) -> str:
    """Return a name that somebody's configuration has, which a series must not revise; empty where there is none."""
    by_name = {row.name: row for row in configurations if row._state.adding}
    rows = Configuration.objects.filter(name__in=by_name).order_by("name", "-revision").distinct("name")
    return next((row.name for row in rows if row.retired_at or not _is_alike(row, by_name[row.name])), "")


def _is_alike(row: Configuration, other: Configuration) -> bool:
    fields = ("settings", "os_settings", "volatile_storage")
    return all(getattr(row, field) == getattr(other, field) for field in fields)


def _experiment(values: Mapping[str, Any], client: Mapping[str, Any]) -> Experiment:
    return Experiment(
        **{name: values[name] for name in EXPERIMENT_FIELDS},
        client_levels=values["levels"],
        order=Experiment.Order.BLOCKED,
        attempts_if_lost=ATTEMPTS_IF_LOST,
        client_build=PgBuild(version=client["version"], version_num=client["version_num"]),
        client_bin_directory=client["bin_directory"],
    )


def _sentences(form: Any) -> list[str]:
    return [
        f"{form[name].label if name in form.fields else ''}: {' '.join(map(str, errors))}".removeprefix(": ")
        for name, errors in form.errors.items()
    ]
