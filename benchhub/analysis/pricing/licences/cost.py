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
    due = _due(rules, price, billed_units, log)
    pay = {"subscription": _subscription, "perpetual": _perpetual, "hourly": _hourly}[rules.payment]
    listed, paid, listed_support, paid_support = pay(rules, price, billed_units, due, term_years, log)
    return LicenceCost(
        name=licence.name,
        currency=price.currency,
        units=units_count.units,
        listed=rounded(listed),
        paid=_to_the_cent(paid, "licence", price.currency, log),
        listed_support=rounded(listed_support),
        paid_support=_to_the_cent(paid_support, "support", price.currency, log),
        steps=tuple(log),
        flags=_flags(licence.name, due),
    )


def _due(rules: LicenceRules, price: Price, billed: int, log: list[Step]) -> _Due:
    listed = _tier_total(rules, price, billed, log) if rules.tiers else billed * price.amount
    paid = listed
    if rules.contracted_price is not None:
        paid = billed * rules.contracted_price
    elif rules.discount_percent:
        paid = listed * (HUNDRED - rules.discount_percent) / HUNDRED
    due = _Due(listed, paid, is_plain=not rules.tiers and paid == listed)
    if not due.is_plain:
        _log_discount(rules, price, billed, due, log)
    return due


def _log_discount(rules: LicenceRules, price: Price, billed: int, due: _Due, log: list[Step]) -> None:
    listed, paid = Amount(due.listed, price.currency), Amount(due.paid, price.currency)
    if not rules.tiers:
        template = "List: {units} x {price} = {result}"
        log.append(step("list", template, listed, price.citation, units=billed, price=price.money))
    if rules.contracted_price is not None:
        unit_price = Amount(rules.contracted_price, price.currency)
        template = "Contract: {units} x {price} = {result}, instead of {listed}"
        log.append(step("contract", template, paid, units=billed, price=unit_price, listed=listed))
    elif rules.discount_percent:
        template = "Discount: {listed} less {percent}% is {result}"
        log.append(step("discount", template, paid, listed=listed, percent=rules.discount_percent))


def _tier_total(rules: LicenceRules, price: Price, billed: int, log: list[Step]) -> Decimal:
    """Add up tiers. Graduated: each unit at the price of its own tier. All-units: all at that of the tier reached."""
    bands = list(_bands(rules.tiers, price.amount, billed))
    if rules.tiers_apply == "all_units":
        bands = [(billed, bands[-1][1])] if bands else []
    total = sum((units * unit_price for units, unit_price in bands), Decimal(0))
    sum_words = " + ".join(f"{plain(units)} x {Amount(unit_price, price.currency)}" for units, unit_price in bands)
    words = "each unit at the price of its tier" if rules.tiers_apply == "graduated" else "all at the tier reached"
    result, template = Amount(total, price.currency), "Tier: {sum} = {result}, {words}"
    log.append(step("tier", template, result, price.citation, sum=sum_words or "0 units", words=words))
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


def _subscription(rules: LicenceRules, price: Price, billed: int, due: _Due, term_years: int, log: list[Step]) -> Costs:
    """Price each period of the term, raised each year by the uplift."""
    months = MONTHS if rules.period == "month" else 1
    periods = _price_years(rules, range(1, term_years + 1)) * months
    paid = due.paid * periods
    operands = _operands(due, price, billed, term=count(term_years, "year"), percent=rules.yearly_uplift_percent)
    template = f"Licence: {{term}} x {_each(due)}"
    template += " x 12 months" if rules.period == "month" else ""
    template += ", each year {percent}% dearer than the one before, is" if rules.yearly_uplift_percent else " ="
    log.append(Step("licence", template + " {result}", operands, Amount(paid, price.currency), _citation(due, price)))
    return due.listed * periods, paid, Decimal(0), Decimal(0)


def _perpetual(rules: LicenceRules, price: Price, billed: int, due: _Due, term_years: int, log: list[Step]) -> Costs:
    """Price units once, and support by the year, perhaps from the second on.

    Year n of support costs (1 + uplift) ^ (n - 1) of year 1.
    """
    currency = price.currency
    template = "Licence: {units} x {price} = {result}, for good" if due.is_plain else "Licence: {result}, for good"
    paid_once = Amount(due.paid, currency)
    log.append(Step("licence", template, _operands(due, price, billed), paid_once, _citation(due, price)))
    first = 2 if rules.is_first_year_included else 1
    share = _price_years(rules, range(first, term_years + 1)) * rules.support_percent / HUNDRED
    base = due.listed if rules.support_on == "list" else due.paid
    if rules.support_percent:
        _log_support(rules, Amount(base, currency), term_years, Amount(base * share, currency), log)
    return due.listed, due.paid, due.listed * share, base * share


