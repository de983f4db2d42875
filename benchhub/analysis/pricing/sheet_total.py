"""What a price sheet comes to: extended lines, discounts, subtotals by category and kind, flags, and every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from .licences import suspicion
from .money import HUNDRED, Amount, PricingError, exactly, newest_rate, rounded, rounded_quotient
from .sheet import KINDS, Discount, Kind, Line, Maintenance, Sheet
from .steps import Step, Value, step

Column = Literal["price", "maintenance"]
MONTHS = 12
# Of a quotient that is not rounded yet: more than any rounding looks at (money.MOST_PLACES).
MANY_PLACES = 40


@dataclass(frozen=True, slots=True)
class Row:
    """A line extended, in the sheet's currency: at list price, as paid, and its maintenance."""

    line: Line
    listed: Decimal
    price: Decimal
    maintenance: Decimal

    def of(self, column: Column) -> Decimal:
        return self.price if column == "price" else self.maintenance


@dataclass(frozen=True, slots=True)
class Taken:
    """What a discount takes off each column, as amounts above 0, and the sums that it was on."""

    discount: Discount
    price: Decimal
    maintenance: Decimal
    price_base: Decimal
    maintenance_base: Decimal

    def of(self, column: Column) -> Decimal:
        return self.price if column == "price" else self.maintenance


@dataclass(frozen=True, slots=True)
class Subtotal:
    """Extended amounts of one category, before discounts."""

    category: str
    price: Decimal
    maintenance: Decimal


@dataclass(frozen=True, slots=True)
class SheetTotal:
    """`total` is what the sheet comes to; `rounding` is what rounding columns or the total has added (or taken)."""

    sheet: Sheet
    rows: tuple[Row, ...]
    taken: tuple[Taken, ...]
    price: Decimal
    maintenance: Decimal
    total: Decimal
    steps: tuple[Step, ...]

    @property
    @exactly
    def listed(self) -> Decimal:
        return sum((row.listed + row.maintenance for row in self.rows), Decimal(0))

    @property
    @exactly
    def discounts(self) -> Decimal:
        return sum((taken.price + taken.maintenance for taken in self.taken), Decimal(0))

    @property
    @exactly
    def rounding(self) -> Decimal:
        return self.total - sum((row.price + row.maintenance for row in self.rows), Decimal(0)) + self.discounts

    @property
    @exactly
    def subtotals(self) -> tuple[Subtotal, ...]:
        """By category, in the order they first appear; with discounts and rounding they add up to the total."""
        categories = dict.fromkeys(row.line.category for row in self.rows)
        return tuple(self._subtotal(category) for category in categories)

    def _subtotal(self, category: str) -> Subtotal:
        rows = [row for row in self.rows if row.line.category == category]
        price, maintenance = _sum(rows, "price"), _sum(rows, "maintenance")
        return Subtotal(category, price, maintenance)

    @property
    @exactly
    def listed_by_kind(self) -> dict[Kind, Decimal]:
        """At list price, before contracts and discounts; maintenance is support."""
        listed = dict.fromkeys(KINDS, Decimal(0))
        for row in self.rows:
            listed[row.line.kind] += row.listed
            listed["support"] += row.maintenance
        return listed

    @property
    @exactly
    def by_kind(self) -> dict[Kind, Decimal]:
        """After discounts, which are shared out by what they were on; adds up to the total. Maintenance is support."""
        shares = dict.fromkeys(KINDS, Fraction(0))
        for row in self.rows:
            shares[row.line.kind] += Fraction(row.price)
            shares["support"] += Fraction(row.maintenance)
        for taken in self.taken:
            shares["support"] -= Fraction(taken.maintenance)
            for kind, part in _shared_out(taken, self.rows).items():
                shares[kind] -= part
        return _adding_up({kind: share for kind, share in shares.items() if share}, self.total)

    @property
    def available_on(self) -> date | None:
        """When the last line is to be had; None where no line says."""
        return max((row.line.available_on for row in self.rows if row.line.available_on), default=None)

    @property
    def flags(self) -> tuple[str, ...]:
        """Discounts that the TPC's rules call suspicious."""
        offs = [(f"'{taken.discount.description}'", _percent_off(taken)) for taken in self.taken]
        offs += [
            (f"'{row.line.description}'", HUNDRED * (row.listed - row.price) / row.listed)
            for row in self.rows
            if row.listed > 0
        ]
        found = [suspicion(of, off, self.sheet.is_large_quantity) for of, off in offs]
        return tuple(flag for flag in found if flag)


@exactly
def total(sheet: Sheet, term_months: int | None = None) -> SheetTotal:
    """Add up a sheet over its own term or another. Raises PricingError, or UnlikeCurrenciesError without a rate."""
    months = sheet.term_months if term_months is None else term_months
    log: list[Step] = []
    rows = tuple(_extended(sheet, line, months, log) for line in sheet.lines)
    taken: list[Taken] = []
    for discount in sheet.discounts:
        taken.append(_take(sheet, discount, rows, taken, log))
    price, maintenance = (_net(sheet, rows, taken, column) for column in ("price", "maintenance"))
    grand = rounded(price + maintenance, _total_places(sheet), sheet.rounding)
    log.append(_total_step(sheet, price, maintenance, grand))
    return SheetTotal(sheet, rows, tuple(taken), price, maintenance, grand, tuple(log))


