"""Price licences over a term: tier, discount, then subscription, perpetual with support, or by the hour.

List and discount are kept apart. Amounts due are rounded to the cent, once for licences and once for support.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from benchhub.analysis.pricing.listed import Price, newest
from benchhub.analysis.pricing.money import HUNDRED, Amount, PricingError, exactly, rounded
from benchhub.analysis.pricing.steps import Step, Value, step
from benchhub.analysis.pricing.topology import Deployment
from benchhub.analysis.words import count, plain

from .rules import LicenceRules, Tier
from .units import Count, NotEligible, count_licences

SMALL_DISCOUNT_PERCENT = Decimal(25)
LARGE_DISCOUNT_PERCENT = Decimal(50)
MONTHS = 12


@dataclass(frozen=True, slots=True)
class Licence:
    """A product with its rules and its list prices, of which the newest by a day counts.

    The price is of one unit (or pack): a year or month of it, or for good, or an hour, as the rules say.
    """

    name: str
    rules: LicenceRules
    prices: tuple[Price, ...] = ()


@dataclass(frozen=True, slots=True)
class LicenceCost:
    """The cost over the term, at list price and as paid; support is apart from the licences themselves."""

    name: str
    currency: str
    units: int
    listed: Decimal
    paid: Decimal
    listed_support: Decimal
    paid_support: Decimal
    steps: tuple[Step, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Bill:
    """What is paid for: so many units (or packs) at a list price, by the rules, over the term; `log` derives it."""

    rules: LicenceRules
    price: Price
    units: int
    term_years: int
    log: list[Step]

    @property
    def term_text(self) -> str:
        return count(self.term_years, "year")

    def amount(self, value: Decimal) -> Amount:
        return Amount(value, self.price.currency)


@dataclass(frozen=True, slots=True)
class _Due:
    """The cost of all units by the rules' period (year, month, hour) or for good: at list price, and as paid."""

    listed: Decimal
    paid: Decimal
    is_plain: bool


@exactly
def price_licence(
    licence: Licence, deployment: Deployment, term_years: int, on: date | None = None
) -> LicenceCost | NotEligible:
    """Price a licence for a deployment over the term. Raises MissingPriceError or PricingError."""
    require_term(term_years)
    rules = licence.rules
    units_count = count_licences(licence.name, rules, deployment, on)
    if isinstance(units_count, NotEligible):
        return units_count
    if rules.metric == "none":
        nothing = Decimal(0)
        return LicenceCost(licence.name, "", 0, nothing, nothing, nothing, nothing, units_count.steps)
    price = newest(licence.prices, "licence", licence.name, on)
    return _licence_cost(licence, price, units_count, term_years)


def _licence_cost(licence: Licence, price: Price, units_count: Count, term_years: int) -> LicenceCost:
    rules, log = licence.rules, list(units_count.steps)
    billed_units = units_count.units // rules.pack if rules.is_price_per_pack else units_count.units
    bill = _Bill(rules, price, billed_units, term_years, log)
    due = _due(bill)
    pay = {"subscription": _subscription, "perpetual": _perpetual, "hourly": _hourly}[rules.payment]
    listed, paid, listed_support, paid_support = pay(bill, due)
    return LicenceCost(
        name=licence.name,
        currency=price.currency,
        units=units_count.units,
        listed=rounded(listed),
        paid=_to_the_cent(paid, "licence", bill),
        listed_support=rounded(listed_support),
        paid_support=_to_the_cent(paid_support, "support", bill),
        steps=tuple(log),
        flags=_flags(licence.name, due),
    )


def _due(bill: _Bill) -> _Due:
    rules = bill.rules
    listed = _tier_total(bill) if rules.tiers else bill.units * bill.price.amount
    paid = listed
    if rules.contracted_price is not None:
        paid = bill.units * rules.contracted_price
    elif rules.discount_percent:
        paid = listed * (HUNDRED - rules.discount_percent) / HUNDRED
    due = _Due(listed, paid, is_plain=not rules.tiers and paid == listed)
    if not due.is_plain:
        _log_discount(bill, due)
    return due


