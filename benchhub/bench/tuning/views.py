from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.bench.models import TuningSeries
from benchhub.bench.plan.fields.rows import resized
from benchhub.celery import wake
from benchhub.ui.listing import row_number

from . import page
from .draft import SeriesDraft
from .form import DEFAULTS
from .page import NewSeriesPage
from .queue import queue


def series_new(request: HttpRequest) -> HttpResponse:
    """Plan a tuning series. Only the button 'Queue' queues it; what was typed is kept whatever was pressed."""
    if request.method != "POST":
        return _show(request, _initial_draft(request))
    if "add" in request.POST or "remove" in request.POST:
        values, steps = page.typed(request.POST)
        return _show(request, SeriesDraft(initial=values, steps=resized(steps, request.POST)))
    if "fill" in request.POST:
        return _show(request, _filled_draft(request))
    is_final = "queue" in request.POST
    draft = SeriesDraft(request.POST, needs_name=is_final, user=request.user)
    if is_final and draft.request:
        series = queue(draft.request, request.user)
        transaction.on_commit(wake)
        return redirect("tuning-series", series.pk)
    return _show(request, draft)


@require_POST
def series_plan(request: HttpRequest) -> HttpResponse:
    """Return the part of the page that shows what the form would queue; nothing is saved."""
    draft = SeriesDraft(request.POST, needs_name=False, user=request.user)
    return render(request, "tuning/plan_preview.html", {"page": NewSeriesPage(draft)})


def _initial_draft(request: HttpRequest) -> SeriesDraft:
    """Return the form to start from: empty, with ?instance=, or filled from ?like= (a series), ?baseline= (a place)."""
    if (pk := row_number(request.GET.get("like", ""))) is not None:
        series = get_object_or_404(TuningSeries.objects.select_related("experiment"), pk=pk)
        values, steps = page.like(series, row_number(request.GET.get("baseline", "")))
        return SeriesDraft(initial=values, steps=steps)
    return SeriesDraft(initial={**DEFAULTS, "instance": request.GET.get("instance", "")})


def _filled_draft(request: HttpRequest) -> SeriesDraft:
    """Return the form with the steps of the preset that was asked for, or as it was typed, with why it has not."""
    values, steps = page.typed(request.POST)
    draft = SeriesDraft(initial=values, steps=steps)
    try:
        values, steps = page.filled(values, request.POST["fill"], draft)
    except ValueError as error:
        draft.fill_problem = str(error)
        return draft
    return SeriesDraft(initial=values, steps=steps)


def _show(request: HttpRequest, draft: SeriesDraft) -> HttpResponse:
    return render(request, "tuning/new.html", {"page": NewSeriesPage(draft)})
