"""The view of a design. The address holds which dimensions are rows and columns."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from benchhub.bench.models import Design
from benchhub.ui.csv_files import download

from .page import DesignResultPage


def design(request: HttpRequest, pk: int) -> HttpResponse:
    page = DesignResultPage(get_object_or_404(Design, pk=pk), request.GET)
    if name := request.GET.get("csv"):
        return _csv(page, name)
    return render(request, "reports/design.html", {"page": page})


def _csv(page: DesignResultPage, name: str) -> HttpResponse:
    table = page.table(name)
    if table is None:
        raise Http404("The design has no table of that name.")
    return download(f"design-{page.design.pk}-{table.name}.csv", table.csv())
