"""The view of the price laboratory. The address holds all of it: the comparison, the axis and the handles."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchhub.analysis.words import listing
from benchhub.reports.comparison.state import State
from benchhub.ui.csv_files import download

from . import tables
from .page import LaboratoryPage


def laboratory(request: HttpRequest) -> HttpResponse:
    """Show the laboratory of a comparison; `?csv=` is one of its tables as a file."""
    if not State.read(request.GET).names:
        return redirect("compare")
    page = LaboratoryPage.load(request.GET)
    if not page.comparison.curves:
        return render(request, "reports/compare_missing.html", {"missing": page.comparison.missing}, status=404)
    if (name := request.GET.get("csv")) and not page.refusal:
        return _file(page, name)
    return render(request, "reports/laboratory.html", {"page": page})


def _file(page: LaboratoryPage, name: str) -> HttpResponse:
    if name not in tables.TABLES:
        sentence = f"There is no table of that name: ask for {listing(tables.TABLES, 'or')}."
        return HttpResponse(sentence, status=404, content_type="text/plain; charset=utf-8")
    return download(f"laboratory-{name}.csv", tables.panel(page.setup, name).csv())
