"""Calculate with amounts of money: exact sums, one named rounding, conversion by a dated rate, and their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Context, Decimal, localcontext
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from benchhub.analysis.words import plain

Rounding = Literal["nearest", "up", "down"]
Number = int | Decimal

MODES = {"nearest": ROUND_HALF_UP, "up": ROUND_UP, "down": ROUND_DOWN}
CENTS = 2
HUNDRED = Decimal(100)
# Wide enough that no sum and no product of prices, quantities and per cents loses a digit.
EXACT = Context(prec=150)
# A quotient keeps ten digits more than a product, so that a conversion there and back gives the same amount.
PRODUCT = Context(prec=40)
QUOTIENT = Context(prec=50)
# Only a quotient that does not end has more places: they are noise, and must not carry a cent 'up'.
MOST_PLACES = 30

P = ParamSpec("P")
R = TypeVar("R")


class PricingError(ValueError):
    """Raised where there is no price; the message says what is wrong or missing."""


class UnlikeCurrenciesError(PricingError):
    pass


def exactly(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function calculate with as many digits as there are, whatever the caller's context."""

    @wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        with localcontext(EXACT):
            return function(*args, **kwargs)

    return inner


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in one currency, named by its ISO 4217 code. Adding unlike currencies raises UnlikeCurrenciesError."""

    value: Decimal
    currency: str

    def __add__(self, other: Amount) -> Amount:
        if self.currency != other.currency:
            raise UnlikeCurrenciesError(
                f"{self} and {other} are amounts in unlike currencies: convert one of them by a dated rate first."
            )
        return Amount(EXACT.add(self.value, other.value), self.currency)

    def __str__(self) -> str:
        return money(self.value, self.currency)


@dataclass(frozen=True, slots=True)
class Rate:
    """An exchange rate: on a day and by a source, 1 `base` was worth `value` of `quoted`."""

    base: str
    quoted: str
    value: Decimal
    on: date
    source: str

    def __post_init__(self) -> None:
        if not (self.value.is_finite() and self.value > 0):
            raise PricingError(f"The rate from {self.base} to {self.quoted} must be a number above 0.")

    @property
    def citation(self) -> str:
        return f"{self.on.isoformat()}, source: {self.source}"

    def joins(self, currency: str, other: str) -> bool:
        return {self.base, self.quoted} == {currency, other}

    def convert(self, amount: Amount) -> Amount:
        """Convert to the other currency, not rounded; there and back gives the same amount (to 40 digits)."""
        if amount.currency == self.base:
            return Amount(PRODUCT.multiply(amount.value, self.value), self.quoted)
        if amount.currency == self.quoted:
            return Amount(QUOTIENT.divide(amount.value, self.value), self.base)
        raise UnlikeCurrenciesError(f"A rate between {self.base} and {self.quoted} does not convert {amount.currency}.")


def newest_rate(rates: Iterable[Rate], currency: str, other: str, on: date | None = None) -> Rate:
    """Return the newest rate between two currencies, not later than `on` if given. Raises UnlikeCurrenciesError."""
    candidates = [rate for rate in rates if rate.joins(currency, other) and (on is None or rate.on <= on)]
    if not candidates:
        day_text = "" if on is None else f" by {on.isoformat()}"
        raise UnlikeCurrenciesError(
            f"Prices are in {currency} and in {other}: amounts in unlike currencies cannot be added, and there is no "
            f"rate between them{day_text}. Add one with its date and source, or price all in one currency."
        )
    return max(candidates, key=lambda rate: rate.on)


def rounded(value: Decimal, places: int = CENTS, rounding: Rounding = "nearest") -> Decimal:
    """Round in size, so that a credit is rounded as a charge is: half up, up or down."""
    if -int(value.as_tuple().exponent) > MOST_PLACES:
        value = value.quantize(Decimal(1).scaleb(-MOST_PLACES), context=EXACT)
    return value.quantize(Decimal(1).scaleb(-places), rounding=MODES[rounding], context=EXACT)


def trimmed(value: Decimal) -> Decimal:
    """Cut idle zeros behind the cents: the warehouse pads what it stores."""
    cents = value.quantize(Decimal(1).scaleb(-CENTS), context=EXACT)
    return cents if cents == value else value.normalize(EXACT)


def rounded_quotient(dividend: Number, divisor: Number, places: int = CENTS, rounding: Rounding = "nearest") -> Decimal:
    """Divide and round once, in size and from the exact fraction; the answer always has that many places."""
    (numerator, denominator), (divisor_numerator, divisor_denominator) = (
        dividend.as_integer_ratio(),
        divisor.as_integer_ratio(),
    )
    size, unit = (
        abs(numerator) * divisor_denominator * 10 ** max(places, 0),
        denominator * abs(divisor_numerator) * 10 ** max(-places, 0),
    )
    quotient, rest = divmod(size, unit)
    if rounding == "up":
        quotient += rest > 0
    elif rounding == "nearest":
        quotient += 2 * rest >= unit
    return Decimal(quotient if (numerator < 0) == (divisor_numerator < 0) else -quotient).scaleb(-places, context=EXACT)


def ceiling(value: Number) -> int:
    """Return the least whole number that is not below the value."""
    truncated = int(value)
    return truncated + (value > truncated)


def money(amount: Decimal, currency: str) -> str:
    """Write an amount: 38,364 EUR, and cents only if there are any: 38,364.50 EUR."""
    if amount == amount.to_integral_value():
        return f"{amount:,.0f} {currency}"
    digits = plain(amount)
    return f"{digits}{'0' * (CENTS - len(digits.partition('.')[2]))} {currency}"


def number(value: Decimal) -> str:
    """Write a number with up to one decimal below 10,000, none above; the exact figure is in the export."""
    return f"{value:,.0f}" if value >= 10_000 or value == value.to_integral_value() else f"{value:,.1f}"
