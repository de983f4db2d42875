"""Pages and buttons of the queue: look at it, pause, resume, move, run again, and give times."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from benchhub.accounts.rights import Hosts
from benchhub.analysis.words import count
from benchhub.bench.models import Experiment, Reservation, Run, Window
from benchhub.catalog.models import Host
from benchhub.celery import wake
from benchhub.ui.feeds import drawn, refreshed
from benchhub.ui.pages import Crumb, FormPage

from . import exclusive, order, permits, queue, timetable
from .forms.policy import PolicyForm
from .forms.times import OnceForm, WeeklyForm
from .page import QueuePage, pages_of
from .page import version as queue_version
from .times import KINDS, TimesPage


def queue_shown(request: HttpRequest) -> HttpResponse:
    query = pages_of(request.GET)

    def draw(version: str, token: str) -> str:
        context = {
            "page": QueuePage.load(timezone.now(), query),
            "version": version,
            "csrf_token": token,
        }
        return render_to_string("bench/queue_content.html", context, request)

    def page(version: str) -> HttpResponse:
        key = ("queue", version, *query.items(), Hosts(request.user).rights)
        content = drawn(request, key, partial(draw, version))
        return render(request, "bench/queue.html", {"content": content, "version": version})

    return refreshed(request, "queue", queue_version, page)


def _permitted(request: HttpRequest, pk: int) -> Experiment:
    """Return the experiment; raises Http404, or PermissionDenied if the user may not run on its hosts."""
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
    offset = order.DIRECTIONS.get(request.POST.get("direction", ""), 0)
    if not (offset and order.shift(_permitted(request, pk), offset)):
        messages.info(request, "Nothing was moved: it stands at the end of the queue, or no longer waits.")
    return _back(request, reverse("queue"))


def experiment_policy(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = _permitted(request, pk)
    form = PolicyForm(request.POST or None, instance=experiment)
    if request.method == "POST" and form.is_valid() and form.saved():
        transaction.on_commit(wake)
        return redirect("experiment", pk)
    crumb = Crumb.to("experiment", experiment.name, pk)
    return FormPage(form=form, title="Priority, and what happens when runs fail", crumb=crumb).show(request)


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
    try:
        requeued = queue.run_again(runs, f"To be run again, as {request.user} asked.")
    except exclusive.OverlapError as error:
        messages.error(request, f"Nothing was queued. {error}")
        return redirect(address)
    transaction.on_commit(wake)
    if requeued:
        messages.success(request, f"{count(requeued, 'run')} queued again, as new attempts.")
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
    """Redirect to the page of this site that the button stood on, or to `otherwise`."""
    address = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()})
    return HttpResponseRedirect(address if is_ours else otherwise)


def _permitted_owner(request: HttpRequest, kind: str, pk: int) -> Host | Experiment:
    owner = _owner(kind, pk)
    _require(request, owner)
    return owner


def _require(request: HttpRequest, owner: Host | Experiment | None) -> None:
    """Raise PermissionDenied unless the user may run on the host, or on those of the experiment."""
    if isinstance(owner, Experiment):
        permits.require_experiment(request.user, owner)
    elif owner and (sentence := permits.refusal(request.user, [owner.pk])):
        raise PermissionDenied(sentence)


def times(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    return render(request, "bench/times.html", {"page": TimesPage(kind, _owner(kind, pk))})


def once(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    owner = _permitted_owner(request, kind, pk)
    form = OnceForm(request.POST or None, owner=owner)
    return _form(request, form, kind, owner, KINDS[kind].once)


def weekly(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    owner = _permitted_owner(request, kind, pk)
    form = WeeklyForm(request.POST or None, owner=owner)
    return _form(request, form, kind, owner, KINDS[kind].weekly)


def _owner(kind: str, pk: int) -> Host | Experiment:
    if kind == "host":
        return get_object_or_404(Host.objects.defer("private_key", "facts"), pk=pk)
    return get_object_or_404(Experiment.objects.with_host_keys(), pk=pk)


def _form(request: HttpRequest, form: Any, kind: str, owner: Host | Experiment, title: str) -> HttpResponse:
    address = reverse(f"{kind}-times", args=[owner.pk])
    if request.method == "POST" and form.is_valid() and form.saved():
        transaction.on_commit(wake)
        return redirect(address)
    crumb = Crumb(address, KINDS[kind].title.format(owner.name))
    return FormPage(form=form, title=title.format(owner.name), intro=KINDS[kind].intro, crumb=crumb).show(request)


@require_POST
def remove_once(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a period that was given once. One out of a window goes with its window: alone it would come back."""
    return _remove(request, get_object_or_404(Reservation, pk=pk, window=None))


@require_POST
def remove_weekly(request: HttpRequest, pk: int) -> HttpResponse:
    return _remove(request, get_object_or_404(Window, pk=pk))


def _remove(request: HttpRequest, entry: Window | Reservation) -> HttpResponse:
    kind, owner = ("host", entry.host_id) if entry.host_id else ("experiment", entry.experiment_id)
    _require(request, entry.host or entry.experiment)
    timetable.remove(entry)
    transaction.on_commit(wake)
    messages.success(request, f"Removed: {entry}.")
    return redirect(f"{kind}-times", owner)
