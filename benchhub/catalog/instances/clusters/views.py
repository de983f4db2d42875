"""Clusters of BenchHub's own: made on a host, asked for something, removed with their data."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.catalog.models import Cluster, Host
from benchhub.celery import wake
from benchhub.ui.acts import explain, explain_form
from benchhub.ui.pages import Crumb, FormPage, Question

from .form import ClusterForm
from .page import ClusterPage, clusters
from .settings import PURPOSES, unfinished_runs

MAKING = (
    "BenchHub makes it with initdb, starts it for its runs, stops it after them, and removes it when asked. Only the "
    "account that BenchHub logs in with can connect to it, by a socket in its own folder."
)


def cluster_add(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a cluster made on a host. `build` in the address chooses its programs by their folder."""
    host = get_object_or_404(Host.objects.defer("private_key"), pk=pk)
    form = ClusterForm(request.POST or None, host=host, initial=_chosen_build(request))
    if request.method == "POST" and form.is_valid() and (cluster := form.saved()):
        explain_form(request, form)
        transaction.on_commit(wake)
        return redirect("cluster", cluster.instance_id)
    page = FormPage(
        form=form,
        title=f"Make a cluster on {host}",
        intro=MAKING,
        action="Make the cluster",
        crumb=Crumb.to("host", host.name, pk),
    )
    return page.show(request, "catalog/cluster_form.html")


def _chosen_build(request: HttpRequest) -> dict[str, str]:
    return {"build": request.GET["build"]} if "build" in request.GET else {}


def cluster(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(clusters(), instance=pk)
    return render(request, "catalog/cluster.html", {"page": ClusterPage(row)})


@require_POST
def cluster_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a worker make the cluster, look at it, stop it or discard its copies, as no run on the host is under way."""
    row = get_object_or_404(clusters(), instance=pk)
    purpose = request.POST.get("purpose", "")
    if purpose not in PURPOSES:
        messages.error(request, "Nothing was done: choose what is to be done with the cluster.")
    elif row.wanted:
        messages.error(request, f"Nothing was done: it is {row.get_wanted_display()} first.")
    else:
        row.ask(purpose)
        explain(request, f"{row}: {purpose}")
        transaction.on_commit(wake)
    return redirect("cluster", row.instance_id)


def cluster_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a cluster with its data. GET asks, POST does; runs that wait or are under way keep it."""
    row = get_object_or_404(clusters(), instance=pk)
    crumb = Crumb.to("cluster", row.instance.name, row.instance_id)
    if keys := unfinished_runs(row.instance, 1):
        messages.error(request, f"It is not removed: run {keys[0]} needs it. Wait for its runs, or cancel them.")
        return redirect(crumb.address)
    if request.method != "POST":
        consequence = (
            f"Its server is stopped, and {row.folder} on {row.instance.host} is deleted with all data in it. Results "
            "that were measured on it stay. No plan offers it any more."
        )
        question = Question(
            title=f"Remove {row.instance}?", consequence=consequence, action="Remove the cluster", crumb=crumb
        )
        return question.ask(request)
    row.ask(Cluster.Wanted.REMOVE)
    explain(request, f"{row}: {row.folder}")
    transaction.on_commit(wake)
    return redirect(crumb.address)
