"""Extend a line of a price sheet: its price and its maintenance over a term, in the sheet's currency, with the steps.

A discount per unit needs to know what was paid for one and how many were paid: a row has that too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from benchhub.analysis.pricing.money import (
    HUNDRED,
    Amount,
    Number,
    PricingError,
    newest_rate,
    rounded,
    rounded_quotient,
)
from benchhub.analysis.pricing.steps import Step, Value, step

from .sheet import Line, Maintenance, Sheet

MONTHS = 12
# Of a quotient that is not rounded yet: more than any rounding looks at (money.MOST_PLACES).
MANY_PLACES = 40
EACH = {"once": "", "year": " a year, {months} months", "month": " a month, {months} months"}
SUPPORT = {
    "unsupported": ", unsupported",
    "bought": ", its support is bought",
    "included": ", included in another line",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line extended, in the sheet's currency: at list price, as paid, and its maintenance, both likewise.

    `unit_price` is what was paid for one, `units` how often; of maintenance alone, nothing.
    """

    line: Line
    listed: Decimal
    price: Decimal
    maintenance: Decimal
    listed_maintenance: Decimal
    unit_price: Decimal
    units: Number
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Charge:
    """A price per unit, paid for `units`, and for `months` of the term unless it is paid once."""

    price: Decimal
    units: Number
    per: str = "once"
    months: int = 0

    @property
    def amount(self) -> Decimal:
        if self.per == "year":
            return rounded_quotient(self.price * self.units * self.months, MONTHS, MANY_PLACES)
        return self.price * self.units * (self.months if self.per == "month" else 1)

    @property
    def times(self) -> Number:
        """Return how often the price is paid in all."""
        return _Charge(Decimal(1), self.units, self.per, self.months).amount


def extended(sheet: Sheet, line: Line, months: int) -> Row:
    """Extend a line over so many months. Raises PricingError, or UnlikeCurrenciesError without a rate."""
    is_maintenance = line.maintenance is not None and line.maintenance.per == "itself"
    if line.exchange_rate is not None and not _is_foreign(sheet, line):
        raise PricingError(f"'{line.description}' is in {sheet.currency}, as the sheet is: leave out its rate.")
    if is_maintenance:
        _require_term(sheet, line, months, line.charged == "once")
    paid_months = _paid_months(line.maintenance, months) if line.maintenance and is_maintenance else months
    list_charge = _Charge(line.unit_price, line.bought, line.charged, paid_months)
    charge = _Charge(_paid_price(sheet, line), line.bought, line.charged, paid_months)
    listed, price = _amount(sheet, line, list_charge), _amount(sheet, line, charge)
    steps = (
        *_conversion(sheet, line, charge),
        _line_step(sheet, line, charge, price, "Maintenance" if is_maintenance else "Line"),
    )
    nothing = Decimal(0)
    if is_maintenance:
        return Row(line, nothing, nothing, price, listed, nothing, 0, steps)
    maintenance, maintenance_steps = _maintenance(sheet, line, months)
    unit_price = _in_currency(sheet, line, charge.price)
    return Row(line, listed, price, maintenance, maintenance, unit_price, charge.times, (*steps, *maintenance_steps))


def _paid_price(sheet: Sheet, line: Line) -> Decimal:
    """Return the unit price as it is multiplied: rounded if units are; another currency is rounded when converted."""
    if sheet.rounded_per != "unit" or _is_foreign(sheet, line):
        return line.paid_price
    return _rounded(sheet, line.paid_price)


def _require_term(sheet: Sheet, line: Line, months: int, is_for_the_term: bool) -> None:
    if is_for_the_term and months != sheet.term_months:
        raise PricingError(
            f"The maintenance of '{line.description}' is priced for {sheet.term_months} months, not for {months}: "
            f"ask for that term, or give its price by the year."
        )


def _amount(sheet: Sheet, line: Line, charge: _Charge) -> Decimal:
    """Return the charge in the sheet's currency, rounded by unit and by line if the sheet is."""
    if sheet.rounded_per == "unit":
        unit_price = _rounded(sheet, _in_currency(sheet, line, charge.price))
        return _rounded(sheet, replace(charge, price=unit_price).amount)
    amount = _in_currency(sheet, line, charge.amount)
    return _rounded(sheet, amount) if sheet.rounded_per == "line" else amount


