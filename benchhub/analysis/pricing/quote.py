"""A price: what was bought and licensed over a term, divided by a measured throughput, with every step to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache

from benchhub.analysis.statistics.spread import Spread
from benchhub.analysis.words import count, listing

from .licences.cost import Licence, LicenceCost, price_licence, require_term
from .licences.units import NotEligible
from .listed import newest
from .money import (
    CENTS,
    HUNDRED,
    Amount,
    PricingError,
    Rate,
    Rounding,
    UnlikeCurrenciesError,
    exactly,
    newest_rate,
    number,
    rounded,
    rounded_quotient,
)
from .sheets import total as sheets_total
from .sheets.sheet import KINDS, Kind, Sheet
from .steps import Step, Value, step
from .topology import Deployment, Node

DEFAULT_TERM_YEARS = 3
TERMS_YEARS = (1, 2, 3, 4, 5)
MONTHS = 12
FEWEST_PLACES = 6
# What money for one of a unit means, where the unit does not say it.
IN_WORDS = {
    "TPS": "money per transaction per second",
    "tpsE": "money per transaction per second",
    "MQTh": "money per transaction per second",
    "NOPM": "money per new order per minute",
    "tpmC": "money per new order per minute",
    "QphH": "money per query per hour",
}


class UnlikeMetricsError(PricingError):
    pass


@dataclass(frozen=True, slots=True)
class Throughput:
    """A measured throughput, with the range of its repeats and the words that say where it comes from.

    `repeats` are the single measurements, where they are known: an interval and a comparison rest on them.
    `has_interval` is false where they are known not to be independent: then their range is all there is.
    """

    value: Decimal
    lowest: Decimal
    highest: Decimal
    unit: str
    evidence: str
    clients: int | None = None
    repeats: tuple[float, ...] = ()
    has_interval: bool = True


def measured(
    spread: Spread, repeats: Sequence[float], unit: str, evidence: str, clients: int | None = None
) -> Throughput:
    """Return the throughput of repeats: their geometric mean and range, as `statistics.spread` sums them up."""
    value, lowest, highest = (Decimal(str(number)) for number in (spread.mean, spread.lowest, spread.highest))
    return Throughput(value, lowest, highest, unit, evidence, clients, tuple(repeats), spread.interval is not None)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a price: whole years, prices not later than `on`, rounding. Empty `currency`: the first that occurs.

    `discount_percent` is off everything listed; the list total stays known.
    """

    years: int = DEFAULT_TERM_YEARS
    on: date | None = None
    currency: str = ""
    rounding: Rounding = "nearest"
    places: int = CENTS
    discount_percent: Decimal = Decimal(0)
    rates: tuple[Rate, ...] = ()

    def __post_init__(self) -> None:
        require_term(self.years)
        if not 0 <= self.discount_percent <= HUNDRED:
            raise PricingError("Write a discount from 0 to 100 per cent.")


USUAL = Terms()
NOTHING = Deployment()


