"""Price/performance of a price sheet by a metric that was reported elsewhere, as the TPC's results print it."""

from __future__ import annotations

from decimal import Decimal

from benchhub.analysis.pricing.money import CENTS, Amount, PricingError, Rounding, exactly, rounded_quotient
from benchhub.analysis.pricing.quote import IN_WORDS, digits
from benchhub.analysis.pricing.steps import Step, step

from .total import SheetTotal

WAYS = {"nearest": "rounded to nearest", "up": "rounded up", "down": "rounded down"}


@exactly
def per_metric(
    total: SheetTotal, metric: Decimal, unit: str, places: int = CENTS, rounding: Rounding = "up"
) -> tuple[Decimal, Step]:
    """Divide the total by the metric, rounded once from the exact fraction, with the step. Raises PricingError."""
    if not (metric.is_finite() and metric > 0):
        raise PricingError("A price per unit of a metric needs a metric above 0.")
    price = rounded_quotient(total.total, metric, places, rounding)
    words = f", {IN_WORDS[unit]}" if unit in IN_WORDS else ""
    template = (
        f"Price: {{total}} / {{metric}} {{unit}} = {{exact}} {{currency}} per {{unit}}{words}; {{way}}: {{result}}"
    )
    currency = total.sheet.currency
    metric_step = step(
        "price", template, str(price), total=Amount(total.total, currency), metric=metric, unit=unit,
        exact=digits(total.total / metric), currency=currency, way=WAYS[rounding],
    )  # fmt: skip
    return price, metric_step
