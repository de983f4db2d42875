"""/health and /metrics, for machines: with the token of METRICS_TOKEN, or for whoever has signed in."""

from __future__ import annotations

from dataclasses import asdict
from functools import wraps

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache

from benchhub.accounts.second_factor import required
from benchhub.ui.acts import explain_form
from benchhub.ui.findings import worst
from benchhub.ui.middleware import Handler

from . import doctor, vitals
from . import metrics as formats
from .archive_page import CHECK, LOOK, ArchivePage

REFUSED = "Send the token of METRICS_TOKEN as 'Authorization: Bearer ...', or sign in.\n"


def for_machines(view: Handler) -> Handler:
    """Guard a view for machines: they get 401 and one line instead of a page to sign in."""

    @login_not_required
    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if _is_allowed(request):
            return view(request)
        headers = {"WWW-Authenticate": 'Bearer realm="BenchHub"'}
        return HttpResponse(REFUSED, status=401, content_type="text/plain", headers=headers)

    return guarded


def _is_allowed(request: HttpRequest) -> bool:
    """Tell whether token or session allow it. The token comes first: it needs no warehouse, unlike a session."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return bool(settings.METRICS_TOKEN) and constant_time_compare(token.strip(), settings.METRICS_TOKEN)
    try:
        return request.user.is_authenticated and not required.is_missing(request.user)
    except DatabaseError:
        return False


@for_machines
def health(_request: HttpRequest) -> HttpResponse:
    """Answer 200 while nothing is bad, else 503, in the doctor's words, without asking workers or hosts."""
    findings = list(doctor.quick())
    status = worst(findings)
    checks = [asdict(finding) for finding in findings]
    return JsonResponse({"status": status, "checks": checks}, status=503 if status == "bad" else 200)


@never_cache
def standstill(request: HttpRequest) -> HttpResponse:
    """Answer with what every page shows while nobody works, and with nothing while somebody does."""
    sentence = vitals.standstill()
    if not sentence:
        return HttpResponse("")
    return render(request, "bench/standstill.html", {"sentence": sentence})


@for_machines
def metrics(_request: HttpRequest) -> HttpResponse:
    try:
        values = vitals.vitals()
    except DatabaseError:
        connection.close()
        values = None
    return HttpResponse(formats.text(values, vitals.broker_depth()), content_type=formats.CONTENT_TYPE)


def archive(request: HttpRequest) -> HttpResponse:
    """Show the archive; POST sets its rule, or looks what one would move, or checks files of the archive."""
    page = ArchivePage.load(request.POST if request.method == "POST" else None)
    is_question = bool({CHECK, LOOK} & request.POST.keys())
    if request.method == "POST" and not is_question and page.form.is_valid():
        page.form.save()
        explain_form(request, page.form)
        messages.success(request, "The rule is saved." if page.rule else "Nothing moves by itself from now on.")
        return redirect("archive")
    return render(request, "bench/archive.html", {"page": page})
