"""The page on which results that were measured elsewhere are pasted, looked at and stored."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchhub.accounts.policy import needs
from benchhub.accounts.rights import Role, is_at_least
from benchhub.analysis.words import count
from runners.tools.printed import printed_text

from . import store
from .lines import RejectedError
from .paste import ImportForm, ImportPage
from .workload_match import add, missing_workload


def results_import(request: HttpRequest) -> HttpResponse:
    """Show the form; POST reads it and shows what it holds, and with `save` stores that."""
    if request.method != "POST":
        return _shown(request, ImportPage(ImportForm(None, request.user)))
    if "add-workload" in request.POST:
        _add_workload(request)
    is_whole = "save" in request.POST
    page = ImportPage.read(request.POST, request.user, is_whole=is_whole)
    if not page.rows or not is_whole:
        return _shown(request, page)
    try:
        stored = store.store([page.form.as_run()], request.user)
    except RejectedError as error:
        page.refuse(error)
        return _shown(request, page)
    messages.success(request, f"{count(len(stored.runs), 'result')} imported.")
    return redirect("experiment", stored.experiments[0].pk)


def _add_workload(request: HttpRequest) -> None:
    """Put the workload that the output states into the catalogue, which is an administrator's to change."""
    if not is_at_least(request.user, Role.ADMINISTRATOR):
        raise PermissionDenied(needs(Role.ADMINISTRATOR))
    if workload := missing_workload(printed_text(request.POST.get("text", "").encode())):
        for sentence in add(workload):
            messages.error(request, sentence)


def _shown(request: HttpRequest, page: ImportPage) -> HttpResponse:
    return render(request, "bench/import.html", {"page": page})
