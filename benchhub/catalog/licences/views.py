"""Licence models: the list in plain words, and the editor that shows its arithmetic on a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from benchhub.catalog.shared.revisions import REVISIONS, listing_of_revised, note_revision
from benchhub.ui.listing import Column, Filter
from benchhub.ui.row_cells import written

from .forms import LicenceDraft

COLUMNS = (
    Column("name", "Licence model", ("name", "-revision")),
    Column("metric", "Counted", ("metric", "name")),
    Column("rules", "Rules"),
    Column("product", "Product", ("product", "name")),
    Column("price", "Newest price", is_number=True),
    Column("actions", "Change"),
)
BY_METRIC = Filter("metric", "Counted", {name: (metric.label, Q(metric=name)) for name, metric in METRICS.items()})


@dataclass(frozen=True, kw_only=True)
class EditorPage:
    """The editor of a licence model; `is_final` tells whether it was to be saved."""

    draft: LicenceDraft
    title: str
    action: str
    intro: str = ""
    is_final: bool = False


def licence_models(request: HttpRequest) -> HttpResponse:
    search = ("name", "product", "remark")
    rows = LicenceModel.objects.all()
    listing = listing_of_revised(request, rows, COLUMNS, search=search, filters=(BY_METRIC, REVISIONS))
    prices = list(ListPrice.objects.of_licences(listing.page).by(timezone.now().date()).newest_first())
    for row in listing.page:
        row.newest_price = next((price for price in prices if price.counts_for(row)), None)
    return render(request, "catalog/licence_models.html", {"listing": listing})


def add(request: HttpRequest) -> HttpResponse:
    draft = LicenceDraft(request.POST if request.method == "POST" else None, trial=_first_machine())
    if (saved := _saved(request, draft)) is not None:
        return _to_its_price(request, saved, draft)
    return _editor(request, draft, title="Add a licence model", action="Add the licence model")


def revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(LicenceModel, pk=pk)
    name, revision = str(row), row.revision + 1
    draft = LicenceDraft(request.POST if request.method == "POST" else None, row, _first_machine() | _newest_price(row))
    if (saved := _saved(request, draft)) is not None:
        messages.success(request, f"{saved} is saved.{_prices_after(saved, pk)}")
        return redirect("licence-models")
    intro = f"{note_revision(revision, [])} Its list prices carry over while a price buys {row.price_of}."
    return _editor(request, draft, title=f"Revise {name}", action=f"Save revision {revision}", intro=intro)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Show what the rules in the form come to on the chosen machine, as a part of its page; nothing is saved."""
    return render(request, "catalog/licence_trial.html", {"draft": LicenceDraft(request.POST)})


def _saved(request: HttpRequest, draft: LicenceDraft) -> Any:
    """Return the saved model; None where something is wrong, or only a row or the arithmetic was requested."""
    if request.method != "POST" or request.POST.keys() & {"add", "remove", "show"}:
        return None
    return draft.form.saved() if draft.form.is_valid() and draft.rules else None


def _to_its_price(request: HttpRequest, saved: LicenceModel, draft: LicenceDraft) -> HttpResponse:
    """Lead from a new model to the form of its price, where one was typed: it needs a source and a day."""
    draft.trial_form.is_valid()
    # Without a price or a currency that is not understood; what is wrong in other fields of the trial bears on neither.
    trial = draft.trial_form.cleaned_data
    price = trial.get("price") if "currency" in trial else None
    if not saved.is_licensed or price is None:
        messages.success(request, f"{saved} is saved." + ("" if not saved.is_licensed else " Add its price next."))
        return redirect("licence-models")
    messages.success(request, f"{saved} is saved. Its price is filled in below: say where it is from, and add it.")
    query = {"of": f"licence_model:{saved.pk}", "amount": written(price)}
    if currency := trial["currency"]:
        query["currency"] = currency.upper()
    return redirect(f"{reverse('price-add')}?{urlencode(query)}")


def _first_machine() -> dict[str, Any]:
    row = Hardware.objects.current().order_by("name").first()
    return {"hardware": row.pk} if row else {}


def _prices_after(saved: LicenceModel, before_pk: int) -> str:
    """Say that a price is missing where those of the revision before do not count any more."""
    before = LicenceModel.objects.get(pk=before_pk)
    if not saved.is_licensed or saved.price_of == before.price_of:
        return ""
    return f" A price now buys {saved.price_of}: add one."


def _newest_price(licence_model: LicenceModel) -> dict[str, Any]:
    prices = ListPrice.objects.of_licences([licence_model]).newest_first()
    price = next((price for price in prices if price.counts_for(licence_model)), None)
    return {"price": written(price.amount), "currency": price.currency} if price else {}


def _editor(request: HttpRequest, draft: LicenceDraft, **texts: str) -> HttpResponse:
    is_final = request.method == "POST" and not request.POST.keys() & {"add", "remove", "show"}
    page = EditorPage(draft=draft, is_final=is_final, **texts)
    return render(request, "catalog/licence_model_form.html", {"page": page})
