"""The part of a plan's form that makes it a design: a matrix, its order, and what is done before each run."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from benchhub.analysis.planning import design
from benchhub.analysis.planning.levels import RATES, SCALES
from benchhub.analysis.planning.levels import parse as parse_levels
from benchhub.bench.models import Experiment, System
from benchhub.bench.plan import plan, specs
from benchhub.catalog.instances import standbys
from benchhub.catalog.models import Instance, Workload
from runners import tools

from . import observing
from .loading import loading_field, no_copies_field
from .observing import telemetry_field

MOST_PARTS = 60
NAMED_SCALE = re.compile(r",? scale [\d,]+$")  # of a name that says the scale which another one is to have
LONGEST_RULE = 20
HIGHEST_DRAWN = 1_000_000
DAY_S = 86_400
SAME = (
    "order", "order_seed", "loading", "warmup_run_s", "warmup_run_clients", "settle_s", "restart", "drop_caches",
    "no_copies", "telemetry",
)  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "order": Experiment.Order.BLOCKED,
    "loading": Experiment.Loading.ONCE,
    "warmup_run_s": 0,
    "warmup_run_clients": 1,
    "settle_s": 0,
    "telemetry": observing.IS_USUAL,
}


class DesignFields(forms.Form):
    """All optional: left empty, a plan is one workload at one scale, its runs blocked by repeat."""

    scales = forms.CharField(
        required=False, max_length=200, label="Scales (optional)",
        help_text="Left empty: that of the workload. Several, such as 100, 300, 1000, are run one after the other.",
    )  # fmt: skip
    rates = forms.CharField(
        required=False,
        max_length=400,
        label="Offered rates, TPS (optional)",
        help_text="An open loop: 1000..8000:1000. The load then comes at these rates, from one number of clients.",
    )
    latency_limit_ms = forms.DecimalField(
        required=False,
        min_value=Decimal("0.001"),
        max_value=1_000_000,
        decimal_places=3,
        label="Latency limit, ms",
        help_text="For an open loop, counted from when a transaction was due. One that is already later is skipped.",
    )
    kept_only = forms.CharField(
        required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 2}),
        label="Only these runs (optional)",
        help_text="One set of conditions per line: scale=100; clients=1..16. Workloads and systems go by number.",
    )  # fmt: skip
    left_out = forms.CharField(
        required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 2}),
        label="Without these runs (optional)",
        help_text="As above: system=2; threads=clients/2; clients=100..160.",
    )  # fmt: skip
    order = forms.ChoiceField(choices=Experiment.Order.choices, required=False, label="Order of the runs")
    order_seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=design.HIGHEST_SEED,
        initial=lambda: secrets.randbelow(HIGHEST_DRAWN),
        label="Seed of the order",
        help_text="For a random order. The same seed gives the same order again.",
    )
    loading = loading_field()
    warmup_run_s = forms.IntegerField(
        required=False, min_value=0, max_value=DAY_S, label="Warm-up as a run of its own, s",
        help_text="Once for each system, after its load. It never gives a point.",
    )  # fmt: skip
    warmup_run_clients = forms.IntegerField(
        required=False, min_value=1, max_value=100_000, label="Clients of that run"
    )  # fmt: skip
    settle_s = forms.IntegerField(
        required=False, min_value=0, max_value=DAY_S, label="Settle before each run, s",
        help_text="How long to wait after vacuum, checkpoint and restart.",
    )  # fmt: skip
    restart = forms.BooleanField(
        required=False, label="Restart the server before each run",
        help_text="By pg_ctl, as the account that drives the load: it must own the data directory.",
    )  # fmt: skip
    drop_caches = forms.BooleanField(
        required=False, label="Drop the host's page cache before each run",
        help_text="Only where the account may: as root, or by sudo without a password.",
    )  # fmt: skip
    no_copies = no_copies_field()
    telemetry = telemetry_field()
    canary = forms.BooleanField(
        required=False, label="Run a canary first",
        help_text="The lowest and the highest level come first. Unless both end well on a quiet host, the rest waits.",
    )  # fmt: skip

    preset = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def clean_rates(self) -> list[int]:
        text = self.cleaned_data["rates"]
        return tried(lambda: parse_levels(text, RATES)) if text.strip() else []

    def clean(self) -> dict[str, Any]:
        """Refuse a sweep of rates without one number of clients and a latency limit, and scales no workload has."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("rates") and len(values.get("levels") or [0]) > 1:
            self.add_error("levels", "A sweep of rates has one number of clients: enough to carry the highest rate.")
        if values.get("rates") and not values.get("latency_limit_ms") and "latency_limit_ms" not in self.errors:
            self.add_error("latency_limit_ms", "A sweep of rates needs a limit: it says which rates are held.")
        if values.get("scales") and not any(workload.scale for workload in _workloads(values)):
            self.add_error("scales", "None of the workloads has a scale: revise the workload for another size.")
        return values

    def clean_scales(self) -> list[int]:
        text = self.cleaned_data["scales"]
        return tried(lambda: parse_levels(text, SCALES)) if text.strip() else []

    def clean_kept_only(self) -> list[str]:
        return _rules(self.cleaned_data["kept_only"])

    def clean_left_out(self) -> list[str]:
        return _rules(self.cleaned_data["left_out"])

    def clean_order_seed(self) -> int:
        """Return 0 where none was typed. No seed is drawn here: what is queued must be what the plan showed."""
        return self.cleaned_data["order_seed"] or 0