def _rounded(sheet: Sheet, amount: Decimal) -> Decimal:
    return rounded(amount, sheet.places, sheet.rounding)


def _is_foreign(sheet: Sheet, line: Line) -> bool:
    return line.currency not in ("", sheet.currency)


def _in_currency(sheet: Sheet, line: Line, amount: Decimal) -> Decimal:
    if not _is_foreign(sheet, line):
        return amount
    if line.exchange_rate is not None:
        return amount * line.exchange_rate
    return newest_rate(sheet.rates, line.currency, sheet.currency).convert(Amount(amount, line.currency)).value


def _conversion(sheet: Sheet, line: Line, charge: _Charge) -> tuple[Step, ...]:
    """Explain a conversion by the line's own rate and source, or by the sheet's, which names its day and source."""
    if not _is_foreign(sheet, line):
        return ()
    foreign = Amount(charge.price if sheet.rounded_per == "unit" else charge.amount, line.currency)
    base, quoted, value, citation = line.currency, sheet.currency, line.exchange_rate, line.citation
    if value is None:
        rate = newest_rate(sheet.rates, line.currency, sheet.currency)
        base, quoted, value, citation = rate.base, rate.quoted, rate.value, rate.citation
    converted_amount = _in_currency(sheet, line, foreign.value)
    result = Amount(
        _rounded(sheet, converted_amount) if sheet.rounded_per in ("unit", "line") else converted_amount, sheet.currency
    )
    template = "Conversion: {amount} at 1 {base} = {rate} {quoted} is {result}"
    return (step("conversion", template, result, citation, amount=foreign, base=base, rate=value, quoted=quoted),)


def _line_step(sheet: Sheet, line: Line, charge: _Charge, result: Decimal, title: str) -> Step:
    count = "({quantity} + {spares} spares)" if line.spares else "{quantity}"
    template = f"{title}: {{description}}, {count} x {{price}}{EACH[line.charged]} = {{result}}"
    template += ", instead of {listed} each" if charge.price != line.unit_price else ""
    template += SUPPORT.get(line.support, "")
    currency = line.currency or sheet.currency
    operands: dict[str, Value] = {"quantity": line.quantity, "spares": line.spares, "months": charge.months}
    operands |= {"price": Amount(charge.price, currency), "listed": Amount(line.unit_price, currency)}
    amount = Amount(result, sheet.currency)
    return step("line", template, amount, line.citation, description=line.description, **operands)


def _maintenance(sheet: Sheet, line: Line, months: int) -> tuple[Decimal, tuple[Step, ...]]:
    maintenance = line.maintenance
    if maintenance is None:
        return Decimal(0), ()
    _require_term(sheet, line, months, maintenance.per == "term")
    quantity = line.quantity if maintenance.quantity is None else maintenance.quantity
    base = line.unit_price if maintenance.percent_of == "list" else _paid_price(sheet, line)
    price = base * maintenance.price / HUNDRED if maintenance.per == "percent" else maintenance.price
    period = {"percent": "year", "term": "once"}.get(maintenance.per, maintenance.per)
    charge = _Charge(price, quantity, period, _paid_months(maintenance, months))
    amount = _amount(sheet, line, charge)
    return amount, (
        *_conversion(sheet, line, charge),
        _maintenance_step(sheet, line, maintenance, charge, base, amount),
    )


def _paid_months(maintenance: Maintenance, months: int) -> int:
    return months if maintenance.months is None else min(maintenance.months, months)


def _maintenance_step(
    sheet: Sheet, line: Line, maintenance: Maintenance, charge: _Charge, base: Decimal, amount: Decimal
) -> Step:
    prices = {"term": "{price} for the term", "year": "{price} a year", "month": "{price} a month"}
    template = "Maintenance: {description}, {quantity} x " + prices.get(maintenance.per, "{percent}% of {base} a year")
    template += "" if maintenance.per == "term" else ", {months} months"
    currency = line.currency or sheet.currency
    amounts = {"price": Amount(maintenance.price, currency), "base": Amount(base, currency)}
    counts = {"quantity": charge.units, "percent": maintenance.price, "months": charge.months}
    words = {"description": line.description}
    return step("maintenance", template + ": {result}", Amount(amount, sheet.currency), **words, **counts, **amounts)