def _total_places(sheet: Sheet) -> int:
    return sheet.places if sheet.total_places is None else sheet.total_places


def _net(sheet: Sheet, rows: Sequence[Row], taken: Sequence[Taken], column: Column) -> Decimal:
    net = _sum(rows, column) - sum((one.of(column) for one in taken), Decimal(0))
    return rounded(net, sheet.places, sheet.rounding) if sheet.rounded_per == "column" else net


def _sum(rows: Sequence[Row], column: Column) -> Decimal:
    return sum((row.of(column) for row in rows), Decimal(0))


def _total_step(sheet: Sheet, price: Decimal, maintenance: Decimal, grand: Decimal) -> Step:
    template = "Sheet: {sheet} comes to {result}"
    if maintenance:
        template = "Sheet: {sheet} comes to {price} + {maintenance} for maintenance = {result}"
    operands = {"price": Amount(price, sheet.currency), "maintenance": Amount(maintenance, sheet.currency)}
    if grand != price + maintenance:
        template += ", rounded"
    return step("sheet", template, Amount(grand, sheet.currency), sheet=sheet.name, **operands)


def _extended(sheet: Sheet, line: Line, months: int, log: list[Step]) -> Row:
    listed = _in_currency(sheet, line, line.unit_price * line.bought, log)
    price = listed
    if line.paid_price != line.unit_price:
        price = _in_currency(sheet, line, line.paid_price * line.bought, log)
    if line.maintenance and line.maintenance.per == "itself":
        log.append(_line_step(sheet, line, price, "Maintenance"))
        return Row(line, Decimal(0), Decimal(0), price)
    log.append(_line_step(sheet, line, price, "Line"))
    maintenance = _maintained(sheet, line, line.maintenance, months, log) if line.maintenance else Decimal(0)
    return Row(line, listed, price, maintenance)


def _in_currency(sheet: Sheet, line: Line, amount: Decimal, log: list[Step]) -> Decimal:
    """In the sheet's currency, rounded where each line is."""
    if line.currency not in ("", sheet.currency):
        rate = newest_rate(sheet.rates, line.currency, sheet.currency)
        foreign = Amount(amount, line.currency)
        amount = rate.convert(foreign).value
        template = "Conversion: {amount} at 1 {base} = {rate} {quoted} is {result}"
        operands: dict[str, Value] = {"amount": foreign, "base": rate.base, "rate": rate.value, "quoted": rate.quoted}
        result = Amount(_rounded_line(sheet, amount), sheet.currency)
        log.append(step("conversion", template, result, rate.citation, **operands))
    return _rounded_line(sheet, amount)


def _rounded_line(sheet: Sheet, amount: Decimal) -> Decimal:
    return rounded(amount, sheet.places, sheet.rounding) if sheet.rounded_per == "line" else amount


def _line_step(sheet: Sheet, line: Line, extended: Decimal, word: str) -> Step:
    template = f"{word}: {{description}}, {{quantity}} x {{price}} = {{result}}"
    if line.spares:
        template = f"{word}: {{description}}, ({{quantity}} + {{spares}} spares) x {{price}} = {{result}}"
    if line.paid_price != line.unit_price:
        template += ", instead of {listed} each"
    if line.support:
        template += {"unsupported": ", unsupported", "bought": ", its support is bought"}[line.support]
    currency = line.currency or sheet.currency
    prices = {"price": Amount(line.paid_price, currency), "listed": Amount(line.unit_price, currency)}
    counts = {"quantity": line.quantity, "spares": line.spares}
    result = Amount(extended, sheet.currency)
    return step("line", template, result, line.citation, description=line.description, **counts, **prices)


def _maintained(sheet: Sheet, line: Line, of: Maintenance, months: int, log: list[Step]) -> Decimal:
    if of.per == "term" and months != sheet.term_months:
        raise PricingError(
            f"The maintenance of '{line.description}' is priced for {sheet.term_months} months, not for {months}: "
            f"ask for that term, or give its price by the year."
        )
    quantity = line.quantity if of.quantity is None else of.quantity
    paid_months = months if of.months is None else min(of.months, months)
    yearly = {"term": of.price, "year": of.price, "month": of.price * MONTHS}.get(of.per)
    if yearly is None:
        base = line.unit_price if of.percent_of == "list" else line.paid_price
        yearly = base * of.price / HUNDRED
    amount = (
        yearly * quantity
        if of.per == "term"
        else rounded_quotient(yearly * quantity * paid_months, MONTHS, MANY_PLACES)
    )
    extended = _in_currency(sheet, line, amount, log)
    log.append(_maintenance_step(sheet, line, of, paid_months, extended))
    return extended


