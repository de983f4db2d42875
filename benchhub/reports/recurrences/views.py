"""The view of a plan that recurs. Its form and its buttons are in `bench/additions/`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchhub.bench.models import Experiment, Recurrence
from benchhub.ui.csv_files import download

from .page import RecurrencePage


def recurrence(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a rule has queued; an experiment without one leads to the form."""
    experiment = get_object_or_404(Experiment.objects.with_host_keys(), pk=pk)
    row = Recurrence.objects.filter(plan=experiment).select_related("created_by").first()
    if row is None:
        return redirect("recurrence-edit", pk)
    page = RecurrencePage(experiment, row)
    if request.GET.get("csv") == page.trend.name:
        return download(f"recurrence-{pk}-{page.trend.name}.csv", page.trend.csv())
    return render(request, "reports/recurrence.html", {"page": page})
