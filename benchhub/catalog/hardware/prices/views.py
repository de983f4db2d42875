"""The list prices of hardware and licences, and exchange rates."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from benchhub.analysis.words import count
from benchhub.catalog.models import ExchangeRate, ListPrice
from benchhub.catalog.shared.forms import is_key
from benchhub.ui.acts import explain
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage

from .forms import PriceForm, RateForm, amount_help
from .page import price_list_page
from .price_list import PriceListForm
from .taking_back import ALONE, ALREADY, IMPORT, TakeBackForm

RATE_COLUMNS = (
    Column("date", "Day", ("priced_on", "base", "quoted")),
    Column("base", "From", ("base", "quoted", "priced_on")),
    Column("quoted", "To", ("quoted", "base", "priced_on")),
    Column("rate", "Rate", ("value", "priced_on"), is_number=True),
    Column("source", "Source", ("source", "priced_on")),
)
PRICE_COLUMNS = (
    Column("date", "Priced on", ("priced_on", "description")),
    Column("of", "Price of", ("hardware__name", "licence_model__name", "priced_on")),
    Column("description", "Description", ("description", "priced_on")),
    Column("amount", "Amount", ("currency", "amount"), is_number=True),
    Column("source", "Source", ("source", "priced_on")),
    Column("actions", "Change"),
)
PRICE_FILTERS = (
    Filter(
        "kind",
        "Of",
        {"hardware": ("hardware", Q(licence_model=None)), "licence": ("licences", Q(hardware=None))},
    ),
    Filter(
        "state",
        "In force",
        {"in-force": ("yes", Q(taken_back_at=None)), "taken-back": ("taken back", Q(taken_back_at__isnull=False))},
    ),
)
TAKE_BACK_INTRO = (
    "It stays in the list, struck through, and no price is computed from it any more. What is published keeps its "
    "numbers. This cannot be undone; the price can be added again."
)
PRICE_SEARCH = ("description", "part_number", "source", "currency", "hardware__name", "licence_model__name")


def prices(request: HttpRequest) -> HttpResponse:
    rows = ListPrice.objects.select_related("hardware", "licence_model", "taken_back_by")
    columns, filters = PRICE_COLUMNS, PRICE_FILTERS
    listing = Listing(request.GET, rows, columns, search=PRICE_SEARCH, filters=filters, default="-date")
    return render(request, "catalog/prices.html", {"listing": listing})


def price_add(request: HttpRequest) -> HttpResponse:
    """Add a price. `of`, `amount` and `currency` in the address fill their fields, `after` those of an older price."""
    form = PriceForm(request.POST or None, initial=_initial_price(request.GET))
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        later = f" It counts from {saved.priced_on} on, not before." if saved.priced_on > timezone.now().date() else ""
        messages.success(request, f"The price of {saved.description} is in the list.{later}")
        return redirect("prices")
    intro = (
        "A price is never changed: results cite it. When it changes, add a newer one with its day and source. "
        "A wrong one can be taken back."
    )
    crumb = Crumb.to("prices", "Prices")
    return FormPage(form=form, title="Add a price", action="Add the price", intro=intro, crumb=crumb).show(request)


def prices_import(request: HttpRequest) -> HttpResponse:
    """Add many prices at once: a first press shows what becomes of each line, a second one saves them."""
    form = PriceListForm(request.POST or None)
    is_read = request.method == "POST" and form.is_valid()
    if is_read and form.is_confirmed and not form.price_list.refused and (saved := form.saved(request.user)):
        address = f"{reverse('price-take-back', args=[saved[0].pk])}?scope={IMPORT}"
        sentence = '{} imported. If that was a mistake, <a href="{}">take the import back</a>.'
        messages.success(request, format_html(sentence, count(len(saved), "price"), address))
        return redirect("prices")
    return price_list_page(form, is_read=is_read).show(request, "catalog/prices_import.html")


def price_take_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a price back, or all of its import. GET asks, POST does; `scope` in the address chooses for the reader."""
    price = get_object_or_404(ListPrice.objects.select_related("price_import__made_by"), pk=pk)
    form = TakeBackForm(request.POST or None, price=price, initial={"scope": request.GET.get("scope", ALONE)})
    if request.method == "POST" and form.is_valid():
        text = form.text(form.take_back(request.user))
        explain(request, text)
        messages.success(request, text)
        return redirect("prices")
    if form.is_settled:
        messages.info(request, ALREADY)
        return redirect("prices")
    title, crumb = f"Take back {price}?", Crumb.to("prices", "Prices")
    page = FormPage(form=form, title=title, action="Take back", button="danger", intro=TAKE_BACK_INTRO, crumb=crumb)
    return page.show(request)


def price_unit(request: HttpRequest) -> HttpResponse:
    """Answer with what the amount is paid for, for the choice in the form."""
    return HttpResponse(amount_help(request.GET.get("of", "")), content_type="text/plain; charset=utf-8")


def _initial_price(query: QueryDict) -> dict[str, Any]:
    after, values = query.get("after", ""), {"priced_on": timezone.now().date(), "currency": "EUR"}
    if row := ListPrice.objects.filter(pk=after).first() if is_key(after) else None:
        values |= {name: getattr(row, name) for name in ("description", "part_number", "currency", "remark")}
        values["of"] = f"hardware:{row.hardware_id}" if row.hardware_id else f"licence_model:{row.licence_model_id}"
    return {**values, **{name: query[name] for name in ("of", "amount", "currency") if name in query}}


def rates(request: HttpRequest) -> HttpResponse:
    rows = ExchangeRate.objects.all()
    listing = Listing(request.GET, rows, RATE_COLUMNS, search=("base", "quoted", "source"), default="-date")
    return render(request, "catalog/exchange_rates.html", {"listing": listing})


def rate_add(request: HttpRequest) -> HttpResponse:
    form = RateForm(request.POST or None, initial={"priced_on": timezone.now().date()})
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        messages.success(request, f"The rate is in the list: {saved}.")
        return redirect("exchange-rates")
    page = FormPage(
        form=form,
        title="Add an exchange rate",
        action="Add the rate",
        intro="A rate is never changed: conversions cite it. Add a newer one instead, with its day and source.",
        crumb=Crumb.to("exchange-rates", "Exchange rates"),
    )
    return page.show(request)
