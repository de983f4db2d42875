"""More repeats of an experiment, at levels that were chosen after its first results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Count, Max, Q

from benchhub.analysis.planning.design import in_turn
from benchhub.analysis.planning.levels import CLIENTS, RATES, spell
from benchhub.analysis.planning.levels import parse as parse_levels
from benchhub.analysis.words import count
from benchhub.bench.models import Experiment, Protocol, Run, RunQuerySet, System
from benchhub.bench.models.levels import MOST_REPEATS
from benchhub.bench.models.states import FINAL, State
from benchhub.bench.plan import specs
from benchhub.bench.queue import exclusive

from . import plan
from .fields import size
from .fields.designs import tried

MOST = 50
INTRO = (
    "Each system gets them at each of these levels where it has runs. They count together with those that are there, "
    f"{MOST_REPEATS} at a level at most: choose levels by how wide their intervals are, not by which result should be "
    "another."
)


class RepeatsForm(forms.Form):
    levels = forms.CharField(max_length=400, label="Client levels", help_text="Of those that the experiment has.")
    repeats = forms.IntegerField(min_value=1, max_value=MOST, label="More repeats of each", initial=2)

    def __init__(self, *args: Any, experiment: Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.experiment, self.experiment_levels = experiment, experiment.levels
        self.kind = RATES if experiment.rates_tps else CLIENTS
        if experiment.rates_tps:
            self.fields["levels"].label = "Offered rates, TPS"
        self.initial.setdefault("levels", spell(self.experiment_levels))

    def clean_levels(self) -> list[int]:
        levels: list[int] = tried(lambda: parse_levels(self.cleaned_data["levels"], self.kind))
        if others := [level for level in levels if level not in self.experiment_levels]:
            raise forms.ValidationError(f"{spell(others)} is no level of it: it has {spell(self.experiment_levels)}.")
        return levels

    def clean(self) -> dict[str, Any]:
        """Refuse more runs than a plan may have, and more than a level is made of, with those that are there."""
        values = super().clean() or self.cleaned_data
        if not self.errors:
            new_runs = len(values["levels"]) * values["repeats"] * self.experiment.experimentsystem_set.count()
            measuring = self.experiment.runs.filter(kind=Run.Kind.MEASURE)
            repeats = _level_repeats(measuring, "rate_tps" if self.experiment.rates_tps else "clients")
            too_many = _refusal({level: repeats.get(level, 0) for level in values["levels"]}, values["repeats"])
            if sentence := size.run_refusal(measuring.count() + new_runs) or too_many:
                self.add_error("repeats", sentence)
        return values


def _level_repeats(measuring: RunQuerySet, level: str) -> dict[int, int]:
    """Return by level the repeats that there are and will be, of the system with the most under one protocol."""
    counting = measuring.filter(~Q(state__in=FINAL) | Q(state=State.SUCCEEDED), set_aside_at=None)
    rows = counting.order_by().values_list("system", "protocol", level).annotate(Count("pk"))
    repeats: dict[int, int] = {}
    for *_, value, number in rows:
        repeats[value] = max(number, repeats.get(value, 0))
    return repeats


def _refusal(repeats: Mapping[int, int], more: int) -> str:
    """Say at which level so many more would leave older repeats out of every figure; empty if they do at none."""
    level, most = max(repeats.items(), key=itemgetter(1))
    room = MOST_REPEATS - most
    if more <= room:
        return ""
    remedy = f"add at most {room} there" if room > 0 else "choose other levels, or plan an experiment like it"
    return f"Level {level:,} has {count(most, 'repeat')}, and of a level the newest {MOST_REPEATS} count: {remedy}."


@transaction.atomic
def add(experiment: Experiment, levels: Sequence[int], repeats: int) -> list[Run]:
    """Queue so many more runs at each of the levels, of each system that has runs there; returns all that were queued.

    They come after all others of the experiment. A data set that is no longer there is loaded first. Raises
    OverlapError where the experiment keeps others out, and another has got its hosts since it ended.
    """
    exclusive.claim_again([experiment.pk])
    experiment = Experiment.objects.select_for_update().get(pk=experiment.pk)
    systems = {row.system_id: row.system for row in experiment.experimentsystem_set.select_related("system__instance")}
    steps = _steps(experiment, systems, levels, repeats)
    missing = plan.without_data_set(experiment, list(dict.fromkeys(step.system for step in steps)))
    last = experiment.runs.aggregate(last=Max("position"))["last"] or 0
    protocols = {key: Protocol.stored(specs.protocol_form(experiment, system)) for key, system in systems.items()}
    # Loads that belong to no level are counted by their repeat.
    loads = experiment.runs.filter(kind=Run.Kind.LOAD, clients=0)
    counts = {system: loads.filter(system=system).count() for system in missing}
    load_steps = [plan.Step(system, repeat=count, kind=Run.Kind.LOAD) for system, count in counts.items()]
    rows = enumerate([*load_steps, *steps], start=last + 1)
    return plan.save_runs(
        [plan.run_of(experiment, step, protocols[step.system.pk], position) for position, step in rows]
    )


def _steps(experiment: Experiment, systems: dict[int, System], levels: Sequence[int], repeats: int) -> list[plan.Step]:
    """Return the steps in the order of a blocked plan, of the systems that have runs at each level."""
    level = "rate_tps" if experiment.rates_tps else "clients"
    measuring = experiment.runs.filter(**{"kind": Run.Kind.MEASURE, f"{level}__in": levels}).order_by()
    rows = measuring.values_list("system", level).annotate(last=Max("repeat"))
    last_repeats = {(system, value): last for system, value, last in rows}
    last_repeat = max(last_repeats.values(), default=0)
    places = {system: place for place, system in enumerate(systems)}
    steps = []
    for number, value in product(range(1, repeats + 1), levels):
        for system in sorted(systems, key=lambda key: in_turn(places[key], last_repeat + number)):
            if (system, value) in last_repeats:
                steps += _with_load(experiment, systems[system], value, last_repeats[system, value] + number)
    return steps


def _with_load(experiment: Experiment, system: System, value: int, repeat: int) -> list[plan.Step]:
    step = plan.step_at(experiment, system, value, repeat)
    is_loaded_each_time = experiment.loading == Experiment.Loading.EACH
    return [*([step._replace(kind=Run.Kind.LOAD)] if is_loaded_each_time else []), step]
