"""How amounts of money and memory are written in the catalogue."""

from __future__ import annotations

from decimal import Decimal

from django import template

from benchhub.analysis.pricing.money import plain

register = template.Library()
GIB = 2**30


@register.filter
def money(amount: Decimal, currency: str = "") -> str:
    """38,364.00 EUR; fractions of a cent only where there are any."""
    shown = amount.normalize() if amount != round(amount, 2) else round(amount, 2)
    return f"{shown:,f} {currency}".strip()


@register.filter
def gib(memory_bytes: int | None) -> str:
    """256 or 7.75; empty for what is not known."""
    return "" if memory_bytes is None else f"{round(Decimal(memory_bytes) / GIB, 2).normalize():,f}"


@register.filter
def quantity(count: Decimal) -> str:
    """1,200 or 0.5: every digit, no idle zeros."""
    return plain(count)