def _rules(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    tried(lambda: design.rules(lines))
    return lines


def tried(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except ValueError as error:
        raise forms.ValidationError(str(error)) from error


def thread_rules(text: str) -> list[str]:
    """Return the rules in a list such as `clients, clients/2`, each once. Raises ValueError."""
    rules = list(dict.fromkeys(rule.strip() for rule in text.split(",") if rule.strip()))
    for rule in rules or [""]:
        specs.resolve_threads(rule[:LONGEST_RULE], 1)
    return rules


def values(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an experiment that the form has values for; an empty field keeps its default."""
    conditions = {name: cleaned[name] for name in SAME if cleaned[name] not in (None, "")}
    if cleaned["rates"]:
        conditions |= {"rates_tps": cleaned["rates"], "latency_limit_us": int(1000 * cleaned["latency_limit_ms"])}
    return conditions | ({"canary": Experiment.Canary.WAITS} if cleaned["canary"] else {})


def parts(experiment: Experiment, cleaned: Mapping[str, Any], systems: int) -> list[Experiment]:
    """Return workloads x scales x thread rules as unsaved experiments, without those that have no run left."""
    first = cleaned["workload"]
    workloads = [first, *(workload for workload in cleaned["more_workloads"] if workload != first)]
    experiments = []
    for number, workload in enumerate(workloads, start=1):
        for scale in _scales(workload, cleaned["scales"]):
            scaled = at_scale(workload, scale)
            for rule in cleaned["thread_rule"]:
                place = {"workload": number, "scale": scale, "threads": rule}
                rules = design.narrowed(cleaned["kept_only"], cleaned["left_out"], place)
                if rules is not None:
                    fields = {"workload": scaled, "thread_rule": rule, "kept_only": rules[0], "left_out": rules[1]}
                    experiments.append(_part(experiment, **fields))
    return _named([part for part in experiments if plan.slots(part, systems)], experiment.name)


def has_several(cleaned: Mapping[str, Any]) -> bool:
    """Tell whether the form asks for more than one part, as far as it could be read."""
    workloads = _workloads(cleaned)
    has_scales = len(cleaned.get("scales", ())) > 1 and any(workload.scale for workload in workloads)
    return len(workloads) > 1 or len(cleaned.get("thread_rule", ())) > 1 or has_scales


def _workloads(cleaned: Mapping[str, Any]) -> set[Workload]:
    return {cleaned.get("workload"), *cleaned.get("more_workloads", ())} - {None}


def _part(experiment: Experiment, **changes: Any) -> Experiment:
    fields = {
        field.name: getattr(experiment, field.name)
        for field in Experiment._meta.concrete_fields
        if not field.is_relation
    }
    del fields["id"]
    return Experiment(**{**fields, "client_build": experiment.client_build, **changes})


def _named(parts: Sequence[Experiment], name: str) -> list[Experiment]:
    """Return the parts, named by workload and thread rule if there are several."""
    if len(parts) > 1:
        for part in parts:
            part.name = f"{name[:100]}: {part.workload.name}, threads {part.thread_rule}"[:160]
    return list(parts)


def _scales(workload: Workload, scales: Sequence[int]) -> Sequence[int]:
    """Return the scales asked for, or the workload's own; 1 for a workload without a scale, so that it comes once."""
    return [1] if workload.scale is None else scales or [workload.scale]


def at_scale(workload: Workload, scale: int) -> Workload:
    """Return the workload if this is its scale, or it has none; else the same one at this scale, saved or not."""
    parameters = tools.get(workload.tool).at_scale(workload.parameters, scale)
    if parameters == workload.parameters:
        return workload
    existing = Workload.objects.current().filter(tool=workload.tool, parameters=parameters).order_by("pk").first()
    name = f"{NAMED_SCALE.sub('', workload.name)[:90]}, scale {scale:,}"
    return existing or Workload(name=name, tool=workload.tool, parameters=parameters, remark="Made for a design.")


def saved_workload(workload: Workload) -> Workload:
    """Save a part's workload, or return the same one that another part saved. A name that is taken gets a number."""
    if workload.pk:
        return workload
    existing: Workload | None = (
        Workload.objects.current().filter(tool=workload.tool, parameters=workload.parameters).first()
    )
    if existing:
        return existing
    names = set(Workload.objects.filter(name__startswith=workload.name).values_list("name", flat=True))
    name, number = workload.name, 2
    while name in names:
        name, number = f"{workload.name} ({number})", number + 1
    return Workload.objects.create(
        name=name, tool=workload.tool, parameters=workload.parameters, remark=workload.remark
    )


def refusals(cleaned: Mapping[str, Any], systems: Sequence[System]) -> dict[str, str]:
    """Return by field why these systems cannot carry out the plan."""
    problems = {}
    if cleaned.get("restart") and (sentence := _first(_not_restarted(system) for system in systems)):
        problems["restart"] = sentence
    if cleaned.get("drop_caches") and (sentence := _first(_not_dropped(system) for system in systems)):
        problems["drop_caches"] = sentence
    if sentence := _first(_not_installed(workload, system) for workload in _workloads(cleaned) for system in systems):
        problems["workload"] = sentence
    for instance in standbys.standbys_among([system.instance for system in systems]):
        problems |= _not_on_standby(cleaned, instance)
    return problems


def _not_on_standby(cleaned: Mapping[str, Any], instance: Instance) -> dict[str, str]:
    problems = {}
    writing = next((row for row in _workloads(cleaned) if tools.get(row.tool).writes(row.parameters)), None)
    if writing:
        problems["workload"] = standbys.NO_WRITES.format(instance, writing)
    if cleaned.get("loading") == Experiment.Loading.EACH:
        problems["loading"] = standbys.NO_LOADS.format(instance)
    if cleaned.get("vacuum"):
        problems["vacuum"] = standbys.NO_VACUUM.format(instance)
    return problems


def _first(sentences: Any) -> str:
    return next(filter(None, sentences), "")


def _not_restarted(system: System) -> str:
    instance = system.instance
    if not system.driven_locally:
        return f"{instance} is driven from {system.driver}, another host: only a server on the driver is restarted."
    if not (instance.data_directory and instance.bin_directory):
        return f"The data directory or the programs of {instance} are not known: enter them with the instance."
    return ""


def _not_dropped(system: System) -> str:
    if not system.driven_locally:
        return f"{system.instance} is driven from {system.driver}, another host: only the driver's caches are dropped."
    if not system.driver.facts.get("drop_caches"):
        return (
            f"The account on {system.driver} may not drop caches, as its last probe found. Allow it, then probe again."
        )
    return ""


def _not_installed(workload: Workload, system: System) -> str:
    """Say that the driver lacks the load generator's program; empty if it has it, or was never probed."""
    installed = system.driver.facts.get("tools")
    missing = [program for program in tools.get(workload.tool).on_path if installed and program not in installed]
    if not missing:
        return ""
    return (
        f"{missing[0]} is not installed on {system.driver}, as its last probe found. Install it there, where the "
        "account that BenchHub uses finds it, then probe again."
    )
