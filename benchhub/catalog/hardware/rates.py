"""Exchange rates: dated, sourced, and never changed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from benchhub.catalog.models import ExchangeRate
from benchhub.ui.listing import Column, Listing

from .forms import RateForm

COLUMNS = (
    Column("date", "Day", ("priced_on", "base", "quoted")),
    Column("base", "From", ("base", "quoted", "priced_on")),
    Column("quoted", "To", ("quoted", "base", "priced_on")),
    Column("rate", "Rate", ("value", "priced_on"), is_number=True),
    Column("source", "Source", ("source", "priced_on")),
)


def rates(request: HttpRequest) -> HttpResponse:
    rows = ExchangeRate.objects.all()
    listing = Listing(request.GET, rows, COLUMNS, search=("base", "quoted", "source"), default="-date")
    return render(request, "catalog/exchange_rates.html", {"listing": listing})


def add(request: HttpRequest) -> HttpResponse:
    form = RateForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        messages.success(request, f"The rate is in the list: {saved}.")
        return redirect("exchange-rates")
    shown = {
        "title": "Add an exchange rate",
        "action": "Add the rate",
        "intro": "A rate is never changed: conversions cite it. Add a newer one instead, with its day and source.",
        "crumb": {"address": reverse("exchange-rates"), "title": "Exchange rates"},
    }
    return render(request, "form.html", {"form": form, **shown})
