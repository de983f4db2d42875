"""The form of a tuning series: a baseline, steps of settings, and how they are combined and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from django import forms

from benchhub.analysis.planning.levels import parse as parse_levels
from benchhub.analysis.tuning import fractions, treatments
from benchhub.bench.models import Experiment, TuningSeries
from benchhub.bench.models.design import LONGEST_SERIES_NAME
from benchhub.bench.models.levels import MOST_REPEATS
from benchhub.bench.plan.fields import designs, observing
from benchhub.bench.plan.fields.designs import tried
from benchhub.bench.plan.fields.loading import loading_field, no_copies_field
from benchhub.bench.plan.fields.observing import telemetry_field
from benchhub.bench.plan.fields.systems import Catalogue
from benchhub.bench.plan.form import DAY_S
from benchhub.bench.queue.forms.times import WindowFields
from benchhub.catalog.workloads.configuration_form import OS_EXAMPLE, SettingsField

USUAL_SIZE = ""
SIZES = (4, 8, 16, 32)
MOST_LETTERS = 4000
FIRST_STEPS = 3
DEFAULTS: Mapping[str, Any] = {
    "kind": TuningSeries.Kind.CUMULATIVE,
    "levels": "8",
    "repeats": 3,
    "duration_s": 60,
    "warmup_s": 10,
    "rest_s": 0,
    "thread_rule": "clients",
    "loading": Experiment.Loading.ONCE,
    "telemetry": observing.IS_USUAL,
}


def choice(rows: Mapping[str, Any], empty: str, **options: Any) -> forms.TypedChoiceField:
    """Return a field that chooses among rows by their keys as text; `empty` is what no choice means."""
    choices = [("", empty), *((key, str(row)) for key, row in rows.items())]
    words = {"required": "Choose one."}
    return forms.TypedChoiceField(
        choices=choices, coerce=rows.__getitem__, empty_value=None, error_messages=words, **options
    )


class StepForm(forms.Form):
    """A step: its name and what it sets."""

    name = forms.CharField(max_length=treatments.LONGEST_NAME, label="Name")
    settings = SettingsField(
        "shared_buffers = 2GB",
        label="Settings",
        max_length=MOST_LETTERS,
        help_text="A line each, name = value, as in postgresql.conf.",
        json_help="Each name with its value, as in postgresql.conf.",
    )

    os_settings = SettingsField(
        OS_EXAMPLE,
        label="Settings of the operating system",
        max_length=MOST_LETTERS,
        keep_case=True,
        help_text="A line each: vm.swappiness = 1, transparent_hugepage = never. Each run puts them back.",
        json_help="Each name with its value, as in sysctl.conf. Each run puts them back.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for layer in treatments.LAYERS:
            self.fields[layer].widget.attrs["rows"] = 3

    @property
    def step(self) -> treatments.Step:
        """Return the step as far as it is valid."""
        values = [self.cleaned_data.get(layer) or {} for layer in treatments.LAYERS]
        return treatments.Step(self.cleaned_data.get("name", "").strip(), treatments.Environment(*values))


class BaseStepFormSet(forms.BaseFormSet):  # type: ignore[type-arg]  # Django's class takes no type at run time
    """Steps of which those at the end may stay empty: they are no steps."""

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        options: dict[str, Any] = super().get_form_kwargs(index)
        if index is not None and self.is_bound and index >= max(1, self._filled):
            options["empty_permitted"] = True
        return options

    @cached_property
    def _filled(self) -> int:
        """Count the steps up to the last in which something is written."""
        names = [
            (place, f"{self.add_prefix(place)}-{name}")
            for place in range(self.total_form_count())
            for name in StepForm.base_fields
        ]
        return max((place + 1 for place, name in names if self.data.get(name, "").strip()), default=0)


StepFormSet = forms.formset_factory(
    StepForm,
    formset=BaseStepFormSet,
    extra=0,
    min_num=1,
    max_num=treatments.MOST_STEPS,
    absolute_max=treatments.MOST_STEPS + 1,
    validate_min=True,
    validate_max=True,
)


class SeriesForm(WindowFields):
    name = forms.CharField(max_length=LONGEST_SERIES_NAME, help_text="Configurations are called by it: 'name / step'.")
    remark = forms.CharField(widget=forms.Textarea(attrs={"rows": 2}), required=False, label="Remark (optional)")
    kind = forms.ChoiceField(choices=TuningSeries.Kind.choices, label="How steps are combined")
    size = forms.TypedChoiceField(
        choices=[(USUAL_SIZE, "as few as tell steps from interactions"), *((size, f"{size}") for size in SIZES)],
        coerce=int,
        empty_value=None,
        required=False,
        label="Combinations of a factorial",
        help_text="More combinations tell more interactions apart.",
    )
    levels = forms.CharField(
        max_length=400, label="Clients", help_text="Usually one number, near the peak. Several count as their mean."
    )
    repeats = forms.IntegerField(
        min_value=1, max_value=MOST_REPEATS, help_text="Of each configuration, in turns. Below 3 nothing is tested."
    )
    duration_s = forms.IntegerField(min_value=1, max_value=DAY_S, label="Duration of a run, s")
    warmup_s = forms.IntegerField(min_value=0, max_value=DAY_S, label="Warm-up before it, s")
    rest_s = forms.IntegerField(min_value=0, max_value=DAY_S, label="Rest after it, s")
    thread_rule = forms.CharField(max_length=100, label="Threads", help_text="clients (one for each), clients/2, or 4.")
    vacuum = forms.BooleanField(required=False, label="Vacuum before each run")
    checkpoint = forms.BooleanField(required=False, label="Checkpoint before each run")
    loading = loading_field()
    no_copies = no_copies_field()
    telemetry = telemetry_field()

    def __init__(self, *args: Any, catalogue: Catalogue, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        rows = {key: row for key, row in catalogue.instances.items() if row.is_configurable}
        self.fields["instance"] = choice(
            rows,
            "Choose an instance",
            help_text="A cluster of BenchHub's own, started anew for each run; or a server that runs may change.",
        )
        self.fields["baseline"] = choice(
            catalogue.configurations, "the instance's own configuration", required=False, label="Baseline"
        )
        self.fields["workload"] = choice(catalogue.workloads, "Choose a workload")
        clients = [("", "the newest pgbench on the host"), *catalogue.clients()]
        self.fields["client"] = forms.ChoiceField(choices=clients, required=False, label="Client program")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if TuningSeries.objects.filter(name=name).exists():
            raise forms.ValidationError(f"There is a series called '{name}' already: choose another name.")
        return name

    def clean_levels(self) -> list[int]:
        levels: list[int] = tried(lambda: parse_levels(self.cleaned_data["levels"]))
        return levels

    def clean_thread_rule(self) -> str:
        """Return the one rule; a series is one experiment, under one protocol."""
        rules: list[str] = tried(lambda: designs.thread_rules(self.cleaned_data["thread_rule"]))
        if len(rules) > 1:
            raise forms.ValidationError("A series has one thread rule: write one of them.")
        return rules[0]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        instance = values.get("instance")
        if instance is not None:
            values["baseline"] = values.get("baseline") or instance.configuration
        if values.get("kind") != TuningSeries.Kind.FACTORIAL:
            values["size"] = None
        return values


def treatments_of(values: Mapping[str, Any], steps: Sequence[treatments.Step]) -> list[treatments.Treatment]:
    """Return the treatments that the form asks for. Raises FractionError for a factorial that there is not."""
    return treatments.treatments(values["kind"], len(steps), values["size"])


def design_of(values: Mapping[str, Any], steps: Sequence[treatments.Step]) -> fractions.Fraction | None:
    """Return the factorial design that the form asks for; None for steps in order or alone."""
    is_factorial = values["kind"] == TuningSeries.Kind.FACTORIAL
    return fractions.fraction(len(steps), values["size"]) if is_factorial else None