def _maintenance_step(sheet: Sheet, line: Line, of: Maintenance, months: int, extended: Decimal) -> Step:
    prices = {"term": "{price} for the term", "year": "{price} a year", "month": "{price} a month"}
    template = "Maintenance: {description}, {quantity} x " + prices.get(of.per, "{percent}% of {base} a year")
    template += "" if of.per == "term" else ", {months} months"
    currency = line.currency or sheet.currency
    base = line.unit_price if of.percent_of == "list" else line.paid_price
    amounts = {"price": Amount(of.price, currency), "base": Amount(base, currency)}
    counts = {"quantity": line.quantity if of.quantity is None else of.quantity, "percent": of.price, "months": months}
    words = {"description": line.description}
    return step("maintenance", template + ": {result}", Amount(extended, sheet.currency), **words, **counts, **amounts)


def _take(sheet: Sheet, discount: Discount, rows: Sequence[Row], before: Sequence[Taken], log: list[Step]) -> Taken:
    held = [row for row in rows if discount.holds_for(row.line)]
    amounts, bases = {"price": Decimal(0), "maintenance": Decimal(0)}, {"price": Decimal(0), "maintenance": Decimal(0)}
    columns: tuple[Column, ...] = ("price", "maintenance")
    for column in columns:
        if discount.columns in (column, "both"):
            bases[column] = _sum(held, column) - (
                _already_off(rows, held, before, column) if discount.is_on_rest else 0
            )
            amounts[column] = _off(discount, held, bases[column], column)
            log.append(_discount_step(sheet, discount, column, bases[column], amounts[column]))
    return Taken(discount, amounts["price"], amounts["maintenance"], bases["price"], bases["maintenance"])


def _off(discount: Discount, held: Sequence[Row], base: Decimal, column: Column) -> Decimal:
    if discount.percent is None:
        return discount.amount or Decimal(0)
    share = discount.percent / HUNDRED
    if discount.rounded_per == "line":
        return sum((_cut(discount, row.of(column) * share) for row in held), Decimal(0))
    if discount.rounded_per == "unit":
        return sum((_cut(discount, row.line.paid_price * share) * row.line.bought for row in held), Decimal(0))
    return _cut(discount, base * share)


def _cut(discount: Discount, amount: Decimal) -> Decimal:
    return amount if discount.rounding == "exact" else rounded(amount, discount.places, discount.rounding)


def _already_off(rows: Sequence[Row], held: Sequence[Row], before: Sequence[Taken], column: Column) -> Decimal:
    """What earlier discounts have taken off these lines; of one that was on others too, their share of it."""
    off = Decimal(0)
    for taken in before:
        scope = [row for row in rows if taken.discount.holds_for(row.line)]
        common = [row for row in scope if row in held]
        whole = _sum(scope, column)
        if whole and len(common) < len(scope):
            off += rounded_quotient(taken.of(column) * _sum(common, column), whole, MANY_PLACES)
        elif common:
            off += taken.of(column)
    return off


def _discount_step(sheet: Sheet, discount: Discount, column: Column, base: Decimal, amount: Decimal) -> Step:
    where = "" if discount.on == "total" else f" of {discount.on} {', '.join(discount.of)}"
    how = {"unit": ", by unit price", "line": ", line by line", "sum": ""}[discount.rounded_per]
    rest = " that is left" if discount.is_on_rest else ""
    template = "Discount: {discount}, {percent}% of {base} {column}{where}{rest} is {result}{how}"
    if discount.percent is None:
        template = "Discount: {discount}, {result} off {base} {column}{where}{rest}"
    words = {"discount": discount.description, "column": "maintenance" if column == "maintenance" else "prices"}
    words |= {"where": where, "rest": rest, "how": how}
    percent = discount.percent or Decimal(0)
    result = Amount(amount, sheet.currency)
    return step("discount", template, result, percent=percent, base=Amount(base, sheet.currency), **words)


def _percent_off(taken: Taken) -> Decimal:
    base = taken.price_base + taken.maintenance_base
    return HUNDRED * (taken.price + taken.maintenance) / base if base > 0 else Decimal(0)


def _shared_out(taken: Taken, rows: Sequence[Row]) -> dict[Kind, Fraction]:
    """The part of a discount on prices that falls to each kind, by the prices of the lines that it is on."""
    held = [row for row in rows if taken.discount.holds_for(row.line)]
    base = Fraction(_sum(held, "price"))
    parts = dict.fromkeys(KINDS, Fraction(0))
    for row in held:
        parts[row.line.kind] += Fraction(taken.price) * (Fraction(row.price) / base if base else 0)
    if held and not base:
        parts[held[0].line.kind] += Fraction(taken.price)
    return parts


def _adding_up(shares: dict[Kind, Fraction], whole: Decimal) -> dict[Kind, Decimal]:
    """Each share to the cent; what rounding leaves goes to the largest."""
    cents = {kind: rounded_quotient(share.numerator, share.denominator) for kind, share in shares.items()}
    if cents:
        largest = max(cents, key=lambda kind: abs(cents[kind]))
        cents[largest] += whole - sum(cents.values(), Decimal(0))
    return cents
