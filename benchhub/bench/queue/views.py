"""What people do with what waits or runs: look at the queue and the live log, pause, resume, move, run again."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from benchhub.bench.models import Experiment, LiveLog, Run
from benchhub.bench.results import live_log
from benchhub.catalog.models import Host
from benchhub.celery import wake

from . import page, permits, queue
from .form_policy import PolicyForm

DIRECTIONS = {"up": -1, "down": 1}


def queue_shown(request: HttpRequest) -> HttpResponse:
    return render(request, "bench/queue.html", page.context(request.GET.get("page")))


def _permitted(request: HttpRequest, pk: int) -> Experiment:
    """The experiment, if the user may run on its hosts."""
    experiment = get_object_or_404(Experiment, pk=pk)
    permits.require_experiment(request.user, experiment)
    return experiment


@require_POST
def experiment_pause(request: HttpRequest, pk: int) -> HttpResponse:
    queue.pause(_permitted(request, pk), f"Paused by {request.user}.")
    return _back(request, reverse("experiment", args=[pk]))


@require_POST
def experiment_resume(request: HttpRequest, pk: int) -> HttpResponse:
    queue.resume(_permitted(request, pk))
    transaction.on_commit(wake)
    return _back(request, reverse("experiment", args=[pk]))


@require_POST
def experiment_move(request: HttpRequest, pk: int) -> HttpResponse:
    by = DIRECTIONS.get(request.POST.get("direction", ""), 0)
    if not (by and queue.shift(_permitted(request, pk), by)):
        messages.info(request, "Nothing was moved: it stands at the end of the queue, or no longer waits.")
    return _back(request, reverse("queue"))


def experiment_policy(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = _permitted(request, pk)
    form = PolicyForm(request.POST or None, instance=experiment)
    if request.method == "POST" and form.is_valid() and form.saved():
        transaction.on_commit(wake)
        return redirect("experiment", pk)
    crumb = {"address": reverse("experiment", args=[pk]), "title": experiment.name}
    return render(
        request, "form.html", {"form": form, "title": "Priority, and what happens when runs fail", "crumb": crumb}
    )


@require_POST
def experiment_rerun(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = _permitted(request, pk)
    return _rerun(request, experiment.runs.all(), reverse("experiment", args=[pk]))


@require_POST
def run_rerun(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk)
    permits.require_run(request.user, run)
    return _rerun(request, Run.objects.filter(pk=run.pk), reverse("run", args=[pk]))


def _rerun(request: HttpRequest, runs: QuerySet[Run], address: str) -> HttpResponse:
    count = queue.run_again(runs, f"To be run again, as {request.user} asked.")
    transaction.on_commit(wake)
    if count:
        messages.success(request, f"{count} run{'' if count == 1 else 's'} queued again, as new attempts.")
    else:
        messages.info(request, "Nothing was queued: only a run that failed or was lost is run again.")
    return redirect(address)


@require_POST
def host_pause(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(Host, pk=pk).pause()
    return _back(request, reverse("host", args=[pk]))


@require_POST
def host_resume(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(Host, pk=pk).resume()
    transaction.on_commit(wake)
    return _back(request, reverse("host", args=[pk]))


def _back(request: HttpRequest, otherwise: str) -> HttpResponse:
    """To the page of this site that the button stood on."""
    asked = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(asked, allowed_hosts={request.get_host()})
    return HttpResponseRedirect(asked if is_ours else otherwise)


def run_log(request: HttpRequest, pk: int, stream: str) -> JsonResponse:
    """What the newest attempt's log has beyond the byte `after`, as text that can only be read."""
    run = get_object_or_404(Run, pk=pk)
    asked = request.GET.get("after", "")
    after = int(asked) if asked.isdecimal() and len(asked) < 19 else 0
    log = LiveLog.objects.filter(attempt__run=run, stream=stream).order_by("-attempt__number").first()
    part = live_log.part(log, after) if log else None
    return JsonResponse({"part": asdict(part) if part else None, "is_over": run.is_final})
