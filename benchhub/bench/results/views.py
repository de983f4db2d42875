"""The page on which results that were measured elsewhere are pasted, looked at and stored."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchhub.analysis.words import count

from . import import_store
from .import_check import RejectedError
from .paste import ImportForm, ImportPage


def results_import(request: HttpRequest) -> HttpResponse:
    """Show the form; POST reads it and shows what it holds, and with `save` stores that."""
    if request.method != "POST":
        return _shown(request, ImportPage(ImportForm(None, request.user)))
    is_whole = "save" in request.POST
    page = ImportPage.read(request.POST, request.user, is_whole=is_whole)
    if not page.rows or not is_whole:
        return _shown(request, page)
    try:
        stored = import_store.store([page.form.as_run()], request.user)
    except RejectedError as error:
        page.refuse(error)
        return _shown(request, page)
    messages.success(request, f"{count(len(stored.runs), 'result')} imported.")
    return redirect("experiment", stored.experiments[0].pk)


def _shown(request: HttpRequest, page: ImportPage) -> HttpResponse:
    return render(request, "bench/import.html", {"page": page})
