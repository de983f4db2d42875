"""PostgreSQL that BenchHub builds on a host: asked for, watched, cancelled and removed."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.catalog.models import Host, SourceBuild, SourceBuildLog
from benchhub.celery import wake
from benchhub.ui.acts import explain, explain_form
from benchhub.ui.pages import Crumb, FormPage, Question

from .form import SourceBuildForm
from .logs import log_file
from .page import USED, SourceBuildPage

INTRO = (
    "It is compiled on the host, below the work directory, by the account that BenchHub logs in with. Nothing "
    "is measured there meanwhile. The programs can then be chosen for clusters and instances."
)
NOT_ANEW = "This source with these options is built there already, or is under way: here it is."


def add(request: HttpRequest, pk: int, has_any_source: bool = False) -> HttpResponse:
    """Have a PostgreSQL built on a host; administrators also from other sources than PostgreSQL's own."""
    host = get_object_or_404(Host.objects.defer("private_key"), pk=pk)
    form = SourceBuildForm(request.POST or None, host=host, has_any_source=has_any_source)
    if request.method == "POST" and form.is_valid() and (build := form.saved()):
        explain_form(request, form)
        if not form.is_anew:
            messages.success(request, NOT_ANEW)
        transaction.on_commit(wake)
        return redirect("source-build", build.pk)
    page = FormPage(
        form=form,
        title=f"Build PostgreSQL on {host}",
        intro=INTRO,
        action="Build it",
        crumb=Crumb.to("host", host.name, pk),
    )
    return page.show(request, "catalog/source_build_form.html")


def source_build(request: HttpRequest, pk: int) -> HttpResponse:
    rows = SourceBuild.objects.select_related("host").defer("host__facts", "host__private_key")
    return render(request, "catalog/source_build.html", {"page": SourceBuildPage(get_object_or_404(rows, pk=pk))})


def source_build_log(_request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Answer with the log of an attempt as it is stored: always a download of plain text, whatever it holds."""
    return log_file(get_object_or_404(SourceBuildLog, build=pk, number=number))


@require_POST
def source_build_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """Have it built again, or cancel it."""
    row = get_object_or_404(SourceBuild.objects.for_table(), pk=pk)
    purpose = request.POST.get("purpose", "")
    acts = {"build": row.ask, "cancel": row.cancel}
    if purpose in acts and acts[purpose]():
        explain(request, f"{row}: {purpose}")
        transaction.on_commit(wake)
    else:
        messages.error(request, f"Nothing was done: it is {row.get_state_display()} by now.")
    return redirect("source-build", pk)


def source_build_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove its programs. GET asks, POST does; instances that use them keep it."""
    row = get_object_or_404(SourceBuild.objects.for_table(), pk=pk)
    crumb = Crumb.to("source-build", SourceBuildPage(row).title, pk)
    if user := row.users().first():
        messages.error(request, USED.format(user))
        return redirect(crumb.address)
    if request.method != "POST":
        consequence = (
            f"Its programs in {row.bin_directory} on {row.host} are deleted. Its log and what was measured with it "
            "stay, and it can be built again."
        )
        question = Question(
            title=f"Remove {crumb.title}?", consequence=consequence, action="Remove the build", crumb=crumb
        )
        return question.ask(request)
    if row.ask_to_remove():
        explain(request, f"{row}: {row.bin_directory}")
        transaction.on_commit(wake)
    else:
        messages.error(request, f"Nothing was removed: it is {row.get_state_display()}.")
    return redirect(crumb.address)
