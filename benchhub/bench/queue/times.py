"""Pages of periods: when a host is blocked, and when an experiment may run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchhub.bench.models import Experiment, Reservation, Window
from benchhub.catalog.models import Host
from benchhub.celery import wake

from . import permits, timetable
from .form_times import OnceForm, WeeklyForm

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Words:
    """How the pages of one kind of owner say it."""

    title: str
    intro: str
    none: str
    once: str
    weekly: str


KINDS = {
    "host": Words(
        "When {} is blocked",
        "In these periods no run starts on the host, nor one that would reach into them. A run under way goes on.",
        "The host is never blocked.",
        "Block {} once",
        "Block {} every week",
    ),
    "experiment": Words(
        "When {} may run",
        "A run of it starts only where its expected end lies in one of these periods. Other experiments may use the "
        "hosts meanwhile: what comes first is a matter of priority.",
        "It may run at any time.",
        "Let {} run once",
        "Let {} run every week",
    ),
}


def _owner(kind: str, pk: int) -> Host | Experiment:
    if kind == "host":
        return get_object_or_404(Host.objects.defer("private_key", "facts"), pk=pk)
    return get_object_or_404(Experiment.objects.with_host_keys(), pk=pk)


def _own(request: HttpRequest, kind: str, pk: int) -> Host | Experiment:
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
    owner, words = _owner(kind, pk), KINDS[kind]
    coming = owner.reservations.filter(period__endswith__gt=Now()).select_related("window").order_by("period")
    shown = {
        "kind": kind,
        "owner": owner,
        "words": words,
        "title": words.title.format(owner.name),
        "host_keys": getattr(owner, "host_keys", {owner.pk}),
        "windows": owner.windows.order_by("pk"),
        "coming": coming[:SHOWN],
        "is_confined": owner.windows.exists() or owner.reservations.exists(),
        "crumb": {"address": reverse(kind, args=[pk]), "title": owner.name},
        "once_address": reverse(f"{kind}-times-once", args=[pk]),
        "weekly_address": reverse(f"{kind}-times-weekly", args=[pk]),
    }
    return render(request, "bench/times.html", shown)


def once(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    owner = _own(request, kind, pk)
    form = OnceForm(request.POST or None, owner=owner)
    return _form(request, form, kind, owner, KINDS[kind].once)


def weekly(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    owner = _own(request, kind, pk)
    form = WeeklyForm(request.POST or None, owner=owner)
    return _form(request, form, kind, owner, KINDS[kind].weekly)


def _form(request: HttpRequest, form: Any, kind: str, owner: Host | Experiment, title: str) -> HttpResponse:
    address = reverse(f"{kind}-times", args=[owner.pk])
    if request.method == "POST" and form.is_valid() and form.saved():
        transaction.on_commit(wake)
        return redirect(address)
    crumb = {"address": address, "title": KINDS[kind].title.format(owner.name)}
    shown = {"form": form, "title": title.format(owner.name), "intro": KINDS[kind].intro, "crumb": crumb}
    return render(request, "form.html", shown)


@require_POST
def remove_once(request: HttpRequest, pk: int) -> HttpResponse:
    """Periods out of a window go with their window only: alone they would come back."""
    return _remove(request, get_object_or_404(Reservation, pk=pk, window=None))


@require_POST
def remove_weekly(request: HttpRequest, pk: int) -> HttpResponse:
    return _remove(request, get_object_or_404(Window, pk=pk))


def _remove(request: HttpRequest, gone: Window | Reservation) -> HttpResponse:
    kind, owner = ("host", gone.host_id) if gone.host_id else ("experiment", gone.experiment_id)
    _require(request, gone.host or gone.experiment)
    timetable.remove(gone)
    transaction.on_commit(wake)
    messages.success(request, f"Removed: {gone}.")
    return redirect(f"{kind}-times", owner)
