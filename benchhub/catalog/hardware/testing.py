"""Prices of hardware for tests: as a row of the list, and as they are typed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from benchhub.catalog.models import Hardware, ListPrice

PRICE = {
    "description": "Box with support",
    "amount": "38364.00",
    "currency": "eur",
    "priced_on": "2026-01-01",
    "source": "a quotation",
}


def make_price(hardware: Hardware, **fields: Any) -> ListPrice:
    values = {**PRICE, "amount": Decimal("100"), "currency": "EUR", "priced_on": date(2026, 1, 1), **fields}
    return ListPrice.objects.create(hardware=hardware, **values)


def add_price(client: Client, item: str = "", **changes: str) -> HttpResponse:
    """Send the form of a price; `item` is what it is of, as the form has it."""
    answer: Any = client.post(reverse("price-add"), {**PRICE, "of": item, **changes})
    return answer
