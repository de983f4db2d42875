"""Views of curves side by side. The address holds the state: curves, baseline and the terms of prices."""

from __future__ import annotations

import re

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from benchhub.bench.models import Comparability, Experiment
from benchhub.reports import models

from . import csv, declared, queries, tuning
from .comparison import Comparison
from .page import ComparisonPage
from .picking import PickingPage
from .state import State
from .tuning import TuningPage


def compare(request: HttpRequest, row: models.Comparison | None = None) -> HttpResponse:
    """Show a comparison. `?experiment=` takes all its curves; `pick` chooses among all; `go` leads to the plain
    address.

    `row` is the kept comparison whose page this is.
    """
    state = State.read(request.GET)
    if experiment := request.GET.get("experiment", ""):
        return _of_experiment(request, state, experiment)
    if "go" in request.GET and state.names:
        return redirect(f"{request.path}{state.address()}")
    if not state.names or "pick" in request.GET:
        return _pick(request, state, "Tick the curves to compare first." if "go" in request.GET else "")
    return _comparison(request, Comparison.load(state), row)


def _of_experiment(request: HttpRequest, state: State, pk: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, pk=int(pk) if re.fullmatch("[0-9]{1,18}", pk) else 0)
    keys = queries.of_experiment(experiment.pk)
    if not keys:
        note = f"'{experiment}' has no result, so there is nothing to compare. Choose other curves."
        return _pick(request, State.of_curves([]), note)
    names = [f"{experiment}-{system}" for experiment, system in keys]
    return redirect(f"{reverse('compare')}{state.address(curve=names)}")


def _pick(request: HttpRequest, state: State, note: str) -> HttpResponse:
    return render(request, "reports/compare_pick.html", {"page": PickingPage.load(request.GET, state, note)})


def _comparison(request: HttpRequest, comparison: Comparison, row: models.Comparison | None) -> HttpResponse:
    if not comparison.curves and not comparison.left_out and row is None:
        return _missing(request, comparison)
    if not comparison.is_comparable:
        return _refused(request, comparison, row)
    if (table := request.GET.get("csv")) and comparison.curves:
        return csv.response(table, comparison)
    return render(request, "reports/compare.html", {"page": ComparisonPage(comparison, row)})


def _missing(request: HttpRequest, comparison: Comparison) -> HttpResponse:
    """Answer to an address that names no curve of the warehouse."""
    return render(request, "reports/compare_missing.html", {"missing": comparison.missing}, status=404)


def _refused(request: HttpRequest, comparison: Comparison, row: models.Comparison | None) -> HttpResponse:
    """Show the refusal, and the form by which a person may declare the groups comparable all the same."""
    groups, form = comparison.groups, declared.DeclarationForm(request.POST or None)
    may_be_declared = declared.may_be_declared(groups) and request.user.has_perm("reports.change_comparison")
    if request.method == "POST" and may_be_declared and form.is_valid():
        declared.declare(groups, form.cleaned_data["reason"], request.user)
        return redirect(f"{reverse('compare')}{comparison.state.address()}")
    page = ComparisonPage(comparison, row, form if may_be_declared else None)
    return render(request, "reports/compare.html", {"page": page})


@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Withdraw a declaration: its curves are refused again, and the declaration stays on record."""
    row = get_object_or_404(Comparability.objects.standing(), pk=pk)
    declared.withdraw(row, request.user)
    messages.success(request, "The declaration is withdrawn: these protocols are not compared any more.")
    back = request.POST.get("back", "")
    is_own = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return redirect(back if is_own else reverse("compare"))


def steps(request: HttpRequest) -> HttpResponse:
    """Show a series of tuning steps: curves in their order, the first of them the baseline."""
    state = State.read(request.GET)
    if not state.names:
        return redirect("compare")
    comparison = Comparison.load(state)
    if not comparison.curves and not comparison.left_out:
        return _missing(request, comparison)
    page = TuningPage.load(comparison, request.GET)
    if request.GET.get("csv") and page.series:
        return tuning.csv_response(page.series)
    return render(request, "reports/steps.html", {"page": page})
