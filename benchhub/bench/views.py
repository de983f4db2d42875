from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_list_or_404, get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST

from benchhub.celery import wake

from . import plan, run_page
from .models import Experiment


def run(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "bench/run.html", run_page.context(get_object_or_404(run_page.run(pk))))


@require_POST
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue an experiment once more; its first run starts as soon as its host is free."""
    copy = plan.again(get_object_or_404(Experiment, pk=pk), request.user)
    transaction.on_commit(wake)
    return redirect("experiment", copy.pk)


def evidence(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """A file as it came from the target: always a download of plain text, whatever it holds."""
    attempt = request.GET.get("attempt", "")
    files = run_page.evidence_file(pk, name, int(attempt) if attempt.isdecimal() else None)
    file = get_list_or_404(files[:1])[0]
    response = HttpResponse(bytes(file.content), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"run-{pk}-{name.replace('/', '-')}") or ""
    response["X-Content-Type-Options"] = "nosniff"
    return response
