"""The form of a new experiment: what is asked for, and what can be filled in where nothing was typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.db.models.functions import Now
from django.http import QueryDict

from benchhub.analysis.planning.levels import parse as parse_levels
from benchhub.bench.models import Experiment, System, Window
from benchhub.bench.models.levels import MOST_REPEATS
from benchhub.bench.plan.systems import asked_system
from benchhub.bench.queue import permits
from benchhub.bench.queue.forms.policy import POLICY, PolicyFields
from benchhub.bench.queue.forms.times import WindowFields, window_of
from benchhub.catalog.models import Host, PgBuild

from . import plan
from .clients import chosen_client
from .fields import designs, growing, size
from .fields.designs import DesignFields, tried
from .fields.growing import GrowthFields
from .fields.systems import Catalogue, SeveralField, SystemForm, SystemFormSet, row_choice, row_of

DAY_S = 86_400
PAUSED = {"paused_at": Now(), "pause_reason": "Queued so."}
# What says nothing of what is run: where it is wrong, the rest of the plan can be looked at all the same.
BESIDE_THE_RUNS = frozenset({"name", "remark", *POLICY})


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A valid plan, nothing of it saved. `labels` are as typed: a system that is known keeps the label it has.

    `experiment` is the first of its `parts`, and most often the only one; all are run on the same systems.
    """

    parts: tuple[Experiment, ...]
    systems: tuple[System, ...]
    labels: tuple[str, ...]
    client: Mapping[str, Any]  # the client's build as the driver's last probe found it
    name: str = ""
    preset: str = ""
    window: Window | None = None
    may_trade_durability: bool = False  # of a tuning series, which compares such systems and says so

    @property
    def experiment(self) -> Experiment:
        return self.parts[0]


