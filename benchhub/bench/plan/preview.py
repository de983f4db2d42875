"""A plan before it is queued: its runs, the time it takes, and its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.http import QueryDict

from benchhub.analysis.planning.levels import spell
from benchhub.bench.models import Design, Experiment, Run, System
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.queue import exclusive, timetable
from benchhub.bench.queue.forms.policy import POLICY
from benchhub.bench.queue.forms.times import window_values
from benchhub.bench.queue.progress import counted
from benchhub.catalog.instances.grants import changes
from benchhub.catalog.models import Instance, PgBuild

from . import costs as plan_costs
from . import growth, plan
from .costs import Costs
from .fields import designs, growing, size
from .fields.rows import typed_rows
from .fields.systems import SystemForm
from .form import PlanForm, PlanRequest
from .warnings import warnings

SPELLED_OUT = 12
MOST_TYPED = 50  # systems
AT_RANDOM = (Experiment.Order.SHUFFLED, Experiment.Order.RANDOM)
ORDER_WORDS: dict[str, str] = {
    Experiment.Order.BLOCKED: "at each level",
    Experiment.Order.LISTED: "first all of",
}
DEFAULTS = {
    "levels": "1, 2, 4, 8",
    "repeats": 3,
    "duration_s": 60,
    "warmup_s": 10,
    "rest_s": 0,
    "thread_rule": "clients",
    "priority": 0,
    "data_set_policy": Experiment.DataSetPolicy.WAIT,
    "failure_policy": Experiment.FailurePolicy.CONTINUE,
    "failure_limit": 3,
    "attempts_if_lost": 2,
    **designs.DEFAULTS,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Runs that belong together in the order: loads, warm-ups, the canary, one repeat, or all of them (repeat 0)."""

    repeat: int
    systems: tuple[System, ...]
    levels: tuple[int, ...]
    kind: str = Run.Kind.MEASURE
    is_canary: bool = False
    how: str = "at each level"
    is_at_random: bool = False
    in_a_row: int = 1

    @property
    def spelled(self) -> str:
        levels = sorted(self.levels) if self.is_at_random else self.levels
        return spell(sorted(levels)) if len(levels) > SPELLED_OUT else ", ".join(map(str, levels))


@dataclass(frozen=True, slots=True)
class Preview:
    """`steps_in_order` are the runs one by one where their order is drawn by a seed.

    `ahead` runs of any kind on the same hosts come first; `wait_s` is what they ask for.
    """

    plan_request: PlanRequest
    run_count: int
    load_count: int
    total_s: float
    blocks: tuple[Block, ...]
    steps_in_order: tuple[plan.Step, ...]
    ahead: int
    ahead_words: str
    wait_s: float
    warnings: tuple[str, ...]
    costs: Costs
    parts: tuple[Part, ...]

    @property
    def times_text(self) -> str:
        """Say when its runs may begin, and whether nobody else's may then; empty where that is at any time."""
        window = self.plan_request.window
        alone = ", and nobody else's on its hosts" if self.plan_request.experiment.is_exclusive else ""
        return f"Its runs begin only on {window}{alone}." if window else ""

    @property
    def os_changes(self) -> list[str]:
        """Return what each run changes of its host's operating system, and what it puts back, as sentences."""
        systems = [system for system in self.plan_request.systems if system.configuration.os_settings]
        return [
            f"{system.instance.host}, for {system.label}: {_assignments(system.configuration.os_settings)}."
            for system in systems
            if system.instance.own_cluster
        ]

    @property
    def server_changes(self) -> list[str]:
        """Return what each run changes of somebody's server, and puts back, as sentences."""
        return [text for system in self.plan_request.systems if (text := _server_change(system))]


def _server_change(system: System) -> str:
    instance = system.instance
    if instance.own_cluster or instance.grant == Instance.Grant.NONE:
        return ""
    restart = "a restart before each run" if instance.restart_words and system.driven_locally else ""
    change = _assignments(changes(instance, system.configuration))
    parts = [part for part in (change, restart) if part]
    return f"{instance}, for {system.label}: {'; '.join(parts)}." if parts else ""