def _log_discount(bill: _Bill, due: _Due) -> None:
    rules, price, log = bill.rules, bill.price, bill.log
    listed, paid = bill.amount(due.listed), bill.amount(due.paid)
    if not rules.tiers:
        template = "List: {units} x {price} = {result}"
        log.append(step("list", template, listed, price.citation, units=bill.units, price=price.money))
    if rules.contracted_price is not None:
        unit_price = bill.amount(rules.contracted_price)
        template = "Contract: {units} x {price} = {result}, instead of {listed}"
        log.append(step("contract", template, paid, units=bill.units, price=unit_price, listed=listed))
    elif rules.discount_percent:
        template = "Discount: {listed} less {percent}% is {result}"
        log.append(step("discount", template, paid, listed=listed, percent=rules.discount_percent))


def _tier_total(bill: _Bill) -> Decimal:
    """Add up tiers. Graduated: each unit at the price of its own tier. All-units: all at that of the tier reached."""
    rules = bill.rules
    bands = list(_bands(rules.tiers, bill.price.amount, bill.units))
    if rules.tiers_apply == "all_units":
        bands = [(bill.units, bands[-1][1])] if bands else []
    total = sum((units * unit_price for units, unit_price in bands), Decimal(0))
    sum_words = " + ".join(f"{plain(units)} x {bill.amount(unit_price)}" for units, unit_price in bands)
    words = "each unit at the price of its tier" if rules.tiers_apply == "graduated" else "all at the tier reached"
    result, template = bill.amount(total), "Tier: {sum} = {result}, {words}"
    bill.log.append(step("tier", template, result, bill.price.citation, sum=sum_words or "0 units", words=words))
    return total


def _bands(tiers: Sequence[Tier], list_price: Decimal, billed: int) -> Iterator[tuple[int, Decimal]]:
    """Yield units and unit price of each tier that is reached; below the first tier stands the list price."""
    starts = [(1, list_price)] if tiers[0].from_units > 1 else []
    starts += [(tier.from_units, tier.unit_price(list_price)) for tier in tiers]
    ends = [(billed + 1, Decimal(0))]
    for (start, unit_price), (following, _) in pairwise(starts + ends):
        units = min(following, billed + 1) - start
        if units > 0:
            yield units, unit_price


Costs = tuple[Decimal, Decimal, Decimal, Decimal]


def _subscription(bill: _Bill, due: _Due) -> Costs:
    """Price each period of the term, raised each year by the uplift."""
    rules = bill.rules
    months = MONTHS if rules.period == "month" else 1
    periods = _price_years(rules, range(1, bill.term_years + 1)) * months
    paid = due.paid * periods
    operands = _operands(bill, due, term=bill.term_text, percent=rules.yearly_uplift_percent)
    template = f"Licence: {{term}} x {_each(due)}"
    template += " x 12 months" if rules.period == "month" else ""
    template += ", each year {percent}% dearer than the one before, is" if rules.yearly_uplift_percent else " ="
    _log_licence(bill, due, template + " {result}", operands, paid)
    return due.listed * periods, paid, Decimal(0), Decimal(0)


def _perpetual(bill: _Bill, due: _Due) -> Costs:
    """Price units once, and support by the year, perhaps from the second on.

    Year n of support costs (1 + uplift) ^ (n - 1) of year 1.
    """
    rules = bill.rules
    template = "Licence: {units} x {price} = {result}, for good" if due.is_plain else "Licence: {result}, for good"
    _log_licence(bill, due, template, _operands(bill, due), due.paid)
    first = 2 if rules.is_first_year_included else 1
    share = _price_years(rules, range(first, bill.term_years + 1)) * rules.support_percent / HUNDRED
    base = due.listed if rules.support_on == "list" else due.paid
    if rules.support_percent:
        _log_support(bill, bill.amount(base), bill.amount(base * share))
    return due.listed, due.paid, due.listed * share, base * share


def _log_licence(bill: _Bill, due: _Due, template: str, operands: dict[str, Value], paid: Decimal) -> None:
    """Add the step of the licence, with the citation of its list price unless a tier or a discount had it."""
    citation = bill.price.citation if due.is_plain else ""
    bill.log.append(Step("licence", template, operands, bill.amount(paid), citation))


