"""Price per transaction per second: hardware and licence over a term, divided by a measured throughput.

Decimal throughout; quotients are rounded from the exact fraction. Rules after the TPC's pricing specification:
the term is 3 years by default, the rounding is named, unlike currencies never add, a missing price is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Metric = Literal["none", "socket", "core"]
Rounding = Literal["nearest", "up"]

DEFAULT_TERM_YEARS = 3
TERMS_YEARS = (1, 2, 3, 4, 5)
UNIT_WORDS = {"socket": "occupied socket", "core": "physical core"}


class PricingError(ValueError):
    """No price can be given; the message says what is wrong or missing."""


class MissingPriceError(PricingError):
    """`of` says which of the two has no price, so that a page can lead to where one is added."""

    def __init__(self, of: Literal["hardware", "licence"], name: str) -> None:
        self.of = of
        super().__init__(f"There is no list price for the {of} '{name}': add one, with its date and source.")


class UnlikeCurrenciesError(PricingError):
    pass


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
    def citation(self) -> str:
        row = "" if self.row is None else f"list price {self.row}, "
        return f"{row}{self.priced_on.isoformat()}, source: {self.source}"


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware as it was bought: licences count these sockets and cores, not what a virtual machine shows."""

    name: str
    sockets: int
    cores_per_socket: int
    price: Price | None


