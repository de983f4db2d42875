"""Choose among the list prices of the warehouse the one that counts on a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from .money import Amount, PricingError

PricedKind = Literal["hardware", "licence"]


class MissingPriceError(PricingError):
    """Raised where there is no list price; `kind` and `name` lead a page to where one is added.

    `first_on` is the day of the first price, if there is one of a later day only.
    """

    def __init__(self, kind: PricedKind, name: str, on: date | None = None, first_on: date | None = None) -> None:
        self.kind, self.name, self.first_on = kind, name, first_on
        message = f"There is no list price for the {kind} '{name}': add one, with its date and source."
        if on and first_on:
            message = (
                f"There is no list price for the {kind} '{name}' on {on.isoformat()}: the first is of "
                f"{first_on.isoformat()}. Ask for that day or a later one, or add an earlier price."
            )
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Price:
    """One list price as it stands in the warehouse. `row` is its number there; None for a price from elsewhere."""

    description: str
    amount: Decimal
    currency: str
    priced_on: date
    source: str
    row: int | None = None

    @property
    def money(self) -> Amount:
        return Amount(self.amount, self.currency)

    @property
    def citation(self) -> str:
        row = "" if self.row is None else f"list price {self.row}, "
        return f"{row}{self.priced_on.isoformat()}, source: {self.source}"


def newest(prices: Sequence[Price], kind: PricedKind, name: str, on: date | None = None) -> Price:
    """Return the newest price not later than `on`, of one day the later row. Raises MissingPriceError without one."""
    candidates = [price for price in prices if on is None or price.priced_on <= on]
    if not candidates:
        raise MissingPriceError(kind, name, on, min((price.priced_on for price in prices), default=None))
    return max(candidates, key=lambda price: (price.priced_on, price.row or 0))
