from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from benchhub.bench.models import Experiment

from . import curves, exports, figures, prices, queries
from .progress import progress

PER_PAGE = 50


def home(request: HttpRequest) -> HttpResponse:
    page = Paginator(queries.experiments(), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "reports/home.html", {"page": page, "is_live": queries.runs_left()})


def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(queries.experiment(pk))
    return render(request, "reports/experiment.html", _experiment_context(shown, prices.terms(request.GET)))


def curve_csv(_request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(queries.experiment(pk))
    text = exports.curves_csv(curves.groups(queries.runs(shown), queries.systems(shown)))
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="experiment-{pk}-curve.csv"'
    return response


def _experiment_context(shown: Experiment, terms: prices.Terms) -> dict[str, Any]:
    runs, systems = queries.runs(shown), queries.systems(shown)
    known = queries.prices(system.hardware_id for system in systems)
    groups = curves.groups(runs, systems)
    return {
        "experiment": shown,
        "systems": systems,
        "runs": runs,
        "progress": progress(runs),
        "sections": [
            {
                "group": group,
                "figure_id": f"figure-{group.number}",
                "figure": figures.throughput_figure(group.curves),
                "prices": prices.table(group.curves, known, terms),
            }
            for group in groups
        ],
        "protocol_differences": _protocol_differences(groups),
    }


def _protocol_differences(groups: list[curves.Group]) -> list[str]:
    """Names of what keeps the experiment's systems apart; empty for one protocol, which is the rule."""
    if len(groups) < 2:
        return []
    return curves.differences(queries.protocol_forms(group.protocol_digest for group in groups))
