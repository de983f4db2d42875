from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchhub.bench.models import TuningSeries
from benchhub.ui.csv_files import download
from benchhub.ui.listing import Column, Filter, Listing

from . import csv, exports, queries
from .page import SeriesPage
from .series import Series

COLUMNS = (
    Column("name", "Series", ("name",)),
    Column("kind", "Steps", ("step_count",)),
    Column("progress", "Progress", ("ended_count", "planned_count")),
    Column("workload", "Workload", ("experiment__workload__name",)),
    Column("instance", "Instance", ("instance__name",)),
    Column("created", "Created", ("created_at",)),
)

KINDS = Filter("kind", "Steps", {str(kind): (str(kind.label), Q(kind=kind)) for kind in TuningSeries.Kind})


def series_list(request: HttpRequest) -> HttpResponse:
    search = ("name", "remark", "instance__name", "experiment__workload__name")
    listing = Listing(request.GET, queries.all_series(), COLUMNS, search=search, filters=(KINDS,), default="-created")
    return render(request, "tuning/list.html", {"listing": listing})


def series(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a series: the best configuration, the effect of each step, and the settings to take away."""
    page = SeriesPage.load(get_object_or_404(queries.series(), pk=pk))
    return render(request, "tuning/series.html", {"page": page})


def series_csv(_request: HttpRequest, pk: int, table: str) -> HttpResponse:
    if table not in csv.TABLES:
        raise Http404
    row = get_object_or_404(queries.series(), pk=pk)
    return download(f"tuning-{pk}-{table}.csv", csv.text(Series.load(row), table))


def series_settings(request: HttpRequest, pk: int, place: int, name: str) -> HttpResponse:
    """Send the settings of a treatment as a file."""
    loaded = Series.load(get_object_or_404(queries.series(), pk=pk))
    if name not in exports.KINDS or place >= len(loaded.treatments):
        raise Http404
    export = exports.export(loaded.treatments[place], loaded.row.name, name)
    if export.refusal:
        messages.error(request, f"{name} cannot be written: {export.refusal}")
        return redirect("tuning-series", pk)
    response = HttpResponse(export.text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="tuning-{pk}-{place}-{name}"'
    return response