def _log_support(bill: _Bill, base: Amount, support: Amount) -> None:
    rules = bill.rules
    paid_years = bill.term_years - rules.is_first_year_included
    words = {"term": count(paid_years, "year")}
    words["of"] = "list price" if rules.support_on == "list" else "discounted price"
    percents = {"percent": rules.support_percent, "uplift": rules.yearly_uplift_percent}
    template = "Support: {term} x {percent}% of {base}, the {of}"
    template += "; the first year is included" if rules.is_first_year_included else ""
    template += "; each year {uplift}% dearer than the one before" if rules.yearly_uplift_percent else ""
    bill.log.append(step("support", template + ": {result}", support, base=base, **words, **percents))


def _price_years(rules: LicenceRules, years: range) -> Decimal:
    """Return how many times the price of year 1 these years cost together."""
    factor = 1 + rules.yearly_uplift_percent / HUNDRED
    if factor == 1:
        return Decimal(len(years))
    return sum((factor ** (year - 1) for year in years), Decimal(0))


def _hourly(bill: _Bill, due: _Due) -> Costs:
    rules = bill.rules
    if rules.reserved_years:
        return _reservations(bill, due)
    hours = rules.hours_per_month * MONTHS * bill.term_years * rules.utilisation_percent / HUNDRED
    template = "Licence: {term} x 12 x {month} h at {percent}% = {hours} h; {hours} h x " + _each(due) + " = {result}"
    operands = _operands(bill, due, month=rules.hours_per_month, percent=rules.utilisation_percent)
    operands |= {"term": bill.term_text, "hours": hours}
    _log_licence(bill, due, template, operands, due.paid * hours)
    return due.listed * hours, due.paid * hours, Decimal(0), Decimal(0)


def _reservations(bill: _Bill, due: _Due) -> Costs:
    """Price whole reservations that cover the term, each paid for all its hours, used or not, part of it upfront."""
    rules = bill.rules
    times = -(-bill.term_years // rules.reserved_years)
    hours = rules.hours_per_month * MONTHS * rules.reserved_years
    share = (HUNDRED - rules.reserved_percent_off) / HUNDRED
    upfront = rules.reserved_upfront * bill.units
    paid_upfront = upfront * (HUNDRED - rules.discount_percent) / HUNDRED
    running = due.paid * share * hours
    paid = times * (paid_upfront + running)
    early = paid_upfront + running * rules.reserved_upfront_percent / HUNDRED
    template = (
        f"Licence: {{times}} of {{reserved}}, each {{hours}} h x {_each(due)} less {{percent}}% and {{extra}} upfront, "
        "is {result}; {early} of each is paid upfront, and all of it whether it is used or not"
    )
    operands = _operands(bill, due, hours=hours, percent=rules.reserved_percent_off)
    operands |= {"times": count(times, "reservation"), "reserved": count(rules.reserved_years, "year")}
    operands |= {"extra": bill.amount(paid_upfront), "early": bill.amount(early)}
    _log_licence(bill, due, template, operands, paid)
    return times * (upfront + due.listed * hours), paid, Decimal(0), Decimal(0)


def _operands(bill: _Bill, due: _Due, **others: Value) -> dict[str, Value]:
    return {"units": bill.units, "price": bill.price.money, "each": bill.amount(due.paid), **others}


def _each(due: _Due) -> str:
    return "{units} x {price}" if due.is_plain else "{each}"


def _to_the_cent(amount: Decimal, title: str, bill: _Bill) -> Decimal:
    cents = rounded(amount)
    if cents == amount:
        return amount
    template = "Rounded to the cent: {of} {amount} is {result}"
    bill.log.append(step("round", template, bill.amount(cents), of=title, amount=bill.amount(amount)))
    return cents


def _flags(name: str, due: _Due) -> tuple[str, ...]:
    percent_off = HUNDRED * (due.listed - due.paid) / due.listed if due.listed else Decimal(0)
    flag = suspicion(f"the licence {name}", percent_off, is_large=False)
    return (flag,) if flag else ()


def suspicion(title: str, percent_off: Decimal, is_large: bool) -> str:
    """Return a sentence if a discount is larger than usual at this quantity by the TPC's rules; otherwise empty."""
    usual = LARGE_DISCOUNT_PERCENT if is_large else SMALL_DISCOUNT_PERCENT
    if percent_off <= usual:
        return ""
    percent_text, quantity = plain(rounded(percent_off, 1)), "large" if is_large else "small"
    return f"A discount of {percent_text}% on {title} is over {usual}%, suspicious in {quantity} quantity."


def require_term(term_years: int) -> None:
    if term_years < 1:
        raise PricingError("The term must be one year at least.")
