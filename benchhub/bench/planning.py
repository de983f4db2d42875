"""A plan before it is queued: what will be run, how long it will take, and what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.http import QueryDict

from benchhub.catalog.models import PgBuild
from runners import tools

from . import plan
from .forms import Asked, PlanForm, SystemForm
from .forms_policy import POLICY
from .models import Experiment, Run, System
from .planning_doubts import doubts
from .progress import STEPS_GUESS_S
from .states import FINAL, State

RECENT = 50
DEFAULTS = {
    "levels": "1, 2, 4, 8",
    "repeats": 3,
    "duration_s": 60,
    "warmup_s": 10,
    "rest_s": 0,
    "thread_rule": "clients",
    "priority": 0,
    "failure_policy": Experiment.FailurePolicy.CONTINUE,
    "failure_limit": 3,
    "attempts_if_lost": 2,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Runs that belong together in the order: the loads of data sets (repeat 0), or one repeat."""

    repeat: int
    systems: tuple[System, ...]
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """`ahead` runs on the same hosts come first; `wait_s` is what they ask for."""

    asked: Asked
    run_count: int
    load_count: int
    total_s: float
    blocks: tuple[Block, ...]
    ahead: int
    wait_s: float
    doubts: tuple[str, ...]


def look(asked: Asked) -> Preview:
    to_load = plan.without_data_set(asked.experiment, asked.systems)
    steps = list(plan.steps(asked.experiment, asked.systems, to_load))
    ahead, wait_s = _ahead(asked.systems)
    return Preview(
        asked=asked,
        run_count=len(steps),
        load_count=len(to_load),
        total_s=_total_s(asked, len(steps) - len(to_load), len(to_load)),
        blocks=_blocks(steps),
        ahead=ahead,
        wait_s=wait_s,
        doubts=tuple(dict.fromkeys(doubts(asked))),
    )


def _blocks(steps: Sequence[plan.Step]) -> tuple[Block, ...]:
    blocks = []
    for repeat, group in groupby(steps, key=lambda step: step.repeat):
        rows = list(group)
        systems = {row.system.digest: row.system for row in rows}
        blocks.append(Block(repeat, tuple(systems.values()), tuple(dict.fromkeys(row.clients for row in rows))))
    return tuple(blocks)


def _total_s(asked: Asked, measuring: int, loading: int) -> float:
    """One run after the other, by what runs on these drivers and loads into these instances took before."""
    of = asked.experiment
    each_s = of.duration_s + of.warmup_s + of.rest_s + _extra_s(asked.systems)
    return measuring * each_s + loading * _load_s(asked)


def _extra_s(systems: Sequence[System]) -> float:
    """What a run takes beside its load: vacuum, checkpoint, counters, collecting."""
    ended = _ended(Run.Kind.MEASURE).filter(system__driver__in={system.driver_id for system in systems})
    taken = ended.values_list("started_at", "ended_at", "expected_s")[:RECENT]
    return (
        max(0.0, fmean((end - start).total_seconds() - asked for start, end, asked in taken))
        if taken
        else STEPS_GUESS_S
    )


def _load_s(asked: Asked) -> float:
    """Seconds that a data set of this size takes to load, in proportion to those that the tool loaded before."""
    workload = asked.experiment.workload
    tool = tools.get(workload.tool)
    ended = _ended(Run.Kind.LOAD).filter(system__instance__in={system.instance_id for system in asked.systems})
    taken = ended.filter(spec__tool=tool.name).values_list("started_at", "ended_at", "spec__parameters")[:RECENT]
    slower = [(end - start).total_seconds() / tool.load_guess_s(of) for start, end, of in taken]
    return tool.load_guess_s(workload.parameters) * fmean(slower) if slower else plan.load_guess_s(workload)


def _ended(kind: str) -> Any:
    known = Run.objects.filter(kind=kind, state=State.SUCCEEDED, started_at__isnull=False, ended_at__isnull=False)
    return known.order_by("-pk")


def _ahead(systems: Sequence[System]) -> tuple[int, float]:
    hosts = {key for system in systems for key in (system.driver_id, system.instance.host_id) if key}
    same = Q(system__driver__in=hosts) | Q(system__instance__host__in=hosts)
    waiting = Run.objects.exclude(state__in=FINAL).filter(same)
    found = waiting.aggregate(count=Count("pk"), wait_s=Sum("expected_s"))
    return found["count"], found["wait_s"] or 0.0


@transaction.atomic
def queue(asked: Asked, user: Any) -> Experiment:
    """Save what was asked for and put its runs into the queue; returns the experiment."""
    experiment = asked.experiment
    experiment.client_build = PgBuild.from_facts(asked.client)
    experiment.created_by = user
    plan.queue(experiment, [_saved(system) for system in asked.systems])
    return experiment


def _saved(asked: System) -> System:
    return plan.system_under_test(
        asked.instance, driver=asked.driver, hardware=asked.hardware, path=asked.path, label=asked.label
    )


# --- what a form starts from -----------------------------------------------------------------------------------


def like(experiment: Experiment) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The form's values, and its systems', of a plan that is like an experiment's."""
    same = ("name", "remark", "repeats", "duration_s", "warmup_s", "rest_s", "thread_rule", "vacuum", "checkpoint")
    values = {name: getattr(experiment, name) for name in (*same, *POLICY)}
    values |= {
        "workload": experiment.workload_id,
        "client": experiment.client_bin_directory,
        "levels": ", ".join(map(str, experiment.client_levels)),
    }
    rows = experiment.experimentsystem_set.select_related("system")
    return values, [_system_values(row.system) for row in rows]


def retired_instances(experiment: Experiment) -> list[str]:
    """Names of the instances of its systems that no plan offers any more."""
    retired = experiment.systems.filter(instance__retired_at__isnull=False)
    return list(retired.order_by("instance__name").values_list("instance__name", flat=True).distinct())


def _system_values(system: System) -> dict[str, Any]:
    return {
        "instance": system.instance_id,
        "hardware": system.hardware_id,
        "driver": system.driver_id,
        "path": system.path,
        "label": system.label,
    }


def typed(data: QueryDict) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The form's values, and its systems', as they were typed: whatever they are, nothing is checked."""
    values = {name: data.get(name, "") for name in (*PlanForm.base_fields, "workload", "client")}
    names = (*SystemForm.base_fields, "instance", "hardware", "driver")
    total = data.get("systems-TOTAL_FORMS", "")
    count = min(int(total), 50) if total.isdecimal() else 1
    return values, [{name: data.get(f"systems-{i}-{name}", "") for name in names} for i in range(count)]


def resized(systems: Sequence[Mapping[str, Any]], data: QueryDict) -> list[Mapping[str, Any]]:
    """One system more at the end, or without the one whose number is in `remove`."""
    removed = data.get("remove", "")
    if removed.isdecimal():
        return [row for number, row in enumerate(systems) if number != int(removed)] or [{}]
    return [*systems, {}]