@dataclass(frozen=True, slots=True)
class Part:
    """An experiment of a design, with its own runs and loads of data sets."""

    experiment: Experiment
    run_count: int
    load_count: int


def look(plan_request: PlanRequest) -> Preview:
    """Return what the plan would queue; nothing is saved.

    `blocks` come from the first part: the others differ in what is run, not in its order.
    """
    to_load = plan.loads(plan_request.parts, plan_request.systems)
    certain = [
        list(plan.steps(part, plan_request.systems, missing))
        for part, missing in zip(plan_request.parts, to_load, strict=True)
    ]
    steps = [
        [*part_steps, *growth.most(part, plan_request.systems)]
        for part, part_steps in zip(plan_request.parts, certain, strict=True)
    ]
    is_drawn = plan_request.experiment.order in AT_RANDOM
    ahead, wait_s = _ahead(plan_request.systems)
    costs = plan_costs.costs(plan_request.parts, plan_request.systems, steps)
    return Preview(
        plan_request=plan_request,
        run_count=sum(map(len, steps)),
        load_count=costs.loads,
        total_s=costs.total_s,
        blocks=_blocks(certain[0], plan_request.experiment),
        steps_in_order=tuple(step for step in certain[0] if is_drawn and step.kind == Run.Kind.MEASURE),
        ahead=sum(ahead.values()),
        ahead_words=counted(ahead),
        wait_s=wait_s,
        warnings=tuple(dict.fromkeys(warnings(plan_request, to_load))),
        costs=costs,
        parts=tuple(_part(part, part_steps) for part, part_steps in zip(plan_request.parts, steps, strict=True)),
    )


