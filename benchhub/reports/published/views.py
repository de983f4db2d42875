"""Views of published reports: their printed figures, drawn again, and the recomputation of their numbers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from benchhub.reports.models import Snapshot
from benchhub.ui.csv_files import download

from . import page
from .files import Report, find, reports


def published(request: HttpRequest) -> HttpResponse:
    return render(request, "reports/published_list.html", {"reports": reports()})


def report(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a published report; `?csv=` answers with one of its tables instead."""
    published = find(slug)
    if key := request.GET.get("csv"):
        return _csv(published, key)
    snapshots = Snapshot.objects.filter(published=slug).for_list()
    return render(request, "reports/published.html", {"page": page.PublishedPage(published), "snapshots": snapshots})


def _csv(published: Report, key: str) -> HttpResponse:
    tables = page.all_tables(published)
    if key not in tables:
        return HttpResponse(f"There is no table of that name: ask for {', '.join(tables)}.", status=404)
    return download(f"{published.about['slug']}-{key}.csv", tables[key].csv())
