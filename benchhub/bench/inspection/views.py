"""The test of an instance."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.catalog.models import Inspection
from benchhub.celery import wake
from benchhub.ui.acts import explain

from .page import DriverForm, InspectionPage, testable


def instance_test(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what the last look at an instance saw."""
    instance = get_object_or_404(testable(), pk=pk)
    return _show(request, InspectionPage(instance, DriverForm(instance=instance, user=request.user)))


@require_POST
def ask(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a worker look at the instance from a host on which the person may run."""
    instance = get_object_or_404(testable(), pk=pk)
    form = DriverForm(request.POST, instance=instance, user=request.user)
    if not form.is_valid():
        return _show(request, InspectionPage(instance, form))
    Inspection.ask(instance, driver := form.cleaned_data["driver"])
    explain(request, f"{instance}, driven by {driver}")
    transaction.on_commit(wake)
    return redirect("instance-test", pk)


def _show(request: HttpRequest, page: InspectionPage) -> HttpResponse:
    return render(request, "bench/inspection.html", {"page": page})
