"""Licence models: the list in plain words, and the editor that shows its arithmetic on a machine."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Prefetch, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from .forms_licences import LicenceDraft
from .listing import Column, Filter
from .models import Hardware, LicenceModel, ListPrice
from .queries_revised import REVISIONS, listing_of_revised, note_revision
from .row_cells import written

COLUMNS = (
    Column("name", "Licence model", ("name", "-revision")),
    Column("metric", "Counted", ("metric", "name")),
    Column("rules", "Rules"),
    Column("product", "Product", ("product", "name")),
    Column("price", "Newest price", is_number=True),
    Column("actions", "Change"),
)
METRICS = Filter(
    "metric", "Counted", {value: (str(label), Q(metric=value)) for value, label in LicenceModel.Metric.choices}
)


def licence_models(request: HttpRequest) -> HttpResponse:
    rows = LicenceModel.objects.prefetch_related(Prefetch("prices", ListPrice.objects.newest_first()))
    search = ("name", "product", "remark")
    listing = listing_of_revised(request, rows, COLUMNS, search=search, filters=(METRICS, REVISIONS))
    return render(request, "catalog/licence_models.html", {"listing": listing})


def add(request: HttpRequest) -> HttpResponse:
    draft = LicenceDraft(request.POST if request.method == "POST" else None, trial=_first_machine())
    if (saved := _saved(request, draft)) is not None:
        messages.success(request, f"{saved} is saved." + ("" if saved.metric == "none" else " Add its price next."))
        return redirect("licence-models")
    return _editor(request, draft, title="Add a licence model", action="Add the licence model")


def revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(LicenceModel, pk=pk)
    name, revision = str(row), row.revision + 1
    draft = LicenceDraft(request.POST if request.method == "POST" else None, row, _first_machine() | _newest(row))
    if (saved := _saved(request, draft)) is not None:
        priced = "" if saved.metric == "none" else " Prices are of one revision: add its price."
        messages.success(request, f"{saved} is saved.{priced}")
        return redirect("licence-models")
    intro = note_revision(revision, []) + " Prices stay with the old one: add the price again."
    return _editor(request, draft, title=f"Revise {name}", action=f"Save revision {revision}", intro=intro)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What the rules in the form come to on the chosen machine, as a part of its page; nothing is saved."""
    return render(request, "catalog/licence_trial.html", {"draft": LicenceDraft(request.POST)})


def _saved(request: HttpRequest, draft: LicenceDraft) -> Any:
    """The saved model; None where something is wrong, or where only a row or the arithmetic was asked for."""
    if request.method != "POST" or request.POST.keys() & {"add", "remove", "show"}:
        return None
    return draft.form.saved() if draft.form.is_valid() and draft.rules else None


def _first_machine() -> dict[str, Any]:
    row = Hardware.objects.current().order_by("name").first()
    return {"hardware": row.pk} if row else {}


def _newest(of: LicenceModel) -> dict[str, Any]:
    price = of.prices.newest_first().first()
    return {"price": written(price.amount), "currency": price.currency} if price else {}


def _editor(request: HttpRequest, draft: LicenceDraft, **shown: str) -> HttpResponse:
    is_final = request.method == "POST" and not request.POST.keys() & {"add", "remove", "show"}
    return render(request, "catalog/licence_model_form.html", {"draft": draft, "is_final": is_final, **shown})
