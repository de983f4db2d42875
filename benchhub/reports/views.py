from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from benchhub.analysis.digest import labels
from benchhub.bench import growth_page
from benchhub.bench.models import Experiment, Run, System
from benchhub.catalog.listing import Column, Filter, Listing

from . import curves, exports, figures, home_page, latencies, notes, queries, runs_list, sweeps, verdicts
from .models import Tag
from .prices.queries import known
from .prices.table import table
from .prices.terms import terms
from .progress import progress

EXPERIMENT_COLUMNS = (
    Column("name", "Experiment", ("name",)),
    Column("state", "State"),
    Column("progress", "Progress", ("done_count", "run_count")),
    Column("workload", "Workload", ("workload__name",)),
    Column("systems", "Systems", ("system_labels",)),
    Column("created", "Created", ("created_at",)),
)
EXPERIMENT_FILTERS = (
    Filter(
        "state",
        "State",
        {
            "queued": ("queued", Q(waiting_count=F("run_count"))),
            "running": ("under way", Q(run_count__gt=F("ended_count"), waiting_count__lt=F("run_count"))),
            "ended": ("ended", Q(run_count=F("ended_count"))),
            "failed": ("with failed or lost runs", Q(bad_count__gt=0)),
        },
    ),
    Filter(
        "demonstration",
        "Demonstrations",
        {"without": ("left out", Q(is_demonstration=False)), "only": ("only these", Q(is_demonstration=True))},
    ),
)


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "reports/home.html", home_page.context())


def experiments(request: HttpRequest) -> HttpResponse:
    listing = Listing(
        request.GET,
        queries.experiments(),
        EXPERIMENT_COLUMNS,
        search=("name", "remark", "workload__name", "system_labels"),
        filters=EXPERIMENT_FILTERS,
        default="-created",
    )
    return render(request, "reports/experiments.html", {"listing": listing, "is_live": queries.runs_left()})


def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(queries.experiment(pk))
    return render(request, "reports/experiment.html", _experiment_context(shown, request.GET))


def curve_csv(_request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(queries.experiment(pk))
    systems = queries.systems(shown)
    swept = sweeps.sweeps(shown, systems)
    text = exports.experiment_csv(swept, _groups(list(queries.runs(shown)), systems))
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="experiment-{pk}-curve.csv"'
    return response


def _groups(runs: Sequence[Run], systems: Sequence[System]) -> list[curves.Group]:
    return curves.groups(runs, systems, latencies.of_runs(run.pk for run in runs if not run.rate_tps))


def _experiment_context(shown: Experiment, asked: QueryDict) -> dict[str, Any]:
    rows, systems = queries.runs(shown), queries.systems(shown)
    runs, asked_terms = list(verdicts.with_counts(rows)), terms(asked)
    priced_by = known((system.hardware for system in systems), (asked_terms.day, asked_terms.today))
    groups = _groups(runs, systems)
    swept = sweeps.sweeps(shown, systems)
    compared = asked.copy()
    compared["experiment"] = str(shown.pk)
    return {
        "experiment": shown,
        "tags": list(Tag.objects.filter(experiment=shown)),
        "systems": systems,
        "listing": runs_list.listing(asked, shown, rows, systems),
        "progress": progress(runs),
        "growth": growth_page.shown(shown, runs),
        "added": 0 if shown.grows else sum(run.kind == Run.Kind.MEASURE and run.repeat > shown.repeats for run in runs),
        "sweeps": swept,
        "sweep_figure": sweeps.throughput_figure(swept),
        "sweep_latency": sweeps.latency_figure(swept),
        "compare_address": f"{reverse('compare')}?{compared.urlencode()}",
        "sections": [
            {
                "group": group,
                "figure_id": f"figure-{group.number}",
                "figure": figures.throughput_figure(group.curves),
                "latency_id": f"latency-{group.number}",
                "latency": figures.latency_figure(group.curves),
                "kinds": curves.kinds(group.curves),
                "aside": sum(len(of.aside) for of in group.curves),
                "notes": notes.notes(group, runs),
                "prices": table(group.curves, priced_by, asked_terms),
            }
            for group in groups
        ],
        "protocol_differences": _protocol_differences(groups),
    }


def _protocol_differences(groups: list[curves.Group]) -> list[str]:
    """Names of what keeps the experiment's systems apart; empty for one protocol, which is the rule."""
    if len(groups) < 2:
        return []
    return labels(curves.differences(queries.protocol_forms(group.protocol_digest for group in groups)))