def _assignments(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _part(experiment: Experiment, steps: Sequence[plan.Step]) -> Part:
    counts = Counter(step.kind for step in steps)
    return Part(experiment, counts[Run.Kind.MEASURE], counts[Run.Kind.LOAD])


def _blocks(steps: Sequence[plan.Step], experiment: Experiment) -> tuple[Block, ...]:
    """Group the steps into blocks. Loads before each run are no blocks: they only count among the plan's costs."""
    block_steps = [step for step in steps if step.kind != Run.Kind.LOAD or step.repeat == 0]
    groups = groupby(block_steps, key=lambda step: _block_key(step, experiment.order))
    return tuple(_block(list(group), experiment) for _, group in groups)


def _block_key(step: plan.Step, order: str) -> tuple[Any, ...]:
    in_repeats = order in (Experiment.Order.BLOCKED, Experiment.Order.SHUFFLED)
    is_measuring = step.kind == Run.Kind.MEASURE
    return step.kind, step.is_canary, step.repeat if in_repeats and is_measuring and not step.is_canary else 0


def _block(steps: Sequence[plan.Step], experiment: Experiment) -> Block:
    systems = tuple({step.system.digest: step.system for step in steps}.values())
    kind, is_canary, repeat = _block_key(steps[0], experiment.order)
    return Block(
        repeat,
        systems,
        tuple(dict.fromkeys(step.rate_tps or step.clients for step in steps)),
        kind,
        is_canary,
        ORDER_WORDS.get(experiment.order, ""),
        is_at_random=experiment.order in AT_RANDOM,
        in_a_row=experiment.repeats if experiment.order == Experiment.Order.LISTED else 1,
    )


def _ahead(systems: Sequence[System]) -> tuple[Mapping[str, int], float]:
    """Return the unfinished runs on the same hosts, counted by kind, and the seconds of load that they ask for."""
    hosts = {key for system in systems for key in (system.driver_id, system.instance.host_id) if key}
    on_hosts = Q(system__driver__in=hosts) | Q(system__instance__host__in=hosts)
    runs = Run.objects.unfinished().filter(on_hosts)
    rows = list(runs.order_by().values_list("kind").annotate(count=Count("pk"), wait_s=Sum("expected_s")))
    return {kind: count for kind, count, _ in rows}, float(sum(wait_s for _, _, wait_s in rows))


@transaction.atomic
def queue(plan_request: PlanRequest, user: Any) -> Experiment:
    """Save the plan and put its runs into the queue; returns its (first) experiment."""
    systems = [_save_system(system) for system in plan_request.systems]
    client, remark, design = PgBuild.from_facts(plan_request.client), plan_request.experiment.remark, None
    if len(plan_request.parts) > 1:
        design = Design.objects.create(
            name=plan_request.name, remark=remark, created_by=user, preset=plan_request.preset
        )
    for part, to_load in zip(plan_request.parts, plan.loads(plan_request.parts, systems), strict=True):
        part.client_build, part.created_by, part.design = client, user, design
        part.workload = designs.saved_workload(part.workload)
        plan.queue(part, systems, to_load)
        if plan_request.window:
            timetable.confine(part, plan_request.window)
        if part.is_exclusive:
            exclusive.claim(part)
    return plan_request.experiment


def _save_system(system: System) -> System:
    return system_under_test(
        system.instance,
        driver=system.driver,
        hardware=system.hardware,
        path=system.path,
        label=system.label,
        configuration=system.configuration,
    )


# --- what a form starts from -----------------------------------------------------------------------------------


def like(experiment: Experiment) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values, and those of its systems, for a plan like the experiment's."""
    names = ("name", "remark", "repeats", "duration_s", "warmup_s", "rest_s", "thread_rule", "vacuum", "checkpoint")
    values = {name: getattr(experiment, name) for name in (*names, *POLICY, *designs.SAME)}
    values |= {
        "workload": experiment.workload_id,
        "client": experiment.client_bin_directory,
        "levels": spell(experiment.client_levels),
        "rates": spell(experiment.rates_tps),
        "latency_limit_ms": f"{experiment.latency_limit_ms:g}" if experiment.rates_tps else "",
        "canary": bool(experiment.canary),
        "kept_only": "\n".join(experiment.kept_only),
        "left_out": "\n".join(experiment.left_out),
        **growing.initial(experiment),
        **window_values(experiment),
    }
    rows = experiment.experimentsystem_set.select_related("system__instance__cluster")
    return values, [_system_values(row.system) for row in rows]


def retired_instances(experiment: Experiment) -> list[str]:
    """Return the names of the experiment's instances that no plan offers any more."""
    retired = experiment.systems.filter(instance__retired_at__isnull=False)
    return list(retired.order_by("instance__name").values_list("instance__name", flat=True).distinct())


def again_refusal(parts: Sequence[Experiment], relatives: Collection[str] = ()) -> str:
    """Say why these parts of a plan cannot be queued once more as they are; empty if they can.

    `relatives` are those whose exclusive periods may overlap with those of the copies, as of exclusive.family().
    """
    for part in parts:
        if part.is_exclusive and (sentence := exclusive.copy_refusal(part, relatives)):
            return sentence
    retired = sorted({name for part in parts for name in retired_instances(part)})
    if retired:
        return f"An instance of it is retired: {', '.join(retired)}."
    return size.refusal(parts, parts[0].systems.count())


def _system_values(system: System) -> dict[str, Any]:
    return {
        "instance": system.instance_id,
        "configuration": system.configuration_id if system.instance.is_configurable else "",
        "hardware": system.hardware_id,
        "driver": system.driver_id,
        "path": system.path,
        "label": system.label,
    }


def typed(data: QueryDict) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form's values, and those of its systems, as they were typed. Nothing is checked."""
    values: dict[str, Any] = {name: data.get(name, "") for name in (*PlanForm.base_fields, "workload", "client")}
    values |= {name: data.getlist(name) for name in ("more_workloads", "window_days")}
    values["window_zone"] = data.get("window_zone", "UTC")
    names = (*SystemForm.base_fields, "instance", "configuration", "hardware", "driver")
    return values, typed_rows(data, "systems", names, MOST_TYPED)
