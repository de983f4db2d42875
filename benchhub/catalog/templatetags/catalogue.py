"""Filters that write amounts of money and memory, and the days of prices."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django import template
from django.utils import timezone

from benchhub.analysis.words import GIB, plain

register = template.Library()


@register.filter
def money(amount: Decimal, currency: str = "") -> str:
    """Write 38,364.00 EUR; fractions of a cent only where there are any."""
    rounded = amount.normalize() if amount != round(amount, 2) else round(amount, 2)
    return f"{rounded:,f} {currency}".strip()


@register.filter
def taken_off(amount: Decimal, currency: str = "") -> str:
    """Write what a discount takes off, −1,200.00, or a surcharge adds, +1,200.00; nothing for 0."""
    return f"{'−' if amount > 0 else '+'}{money(abs(amount), currency)}" if amount else ""


@register.filter
def gib(memory_bytes: int | None) -> str:
    """Write 256 or 7.75 GiB without its unit; empty for what is not known."""
    return "" if memory_bytes is None else f"{round(Decimal(memory_bytes) / GIB, 2).normalize():,f}"


@register.filter
def quantity(count: Decimal) -> str:
    """Write every digit without idle zeros: 1,200 or 0.5."""
    return plain(count)


@register.filter
def counting_from(day: date) -> str:
    """Write the day of a price: 2026-06-30, or 'from 2026-12-30' of one that does not count yet."""
    return f"from {day:%Y-%m-%d}" if day > timezone.now().date() else f"{day:%Y-%m-%d}"
