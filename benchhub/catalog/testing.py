"""Rows of the catalogue for tests."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from .models import PriceSheet, PriceSheetLine


def make_sheet(name: str = "Offer", **fields: Any) -> PriceSheet:
    """Create a sheet with one line of 100, in one transaction of the caller's."""
    defaults = {"currency": "EUR", "priced_on": date(2026, 1, 1), "source": "a list"}
    sheet = PriceSheet.objects.create(name=name, **{**defaults, **fields})
    PriceSheetLine.objects.create(of_sheet=sheet, position=1, description="Server", unit_price=Decimal(100))
    return sheet
