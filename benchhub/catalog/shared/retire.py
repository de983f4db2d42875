"""Retiring what is not used any more, showing it again, and deleting what nothing cites: after a question each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.db.models import Model, ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchhub.catalog.models import Configuration, Hardware, Host, Instance, LicenceModel, PriceSheet, Workload
from benchhub.catalog.models.revised import CurrentQuerySet

from .citations import citations


@dataclass(frozen=True, slots=True)
class Kind:
    """`back` names the address of the list. `retired` and `deleted` say what comes of it; empty: it cannot be done."""

    model: type[Model]
    back: str
    title: str
    retired: str = ""
    deleted: str = ""

    @property
    def rows(self) -> CurrentQuerySet:
        return cast(CurrentQuerySet, self.model._default_manager.all())

    @property
    def crumb(self) -> dict[str, str]:
        return {"address": reverse(self.back), "title": self.title}


KINDS: Mapping[str, Kind] = {
    "hardware": Kind(
        Hardware,
        "hardware-list",
        "Hardware",
        "No form offers it any more. Its prices and what was measured on it stay.",
    ),
    "licence-model": Kind(
        LicenceModel,
        "licence-models",
        "Licence models",
        "No form offers it any more, and no page shows prices under it. Its list prices stay.",
    ),
    "price-sheet": Kind(
        PriceSheet,
        "price-sheets",
        "Price sheets",
        "It does not count as the sheet of a day any more. Its lines, discounts and older revisions stay.",
    ),
    "configuration": Kind(
        Configuration,
        "configurations",
        "Configurations",
        "No form offers it any more. What was measured with it stays.",
    ),
    "workload": Kind(
        Workload,
        "workloads",
        "Workloads",
        "No form offers it any more. What was measured with it stays, and runs that are queued take place.",
    ),
    "instance": Kind(
        Instance,
        "instances",
        "Instances",
        "It is not offered for planning any more. What was measured on it stays, and runs that are queued take place.",
        "Nothing was measured on it and nothing is planned, so nothing else goes with it. The server itself and its "
        "data are left as they are.",
    ),
    "host": Kind(
        Host,
        "hosts",
        "Hosts",
        deleted="Its key pair is forgotten and nothing can log in with it any more. Remove the line that ends in its "
        "name from ~/.ssh/authorized_keys there; what BenchHub left in its work directory stays.",
    ),
}


def retire(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """GET asks, POST does; what is in use now is refused with the names of its users."""
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if users := users_of(row):
        messages.error(request, f"{row} is not retired, because it is in use: change {', '.join(users)} first.")
        return redirect(of.back)
    question = f"{of.retired} It can be shown again from the list."
    if request.method != "POST":
        return _ask(request, of, title=f"Retire {row}?", consequence=question, action="Retire it", button="primary")
    of.rows.filter(pk=pk).retire()
    messages.success(request, f"{row} is retired. {of.retired}")
    return redirect(of.back)


def users_of(row: Any) -> list[str]:
    """Names of what uses the row now, and keeps it from being retired."""
    if isinstance(row, Hardware):
        return list(Host.objects.filter(hardware=row).order_by("name").values_list("name", flat=True))
    if isinstance(row, Configuration):
        using = Instance.objects.current().filter(configuration=row)
        return list(using.order_by("name").values_list("name", flat=True))
    return []


@require_POST
def show_again(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if of.rows.filter(pk=pk).show_again():
        messages.success(request, f"{row} is offered again.")
    else:
        messages.error(request, f"{row} has a newer revision: that one can be shown again.")
    return redirect(of.back)


def delete(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """GET asks, POST does; what something cites stays."""
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if citations(row):
        return _kept(request, of, row)
    if request.method != "POST":
        return _ask(request, of, title=f"Delete {row}?", consequence=of.deleted, action="Delete it")
    try:
        row.delete()
    except ProtectedError:  # cited since the question
        return _kept(request, of, row)
    messages.success(request, f"{row} is deleted.")
    return redirect(of.back)


def _kept(request: HttpRequest, of: Kind, row: Model) -> HttpResponse:
    instead = " Retire it instead." if of.retired else ""
    citing = ", ".join(citations(row))
    messages.error(request, f"{row} is not deleted, because results or plans need it: {citing}.{instead}")
    return redirect(of.back)


def _ask(request: HttpRequest, of: Kind, **question: str) -> HttpResponse:
    return render(request, "confirm.html", {**question, "crumb": of.crumb})