def _log_support(rules: LicenceRules, base: Amount, term_years: int, support: Amount, log: list[Step]) -> None:
    paid_years = term_years - rules.is_first_year_included
    words = {"term": count(paid_years, "year")}
    words["of"] = "list price" if rules.support_on == "list" else "discounted price"
    percents = {"percent": rules.support_percent, "uplift": rules.yearly_uplift_percent}
    template = "Support: {term} x {percent}% of {base}, the {of}"
    template += "; the first year is included" if rules.is_first_year_included else ""
    template += "; each year {uplift}% dearer than the one before" if rules.yearly_uplift_percent else ""
    log.append(step("support", template + ": {result}", support, base=base, **words, **percents))


def _price_years(rules: LicenceRules, years: range) -> Decimal:
    """Return how many times the price of year 1 these years cost together."""
    factor = 1 + rules.yearly_uplift_percent / HUNDRED
    if factor == 1:
        return Decimal(len(years))
    return sum((factor ** (year - 1) for year in years), Decimal(0))


def _hourly(rules: LicenceRules, price: Price, billed: int, due: _Due, term_years: int, log: list[Step]) -> Costs:
    if rules.reserved_years:
        return _reservations(rules, price, billed, due, term_years, log)
    hours = rules.hours_per_month * MONTHS * term_years * rules.utilisation_percent / HUNDRED
    template = "Licence: {term} x 12 x {month} h at {percent}% = {hours} h; {hours} h x " + _each(due) + " = {result}"
    operands = _operands(due, price, billed, month=rules.hours_per_month, percent=rules.utilisation_percent)
    operands |= {"term": count(term_years, "year"), "hours": hours}
    paid = Amount(due.paid * hours, price.currency)
    log.append(Step("licence", template, operands, paid, _citation(due, price)))
    return due.listed * hours, due.paid * hours, Decimal(0), Decimal(0)


def _reservations(rules: LicenceRules, price: Price, billed: int, due: _Due, term_years: int, log: list[Step]) -> Costs:
    """Price whole reservations that cover the term, each paid for all its hours, used or not, part of it upfront."""
    times = -(-term_years // rules.reserved_years)
    hours = rules.hours_per_month * MONTHS * rules.reserved_years
    share = (HUNDRED - rules.reserved_percent_off) / HUNDRED
    upfront = rules.reserved_upfront * billed
    paid_upfront = upfront * (HUNDRED - rules.discount_percent) / HUNDRED
    running = due.paid * share * hours
    paid = times * (paid_upfront + running)
    early = paid_upfront + running * rules.reserved_upfront_percent / HUNDRED
    template = (
        f"Licence: {{times}} of {{reserved}}, each {{hours}} h x {_each(due)} less {{percent}}% and {{extra}} upfront, "
        "is {result}; {early} of each is paid upfront, and all of it whether it is used or not"
    )
    operands = _operands(due, price, billed, hours=hours, percent=rules.reserved_percent_off)
    operands |= {"times": count(times, "reservation"), "reserved": count(rules.reserved_years, "year")}
    operands |= {"extra": Amount(paid_upfront, price.currency), "early": Amount(early, price.currency)}
    log.append(Step("licence", template, operands, Amount(paid, price.currency), _citation(due, price)))
    return times * (upfront + due.listed * hours), paid, Decimal(0), Decimal(0)


def _operands(due: _Due, price: Price, billed: int, **others: Value) -> dict[str, Value]:
    return {"units": billed, "price": price.money, "each": Amount(due.paid, price.currency), **others}


def _each(due: _Due) -> str:
    return "{units} x {price}" if due.is_plain else "{each}"


def _citation(due: _Due, price: Price) -> str:
    """Return the citation of the list price, unless it was cited with a tier or a discount."""
    return price.citation if due.is_plain else ""


def _to_the_cent(amount: Decimal, title: str, currency: str, log: list[Step]) -> Decimal:
    cents = rounded(amount)
    if cents == amount:
        return amount
    template = "Rounded to the cent: {of} {amount} is {result}"
    log.append(step("round", template, Amount(cents, currency), of=title, amount=Amount(amount, currency)))
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
