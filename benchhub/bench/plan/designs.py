"""Pages of designs: the presets that a plan may start from, and the parts of a design that was queued."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.models.states import FINAL
from benchhub.bench.queue import permits
from benchhub.celery import wake

from . import plan, presets, preview


def presets_shown(request: HttpRequest) -> HttpResponse:
    """GET shows the published methods and their translation; POST starts a plan from one of them."""
    if preset := presets.PRESETS.get(request.POST.get("preset", "")):
        permits.require_runner(request.user)
        presets.prepared(preset)
        return redirect(f"{reverse('experiment-new')}?preset={preset.name}")
    return render(request, "bench/presets.html", {"presets": presets.PRESETS.values()})


def design(request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(Design, pk=pk)
    rows: list[Any] = list(parts(shown))
    context = {
        "design": shown,
        "parts": rows,
        "preset": presets.PRESETS.get(shown.preset),
        "planned": sum(row.planned_count for row in rows),
        "ended": sum(row.ended_count for row in rows),
        "loads": sum(row.load_count for row in rows),
        "host_keys": {key for row in rows for key in row.host_keys},
        "load_s": sum(row.planned_count * row.duration_s for row in rows),
    }
    return render(request, "bench/design.html", context)


@require_POST
def design_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue all its parts once more, as a design of its own."""
    shown = get_object_or_404(Design.objects.filter(experiments__isnull=False).distinct(), pk=pk)
    for part in shown.experiments.all():
        permits.require_experiment(request.user, part)
        if retired := preview.retired_instances(part):
            messages.error(request, f"Not run again, because an instance of it is retired: {', '.join(retired)}.")
            return redirect("design", pk)
    copy = plan.design_again(shown, request.user)
    transaction.on_commit(wake)
    return redirect("design", copy.pk)


def parts(of: Design) -> QuerySet[Experiment, Experiment]:
    """The experiments of a design in their order, each with the numbers of its runs, in one query."""
    measuring = Q(runs__kind=Run.Kind.MEASURE)
    return (
        Experiment.objects.with_host_keys()
        .filter(design=of)
        .select_related("workload")
        .annotate(
            planned_count=Count("runs", filter=measuring),
            ended_count=Count("runs", filter=measuring & Q(runs__state__in=FINAL)),
            load_count=Count("runs", filter=Q(runs__kind=Run.Kind.LOAD)),
        )
        .order_by("pk")
    )
