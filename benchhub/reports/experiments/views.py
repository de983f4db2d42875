from __future__ import annotations

from functools import partial

from django.contrib.auth.decorators import permission_required
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string

from benchhub.accounts.rights import Hosts
from benchhub.bench.models import Experiment
from benchhub.bench.queue import permits
from benchhub.reports.curves import csv as curves_csv
from benchhub.reports.curves import sweeps
from benchhub.reports.models import Tag
from benchhub.ui.csv_files import download
from benchhub.ui.feeds import answer, drawn, is_unchanged, refreshed
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage

from . import live, page, queries
from .tags import TagsForm, replace

# As for curves, an order without an index is not offered.
EXPERIMENT_COLUMNS = (
    Column("name", "Experiment", ("name",)),
    Column("state", "State"),
    Column("progress", "Progress"),
    Column("workload", "Workload"),
    Column("systems", "Systems"),
    Column("created", "Created", ("created_at",)),
)
EXPERIMENT_FILTERS = (
    Filter(
        "state",
        "State",
        {
            "queued": ("queued", queries.GOES_ON & ~Q(queries.HAS_BEGUN)),
            "running": ("under way", queries.GOES_ON & Q(queries.HAS_BEGUN)),
            "ended": ("ended", queries.IS_OVER),
            "failed": ("with failed or lost runs", Q(queries.HAS_FAILED)),
        },
    ),
    Filter(
        "demonstration",
        "Demonstrations",
        {"without": ("left out", Q(is_demonstration=False)), "only": ("only these", Q(is_demonstration=True))},
    ),
)


def experiments(request: HttpRequest) -> HttpResponse:
    listing = Listing(
        request.GET,
        queries.experiments(),
        EXPERIMENT_COLUMNS,
        search=("name", "remark", "workload__name", queries.has_system),
        filters=EXPERIMENT_FILTERS,
        default="-created",
    )
    return render(request, "reports/experiments.html", {"listing": listing, "is_live": queries.runs_left()})


def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    key, version_now = ("experiment page", pk), partial(live.version, pk)
    if is_unchanged(request, key, version_now):
        return HttpResponse(status=204)
    row = get_object_or_404(queries.experiment(pk))
    is_open = row.has_runs_left or row.grows  # type: ignore[attr-defined]  # queries.experiment annotates it

    def draw(version: str, token: str) -> str:
        # Read after its version, where there is one: no change in between is missed.
        newest = get_object_or_404(queries.experiment(pk)) if version else row
        context = {"page": page.ExperimentPage(newest, request.GET), "version": version, "csrf_token": token}
        return render_to_string("reports/experiment_content.html", context, request)

    def shown(version: str) -> HttpResponse:
        drawing = (*key, version, request.get_full_path(), Hosts(request.user).rights)
        content = drawn(request, drawing, partial(draw, version))
        return render(request, "reports/experiment.html", {"experiment": row, "content": content, "is_open": is_open})

    return refreshed(request, key, version_now, shown) if is_open else shown("")


def experiment_live(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with the runs under way as points that grow, made once a second for all who look on."""
    if not Experiment.objects.filter(pk=pk).exists():
        raise Http404
    return answer(request, ("experiment", pk), partial(live.feed, pk))


def curve_csv(_request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(queries.experiment(pk))
    systems = queries.systems(row)
    groups = page.groups(row, queries.curve_runs(row), systems)
    text = curves_csv.experiment_csv(sweeps.sweeps(row, systems), groups)
    return download(f"experiment-{pk}-curve.csv", text)


@permission_required("reports.change_tag", raise_exception=True)
def tags(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = get_object_or_404(Experiment, pk=pk)
    permits.require_experiment(request.user, experiment)
    names = Tag.objects.filter(experiment=experiment).values_list("name", flat=True)
    form = TagsForm(request.POST or None, initial={"tags": ", ".join(names)})
    if request.method == "POST" and form.is_valid():
        replace(experiment, form.cleaned_data["tags"])
        return redirect("experiment", pk)
    return FormPage(form=form, title="Tags", crumb=Crumb.to("experiment", experiment.name, pk)).show(request)
