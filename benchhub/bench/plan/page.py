"""The pages of a plan that is made and of a design that was queued."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Q, QuerySet

from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.models.states import FINAL
from benchhub.bench.queue.forms.times import WINDOW

from . import presets, preview
from .form import Draft
from .questions import FREE
from .questions.question import Question

# Fields of a short form that stand outside of its fold, or in a fold of their own; and faults of no field.
SHORT = {"name", "workload", "levels", "repeats", "duration_s", "__all__", *WINDOW}
SEARCH = {"grows", "most_runs", "precision_percent", "ceiling_ms"}


def parts(design: Design) -> QuerySet[Experiment, Experiment]:
    """Return the experiments of a design in their order, each with the numbers of its runs, in one query."""
    measuring = Q(runs__kind=Run.Kind.MEASURE)
    return (
        Experiment.objects.with_host_keys()
        .filter(design=design)
        .select_related("workload")
        .annotate(
            planned_count=Count("runs", filter=measuring),
            ended_count=Count("runs", filter=measuring & Q(runs__state__in=FINAL)),
            load_count=Count("runs", filter=Q(runs__kind=Run.Kind.LOAD)),
        )
        .order_by("pk")
    )


@dataclass(frozen=True)
class DesignPage:
    """The page of a design: its parts in their order, and how far they are together."""

    design: Design

    @cached_property
    def parts(self) -> list[Any]:
        return list(parts(self.design))

    @property
    def preset(self) -> presets.Preset | None:
        return presets.PRESETS.get(self.design.preset)

    @property
    def planned_count(self) -> int:
        return sum(part.planned_count for part in self.parts)

    @property
    def ended_count(self) -> int:
        return sum(part.ended_count for part in self.parts)

    @property
    def load_count(self) -> int:
        return sum(part.load_count for part in self.parts)

    @property
    def load_s(self) -> int:
        """Return the seconds that all measuring runs put load on the server."""
        return sum(part.planned_count * part.duration_s for part in self.parts)

    @property
    def host_keys(self) -> set[int]:
        return {key for part in self.parts for key in part.host_keys}


@dataclass(frozen=True)
class PlanPage:
    """The form of an experiment, and what it would queue as it stands."""

    draft: Draft
    question: Question = FREE

    @property
    def has_folded_fault(self) -> bool:
        """Tell whether a field is wrong that a short form folds away."""
        unfolded = SHORT | (SEARCH if self.question.is_search else set())
        return bool(self.draft.plan.errors.keys() - unfolded)

    @cached_property
    def preview(self) -> preview.Preview | None:
        return preview.look(self.draft.plan_request) if self.draft.plan_request else None

    @property
    def preset(self) -> presets.Preset | None:
        return presets.PRESETS.get(str(self.draft.plan["preset"].value() or ""))
