"""The form and the buttons of plans that recur; their page is in `reports/recurrences/`."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from benchhub.bench.models import Experiment, Recurrence
from benchhub.bench.queue import permits
from benchhub.bench.queue.exclusive import OverlapError
from benchhub.ui.pages import Crumb, FormPage

from . import recurring
from .form import INTRO, RecurrenceForm


def recurrence_edit(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = get_object_or_404(Experiment, pk=pk)
    permits.require_experiment(request.user, experiment)
    form = RecurrenceForm(request.POST or None, experiment=experiment, initial=_initial(experiment))
    if request.method == "POST" and form.is_valid() and form.saved(request.user):
        return redirect("recurrence", pk)
    crumb = Crumb.to("experiment", experiment.name, pk)
    return FormPage(form=form, title=f"Run {experiment.name} again by a rule", intro=INTRO, crumb=crumb).show(request)


def _initial(experiment: Experiment) -> dict[str, Any]:
    rule = Recurrence.objects.filter(plan=experiment).values("weekdays", "starts_at", "until", "zone").first()
    return dict(rule or {})


@require_POST
def recurrence_pause(request: HttpRequest, pk: int) -> HttpResponse:
    _permitted(request, pk).pause(f"Paused by {request.user}.")
    return redirect("recurrence", pk)


@require_POST
def recurrence_resume(request: HttpRequest, pk: int) -> HttpResponse:
    recurrence = _permitted(request, pk)
    try:
        recurring.go_on(recurrence)
    except OverlapError as error:
        messages.error(request, f"It stays paused. {error}")
    return redirect("recurrence", pk)


@require_POST
def recurrence_end(request: HttpRequest, pk: int) -> HttpResponse:
    _permitted(request, pk).end()
    return redirect("recurrence", pk)


def _permitted(request: HttpRequest, pk: int) -> Recurrence:
    row = Recurrence.objects.filter(plan=pk).select_related("plan").first()
    if row is None:
        raise Http404
    permits.require_experiment(request.user, row.plan)
    return row