class PlanForm(DesignFields, GrowthFields, PolicyFields, WindowFields):
    name = forms.CharField(max_length=160, help_text="What the experiment is to find out, in a few words.")
    remark = forms.CharField(widget=forms.Textarea(attrs={"rows": 2}), required=False, label="Remark (optional)")
    levels = forms.CharField(
        label="Client levels",
        max_length=400,
        help_text="Numbers and ranges: 1, 2, 4, 8 or 2..16:2 (every second), 1..64*2 (doubling), or 1..64*1.5.",
    )
    repeats = forms.IntegerField(
        min_value=1, max_value=MOST_REPEATS, help_text="From 3 on, an interval of the mean is shown."
    )
    duration_s = forms.IntegerField(min_value=1, max_value=DAY_S, label="Duration of a run, s")
    warmup_s = forms.IntegerField(min_value=0, max_value=DAY_S, label="Warm-up before it, s")
    rest_s = forms.IntegerField(min_value=0, max_value=DAY_S, label="Rest after it, s")
    thread_rule = forms.CharField(
        max_length=100,
        label="Threads",
        help_text="clients (one for each), clients/2, or a number. Several values: each is run.",
    )
    vacuum = forms.BooleanField(required=False, label="Vacuum before each run")
    checkpoint = forms.BooleanField(required=False, label="Checkpoint before each run")
    is_paused = forms.BooleanField(
        required=False,
        label="Queue it paused",
        help_text="So that you can set its times first. It starts when you resume it.",
    )

    def __init__(self, *args: Any, catalogue: Catalogue, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for name in POLICY:
            self.fields[name].required = False
        self.fields["workload"] = row_choice(catalogue.workloads, "Choose a workload")
        self.fields["more_workloads"] = SeveralField(
            choices=[(key, str(row)) for key, row in catalogue.workloads.items()],
            coerce=partial(row_of, catalogue.workloads),
            required=False,
            label="Others as well (optional)",
            help_text="Each makes a part of the design. In conditions the one above is workload 1.",
        )
        clients = [("", "the newest pgbench on the driver"), *catalogue.clients()]
        self.fields["client"] = forms.ChoiceField(
            choices=clients, required=False, label="Client program", help_text="One program drives all systems."
        )

    def clean_levels(self) -> list[int]:
        levels: list[int] = tried(lambda: parse_levels(self.cleaned_data["levels"]))
        return levels

    def clean_thread_rule(self) -> list[str]:
        rules: list[str] = tried(lambda: designs.thread_rules(self.cleaned_data["thread_rule"]))
        return rules


class Draft:
    """The whole form: the plan and its systems. Valid, it has what was asked for; else errors beside the fields."""

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        systems: Sequence[Mapping[str, Any]] = ({},),
        needs_name: bool = True,
        user: Any = None,
    ) -> None:
        catalogue = Catalogue()
        self.catalogue, self.user, self.needs_name = catalogue, user, needs_name
        self.plan = PlanForm(data, initial=initial, catalogue=catalogue)
        self.plan.fields["name"].required = needs_name
        options = {"catalogue": catalogue, "empty_permitted": False}
        self.systems = SystemFormSet(data, initial=list(systems), prefix="systems", form_kwargs=options)
        self.plan_request = self._checked() if data is not None else None

    @property
    def has_matrix(self) -> bool:
        return self._has("more_workloads", "scales", "rates", "latency_limit_ms")

    @property
    def has_preparation(self) -> bool:
        is_wrong = bool(self.plan["warmup_run_clients"].errors)  # its default of 1 is like what people type
        return is_wrong or self._has(
            "loading", "no_copies", "settle_s", "warmup_run_s", "restart", "drop_caches", "canary"
        )

    @property
    def has_order(self) -> bool:
        is_wrong = bool(self.plan["order_seed"].errors)  # its default is drawn, like what people type
        return is_wrong or self._has("order", "kept_only", "left_out")

    @property
    def has_growth(self) -> bool:
        return self._has("grows", "most_runs", "precision_percent", "ceiling_ms")

    @property
    def has_growth_limits(self) -> bool:
        return self._has("most_runs", "precision_percent", "ceiling_ms")

    @property
    def has_window(self) -> bool:
        return self._has("window_days", "window_from", "window_until", "is_exclusive")

    def _has(self, *names: str) -> bool:
        """Tell whether any of these fields is wrong or has another value than its default, and must be unfolded."""
        defaults = {None, "", "0", "False", "[]", *map(str, designs.DEFAULTS.values())} - {"1"}
        return any(str(self.plan[name].value() or "") not in defaults or self.plan[name].errors for name in names)

    @property
    def problems(self) -> list[str]:
        """Return all errors as sentences that name their field, for pages that do not show the fields."""
        problems = [*_sentences(self.plan), *map(str, self.systems.non_form_errors())]
        for number, form in enumerate(self.systems, start=1):
            problems += [f"System {number}, {sentence}" for sentence in _sentences(form)]
        return problems

    @property
    def is_only_unfinished(self) -> bool:
        """Tell whether empty fields are all that is wrong."""
        field_errors = [errors for form in (self.plan, *self.systems) for errors in form.errors.as_data().values()]
        has_other = any(error.code != "required" for errors in field_errors for error in errors)
        return not has_other and not self.systems.non_form_errors()

    @property
    def missing(self) -> list[str]:
        """Return the labels of the fields that are still empty."""
        labels = [str(self.plan[name].label) for name in self.plan.errors]
        for number, form in enumerate(self.systems, start=1):
            labels += [f"{form[name].label} of system {number}" for name in form.errors]
        return labels

    def _checked(self) -> PlanRequest | None:
        """Return the plan, or None with errors beside the fields: all at once, however many there are."""
        is_readable = not (self.plan.errors.keys() - BESIDE_THE_RUNS) and self.systems.is_valid()
        rows = [(form, self._system(form.cleaned_data)) for form in self.systems if not form.errors]
        systems = [system for _, system in rows]
        self._refuse_doubles(rows)
        self._refuse_without_permit(rows)
        client = self._client([system.driver for system in systems])
        is_readable = is_readable and not self._is_too_large(len(systems))
        plan_request = self._plan_request(systems, client) if is_readable and client else None
        self._refuse_what_systems_cannot(systems)
        self.plan.refuse_overlap(systems)
        if plan_request:
            self._refuse_runs(plan_request)
        return plan_request if self.plan.is_valid() and self.systems.is_valid() else None

    def _is_too_large(self, system_count: int) -> bool:
        sentence = size.matrix_refusal(self.plan.cleaned_data, system_count)
        if sentence:
            self.plan.add_error("repeats", sentence)
        return bool(sentence)

    def _plan_request(self, systems: Sequence[System], client: Mapping[str, Any]) -> PlanRequest:
        values = {**dict.fromkeys(BESIDE_THE_RUNS, ""), **self.plan.cleaned_data}
        labels = tuple(form.cleaned_data["label"] for form in self.systems)
        parts = designs.parts(self._experiment(values, client), values, len(systems))
        beside = {"name": values["name"], "preset": values["preset"], "window": window_of(values)}
        return PlanRequest(tuple(parts), tuple(systems), labels, client, **beside)

    def _system(self, values: Mapping[str, Any]) -> System:
        names = ("driver", "hardware", "path", "label", "configuration")
        return asked_system(values["instance"], **{name: values[name] for name in names})

    def _refuse_doubles(self, rows: Sequence[tuple[SystemForm, System]]) -> None:
        digests: set[str] = set()
        for form, system in rows:
            if system.digest in digests:
                form.add_error("instance", "This system is in the plan already: change it or remove it.")
            digests.add(system.digest)

    def _refuse_without_permit(self, rows: Sequence[tuple[SystemForm, System]]) -> None:
        for form, system in rows:
            hosts = (system.driver_id, system.instance.host_id)
            if self.user and (sentence := permits.refusal(self.user, hosts)):
                form.add_error("instance", sentence)

    def _client(self, drivers: Sequence[Host]) -> dict[str, Any] | None:
        if not drivers or "client" in self.plan.errors:
            return None
        try:
            return chosen_client(drivers, self.plan.cleaned_data["client"])
        except LookupError as error:
            self.plan.add_error("client", error.args[0])
            return None

    def _experiment(self, values: Mapping[str, Any], client: Mapping[str, Any]) -> Experiment:
        names = ("name", "remark", "workload", "repeats", "duration_s", "warmup_s", "rest_s", "vacuum")
        policy = {name: values[name] for name in POLICY if values[name] not in (None, "")}
        return Experiment(
            **({name: values[name] for name in names} | growing.values(values)),
            **policy,
            **designs.values(values),
            **(PAUSED if values["is_paused"] else {}),
            checkpoint=values["checkpoint"],
            is_exclusive=values["is_exclusive"],
            client_levels=values["levels"],
            client_build=PgBuild(version=client["version"], version_num=client["version_num"]),
            client_bin_directory=client["bin_directory"],
        )

    def _refuse_what_systems_cannot(self, systems: Sequence[System]) -> None:
        values = self.plan.cleaned_data
        growth_refusals = growing.refusals(values, len(self.systems.forms))
        for field, sentence in (designs.refusals(values, systems) | growth_refusals).items():
            self.plan.add_error(field, sentence)

    def _refuse_runs(self, plan_request: PlanRequest) -> None:
        """Refuse too many parts, a plan without a run, and what the load generator refuses."""
        if len(plan_request.parts) > designs.MOST_PARTS:
            self.plan.add_error("scales", f"These are {len(plan_request.parts)} parts: more than {designs.MOST_PARTS}.")
        elif not plan_request.parts:
            self.plan.add_error("left_out", "The conditions leave no run in the plan.")
        elif sentence := size.refusal(plan_request.parts, len(plan_request.systems)):
            self.plan.add_error("repeats", sentence)
        else:
            for sentence in dict.fromkeys(
                filter(None, (_refusal(part, plan_request.systems[0]) for part in plan_request.parts))
            ):
                self.plan.add_error("workload", sentence)


def _refusal(part: Experiment, system: System) -> str:
    """Say why the load generator refuses a run of the part (its version, workload or clients); empty if it does not."""
    levels = dict.fromkeys((max(part.levels), min(part.levels)))
    runs = [plan.step_at(part, system, level, 1) for level in levels]
    try:
        for step in (*runs, *plan.warmups(part, [system])):
            plan.spec_for(part, step)
    except ValueError as error:
        return str(error)
    return ""


def _sentences(form: forms.Form) -> list[str]:
    return [
        f"{form[name].label if name in form.fields else ''}: {' '.join(map(str, errors))}".removeprefix(": ")
        for name, errors in form.errors.items()
    ]
