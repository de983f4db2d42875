"""A price sheet as browsers send it."""

from __future__ import annotations

from decimal import Decimal

from django.urls import reverse

SHEET = {"name": "Box", "currency": "usd", "priced_on": "2026-01-01", "source": "an offer", "term_months": "36"}
SHEET |= {"places": "2", "rounded_per": "line", "rounding": "nearest"}


LINES = (
    {"description": "Server", "quantity": "2", "unit_price": "1000.10", "category": "Hardware"},
    {"description": "Disk", "quantity": "4", "unit_price": "50", "category": "Hardware", "seller": "a shop"}
    | {"maintenance_per": "year", "maintenance_price": "3.10"},
)


DISCOUNTS = ({"description": "Shop", "percent": "10", "of_sellers": "a shop"},)


# 2 x 1,000.10 + 4 x 50 - 10% of 200, and 3 years x 4 x 3.10 of maintenance
TOTAL = Decimal("2000.20") + 200 - 20 + Decimal("37.20")


def rows(prefix, texts):
    sent = {f"{prefix}-{number}-{name}": text for number, row in enumerate(texts) for name, text in row.items()}
    return {**sent, f"{prefix}-count": str(len(texts))}


def typed(lines=LINES, discounts=DISCOUNTS, **changes):
    return {**SHEET, **rows("lines", lines), **rows("discounts", discounts), **changes}


def post(client, page="price-sheet-add", **changes):
    return client.post(reverse(page), typed(**changes))


def save(client, **changes):
    return post(client, save="1", **changes)