@dataclass(frozen=True, slots=True)
class Order:
    """An order: machines with their list prices, licences for them, and priced sheets.

    A machine without a list price counts as bought by a sheet that has lines of hardware.
    """

    deployment: Deployment = NOTHING
    licences: tuple[Licence, ...] = ()
    sheets: tuple[Sheet, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One part of the total: a machine, a licence, its support, or what a sheet has of one kind."""

    kind: Kind
    name: str
    listed: Decimal
    paid: Decimal


@dataclass(frozen=True, slots=True)
class Cost:
    """The total of an order over a term, in one currency; `flags` are what a reader should be told of it."""

    currency: str
    items: tuple[Item, ...]
    terms: Terms
    steps: tuple[Step, ...]
    flags: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        return sum((item.paid for item in self.items), Decimal(0))

    @property
    def listed(self) -> Decimal:
        return sum((item.listed for item in self.items), Decimal(0))

    def subtotal(self, kind: Kind) -> Decimal:
        return sum((item.paid for item in self.items if item.kind == kind), Decimal(0))

    @property
    def subtotals(self) -> dict[Kind, Decimal]:
        """Return the cost of each kind; they add up to the total."""
        return {kind: self.subtotal(kind) for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Quote:
    """Money per unit of throughput, with the steps that lead to it, each of which reads as a sentence."""

    cost: Cost
    throughput: Throughput
    steps: tuple[Step, ...]

    @property
    def total(self) -> Decimal:
        return self.cost.total

    @property
    def currency(self) -> str:
        return self.cost.currency

    @property
    def term_years(self) -> int:
        return self.cost.terms.years

    @property
    def hardware(self) -> Decimal:
        return self.cost.subtotal("hardware")

    @property
    def licences(self) -> Decimal:
        return self.cost.subtotal("licence")

    @property
    def support(self) -> Decimal:
        return self.cost.subtotal("support")

    @property
    def quotient(self) -> Decimal:
        """Return the price to 28 significant digits; to round it, ask `price`, which works from the exact fraction."""
        return self.total / self.throughput.value

    def price(self, places: int | None = None, rounding: Rounding | None = None) -> Decimal:
        """Return the price, rounded as the terms say unless asked otherwise."""
        terms = self.cost.terms
        places = terms.places if places is None else places
        return rounded_quotient(self.total, self.throughput.value, places, rounding or terms.rounding)


@dataclass(slots=True)
class _Account:
    """The items so far, all in one currency, with their steps."""

    terms: Terms
    currency: str = ""
    items: list[Item] = field(default_factory=list)
    log: list[Step] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    def add(self, kind: Kind, name: str, listed: Amount, paid: Amount) -> None:
        """Add an item, converted if need be and less the discount on everything."""
        self.currency = self.currency or self.terms.currency or paid.currency
        listed_value, paid_value = self._convert(name, listed, is_logged=False), self._convert(name, paid)
        share = HUNDRED - self.terms.discount_percent
        paid_value = rounded(paid_value * share / HUNDRED) if self.terms.discount_percent else paid_value
        self.items.append(Item(kind, name, listed_value, paid_value))

    def _convert(self, name: str, amount: Amount, is_logged: bool = True) -> Decimal:
        if amount.currency == self.currency:
            return amount.value
        rate = self._rate(name, amount.currency)
        value = rounded(rate.convert(amount).value)
        if is_logged:
            template = "Conversion: {name}, {amount} at 1 {base} = {rate} {quoted} is {result}"
            operands: dict[str, Value] = {"name": name, "amount": amount}
            operands |= {"base": rate.base, "rate": rate.value, "quoted": rate.quoted}
            self.log.append(step("conversion", template, Amount(value, self.currency), rate.citation, **operands))
        return value

    def _rate(self, name: str, currency: str) -> Rate:
        try:
            return newest_rate(self.terms.rates, currency, self.currency, self.terms.on)
        except UnlikeCurrenciesError as error:
            raise UnlikeCurrenciesError(f"'{name}' is priced in {currency}. {error}") from None


@dataclass(frozen=True, slots=True)
class _SheetParts:
    """The parts of a sheet's total that an order takes, by kind."""

    steps: tuple[Step, ...]
    flags: tuple[str, ...]
    listed: Mapping[Kind, Decimal]
    paid: Mapping[Kind, Decimal]


@exactly
def cost(order: Order, terms: Terms = USUAL) -> Cost | NotEligible:
    """Add up an order. NotEligible where a licence does not cover it.

    Raises MissingPriceError, UnlikeCurrenciesError, or PricingError for what else is missing or wrong.
    """
    account = _Account(terms)
    for node in order.deployment.nodes:
        _add_machine(account, node, order)
    for sheet in order.sheets:
        _add_sheet(account, sheet)
    for licence in order.licences:
        licence_total = price_licence(licence, order.deployment, terms.years, terms.on)
        if isinstance(licence_total, NotEligible):
            return licence_total
        _add_licence(account, licence_total)
    if not account.currency:
        raise PricingError("There is nothing to be priced: name a machine, a sheet or a licence.")
    return _close(account)


@exactly
def licence_cost(licence: Licence, deployment: Deployment, terms: Terms = USUAL) -> Cost | NotEligible:
    """Price a licence and its support alone; no licence costs 0 in no currency. Raises what `cost` raises."""
    account = _Account(terms)
    licence_total = price_licence(licence, deployment, terms.years, terms.on)
    if isinstance(licence_total, NotEligible):
        return licence_total
    _add_licence(account, licence_total)
    return _close(account)


def quote(order: Order, throughput: Throughput, terms: Terms = USUAL) -> Quote | NotEligible:
    """Price an order per unit of throughput; raises what `cost` raises."""
    if throughput.lowest <= 0:
        raise PricingError("A price per transaction needs a throughput above 0.")
    order_cost = cost(order, terms)
    return order_cost if isinstance(order_cost, NotEligible) else quote_of(order_cost, throughput)


def quote_of(cost: Cost, throughput: Throughput) -> Quote:
    """Divide a known cost by a throughput above 0."""
    if throughput.lowest <= 0:
        raise PricingError("A price per transaction needs a throughput above 0.")
    return Quote(cost, throughput, (*cost.steps, *_throughput_steps(cost, throughput)))


def _add_machine(account: _Account, node: Node, order: Order) -> None:
    machine, on = node.machine, account.terms.on
    if not node.prices and any(line.kind == "hardware" for sheet in order.sheets for line in sheet.lines):
        return
    price = newest(node.prices, "hardware", machine.name, on)
    paid = Amount(price.amount * node.quantity, price.currency)
    template = "Hardware: {machine} costs {result}"
    if node.quantity > 1:
        template = "Hardware: {quantity} x {machine}, each {price}, cost {result}"
    operands: dict[str, Value] = {"machine": machine.name, "quantity": node.quantity, "price": price.money}
    account.log.append(step("hardware", template, paid, price.citation, **operands))
    account.add("hardware", machine.name, paid, paid)


# One sheet stands under many licences, and its lines come to the same each time.
@lru_cache(maxsize=128)
def _sheet_parts(sheet: Sheet, term_months: int) -> _SheetParts:
    total = sheets_total.total(sheet, term_months)
    return _SheetParts(total.steps, total.flags, total.listed_by_kind, total.by_kind)


def _add_sheet(account: _Account, sheet: Sheet) -> None:
    parts = _sheet_parts(sheet, account.terms.years * MONTHS)
    account.log += parts.steps
    account.flags += parts.flags
    for kind, amount in parts.paid.items():
        account.add(kind, sheet.name, Amount(parts.listed[kind], sheet.currency), Amount(amount, sheet.currency))


def _add_licence(account: _Account, licence_total: LicenceCost) -> None:
    account.log += licence_total.steps
    account.flags += licence_total.flags
    currency = licence_total.currency
    if not currency:
        return
    listed, paid = Amount(licence_total.listed, currency), Amount(licence_total.paid, currency)
    account.add("licence", licence_total.name, listed, paid)
    if licence_total.paid_support:
        listed, paid = Amount(licence_total.listed_support, currency), Amount(licence_total.paid_support, currency)
        account.add("support", licence_total.name, listed, paid)


def _close(account: _Account) -> Cost:
    terms, currency = account.terms, account.currency
    if terms.discount_percent:
        template = "Discount: {percent}% off everything is taken off each part"
        account.log.append(step("discount", template, terms.discount_percent, percent=terms.discount_percent))
    parts = [Amount(item.paid, currency) for item in account.items if item.paid]
    total = Amount(sum((item.paid for item in account.items), Decimal(0)), currency)
    template = "Total over {term}: {sum} = {result}" if len(parts) > 1 else "Total over {term}: {result}"
    sum_words = " + ".join(str(part) for part in parts)
    account.log.append(step("total", template, total, term=count(terms.years, "year"), sum=sum_words))
    return Cost(currency, tuple(account.items), terms, tuple(account.log), tuple(account.flags))


def _throughput_steps(cost: Cost, throughput: Throughput) -> tuple[Step, ...]:
    unit, total = throughput.unit, Amount(cost.total, cost.currency)
    value = number(throughput.value)
    throughput_step = step("throughput", "Throughput: {result} {unit}", value, throughput.evidence, unit=unit)
    nearest, up = (rounded_quotient(total.value, throughput.value, CENTS, rounding) for rounding in ("nearest", "up"))
    words = f", {IN_WORDS[unit]}" if unit in IN_WORDS else ""
    template = (
        f"Price: {{total}} / {{throughput}} {{unit}} = {{exact}} {{currency}} per {{unit}}{words}; "
        "to the cent {nearest} by rounding to nearest, {up} by rounding up"
    )
    quotient = total.value / throughput.value
    operands: dict[str, Value] = {"total": total, "throughput": value, "unit": unit, "currency": cost.currency}
    operands |= {"exact": digits(quotient), "nearest": str(nearest), "up": str(up)}
    return (throughput_step, step("price", template, quotient, **operands), *_range_step(total, throughput))


def _range_step(total: Amount, throughput: Throughput) -> tuple[Step, ...]:
    if throughput.lowest == throughput.highest:
        return ()
    low, high = total.value / throughput.highest, total.value / throughput.lowest
    template = "Range of repeats: {lowest} to {highest} {unit} gives {low} to {result} {currency} per {unit}"
    operands = {"lowest": number(throughput.lowest), "highest": number(throughput.highest), "low": digits(low)}
    operands |= {"unit": throughput.unit, "currency": total.currency}
    return (step("range", template, digits(high), **operands),)


def digits(quotient: Decimal) -> str:
    """Write a quotient with six decimals, and more if it is so small that six would hide it."""
    return f"{quotient:.{max(FEWEST_PLACES, 3 - quotient.adjusted())}f}"


def require_alike(quotes: Sequence[Quote]) -> None:
    """Raise UnlikeCurrenciesError or UnlikeMetricsError unless these prices may be compared."""
    currencies = sorted({quote.currency for quote in quotes})
    if len(currencies) > 1:
        raise UnlikeCurrenciesError(f"Prices in {listing(currencies)} are not comparable: convert them first.")
    units = sorted({quote.throughput.unit for quote in quotes})
    if len(units) > 1:
        raise UnlikeMetricsError(f"Prices per {listing(units)} are not comparable: the units differ.")
    terms = sorted({quote.term_years for quote in quotes})
    if len(terms) > 1:
        terms_text = listing(count(term, "year") for term in terms)
        raise UnlikeMetricsError(f"Prices over {terms_text} are not comparable: the terms differ.")