@dataclass(frozen=True, slots=True)
class Licence:
    """How a product is counted: not at all, or per socket or core and year at `price`."""

    name: str
    metric: Metric
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was measured, with the range of its repeats and the words that say where it comes from."""

    value: Decimal
    lowest: Decimal
    highest: Decimal
    unit: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Quote:
    """Money per (transaction per second), with the steps that lead to it, each a sentence."""

    licence: str
    currency: str
    hardware: Decimal
    licences: Decimal
    term_years: int
    throughput: Throughput
    steps: tuple[str, ...]

    @property
    def total(self) -> Decimal:
        return self.hardware + self.licences

    @property
    def quotient(self) -> Decimal:
        """To 28 significant digits; to round it, ask `price`, which works from the exact fraction."""
        return self.total / self.throughput.value

    def price(self, places: int = 2, rounding: Rounding = "nearest") -> Decimal:
        return rounded_quotient(self.total, self.throughput.value, places, rounding)

    def price_range(self, places: int = 2, rounding: Rounding = "nearest") -> tuple[Decimal, Decimal]:
        """Lowest and highest price over the range of repeats: the highest throughput gives the lowest price."""
        lowest = rounded_quotient(self.total, self.throughput.highest, places, rounding)
        return lowest, rounded_quotient(self.total, self.throughput.lowest, places, rounding)


def quote(machine: Machine, licence: Licence, throughput: Throughput, term_years: int = DEFAULT_TERM_YEARS) -> Quote:
    """Price one system under one licence. Raises MissingPriceError, UnlikeCurrenciesError or PricingError."""
    if throughput.lowest <= 0:
        raise PricingError("A price per transaction needs a throughput above 0.")
    if term_years < 1:
        raise PricingError("The term must be one year at least.")
    hardware = _require(machine.price, "hardware", machine.name)
    units = count_units(machine, licence.metric)
    licences, licence_steps = _licences(machine, licence, units, term_years, hardware.currency)
    total = hardware.amount + licences
    return Quote(
        licence=licence.name,
        currency=hardware.currency,
        hardware=hardware.amount,
        licences=licences,
        term_years=term_years,
        throughput=throughput,
        steps=(
            f"Hardware: {machine.name} costs {money(hardware.amount, hardware.currency)} ({hardware.citation}).",
            *licence_steps,
            f"Total over {years(term_years)}: {_total_words(hardware, licences, total)}.",
            f"Throughput: {number(throughput.value)} {throughput.unit} ({throughput.evidence}).",
            _quotient_step(total, hardware.currency, throughput),
            *_range_step(total, hardware.currency, throughput),
        ),
    )


def count_units(machine: Machine, metric: Metric) -> int:
    """Licences that the machine needs: 0, its sockets, or its physical cores."""
    cores = machine.sockets * machine.cores_per_socket
    return {"none": 0, "socket": machine.sockets, "core": cores}[metric]


def rounded_quotient(dividend: Decimal, divisor: Decimal, places: int, rounding: Rounding) -> Decimal:
    """Divide and round once, from the exact fraction: half up for `nearest`, or up. Amounts are not negative."""
    scaled = Fraction(dividend) / Fraction(divisor) * 10**places
    whole = math.ceil(scaled) if rounding == "up" else math.floor(scaled + Fraction(1, 2))
    return Decimal(whole).scaleb(-places)


def money(amount: Decimal, currency: str) -> str:
    """38,364 EUR; cents only where there are any: 38,364.50 EUR."""
    places = 0 if amount == amount.to_integral_value() else max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{amount:,.{places}f} {currency}"


def number(value: Decimal) -> str:
    """Up to one decimal below 10,000, none above; the exact figure is in the export."""
    return f"{value:,.0f}" if value >= 10_000 or value == value.to_integral_value() else f"{value:,.1f}"


def years(term_years: int) -> str:
    return "1 year" if term_years == 1 else f"{term_years} years"


def _require(price: Price | None, of: Literal["hardware", "licence"], name: str) -> Price:
    if price is None:
        raise MissingPriceError(of, name)
    return price


def _licences(
    machine: Machine, licence: Licence, units: int, term_years: int, currency: str
) -> tuple[Decimal, tuple[str, ...]]:
    if licence.metric == "none":
        return Decimal(0), (f"Licence: {licence.name} adds nothing, and support is not bought.",)
    price = _require(licence.price, "licence", licence.name)
    if price.currency != currency:
        raise UnlikeCurrenciesError(
            f"The hardware '{machine.name}' is priced in {currency} and the licence '{licence.name}' in "
            f"{price.currency}: amounts in unlike currencies cannot be added."
        )
    amount = term_years * units * price.amount
    return amount, (_count_step(machine, licence, units), _licence_step(price, units, term_years, amount))


def _count_step(machine: Machine, licence: Licence, units: int) -> str:
    word = UNIT_WORDS[licence.metric]
    if licence.metric == "core":
        sum_words = f"{machine.sockets} x {machine.cores_per_socket} = {units}"
        return f"Units: {licence.name} is counted per {word} as bought; {machine.name} has {sum_words}."
    return f"Units: {licence.name} is counted per {word} as bought; {machine.name} has {units}."


def _licence_step(price: Price, units: int, term_years: int, amount: Decimal) -> str:
    return (
        f"Licence: {years(term_years)} x {units} x {money(price.amount, price.currency)} = "
        f"{money(amount, price.currency)} ({price.citation})."
    )


def _total_words(hardware: Price, licences: Decimal, total: Decimal) -> str:
    if not licences:
        return money(total, hardware.currency)
    return f"{money(hardware.amount, hardware.currency)} + {money(licences, hardware.currency)} = " + money(
        total, hardware.currency
    )


def _quotient_step(total: Decimal, currency: str, throughput: Throughput) -> str:
    nearest = rounded_quotient(total, throughput.value, 2, "nearest")
    up = rounded_quotient(total, throughput.value, 2, "up")
    return (
        f"Price: {money(total, currency)} / {number(throughput.value)} {throughput.unit} = "
        f"{total / throughput.value:.6f} {currency} per {throughput.unit}, money per transaction per second; "
        f"to the cent {nearest} by rounding to nearest, {up} by rounding up."
    )


def _range_step(total: Decimal, currency: str, throughput: Throughput) -> tuple[str, ...]:
    if throughput.lowest == throughput.highest:
        return ()
    return (
        f"Range of repeats: {number(throughput.lowest)} to {number(throughput.highest)} {throughput.unit} gives "
        f"{total / throughput.highest:.6f} to {total / throughput.lowest:.6f} {currency} per {throughput.unit}.",
    )
