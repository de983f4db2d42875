"""Orders and their costs: a curve's hardware by list price or price sheet, its standbys, and a licence.

The cost of an order does not depend on the load: the engine is asked once for each hardware and licence model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from benchhub.analysis.pricing import quote as pricing
from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.listed import MissingPriceError, Price
from benchhub.analysis.pricing.money import PricingError, trimmed
from benchhub.analysis.pricing.questions import with_support
from benchhub.analysis.pricing.quote import Cost, Order
from benchhub.analysis.pricing.sheets.sheet import Sheet
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.pricing.topology import Deployment, Node
from benchhub.analysis.words import count
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice, PriceSheet

from .queries import PriceBook
from .terms import Terms

STANDBY = "standby"


@dataclass(frozen=True, slots=True)
class NoPrice:
    """Why there is no price, as a sentence; `missing` names what needs a list price, if that is the reason."""

    sentence: str
    missing: str = ""
    is_not_eligible: bool = False


@dataclass(frozen=True, slots=True)
class Priced:
    """An order with its cost. `notes` are steps before those of the engine; `sheet` is the price sheet it used."""

    order: Order
    cost: Cost
    notes: tuple[Step, ...] = ()
    sheet: PriceSheet | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the cost alone. A sheet that is bought several times is derived once."""
        steps = (*self.notes, *self.cost.steps)
        return tuple({id(step): step for step in steps}.values()) if self.sheet else steps

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.cost.flags, *self._own_flags)))

    @property
    def _own_flags(self) -> tuple[str, ...]:
        has_licences = self.sheet is not None and any(line.kind == "licence" for line in self.sheet.lines.all())
        if not has_licences or not self.cost.items[-1:]:
            return ()
        return (f"The sheet '{self.sheet}' has licences of its own: they are in the price beside this one.",)


class Costs:
    """Costs by the prices of one day, each calculated when it is first asked for."""

    def __init__(self, price_book: PriceBook, terms: Terms, day: date) -> None:
        self.price_book, self.terms, self.day = price_book, terms, day
        self.quote_terms = pricing.Terms(
            years=terms.years,
            on=day,
            currency=terms.currency,
            rounding=terms.rounding,
            discount_percent=terms.discount_percent,
            rates=price_book.rates,
        )
        self._costs: dict[tuple[int, int], Priced | NoPrice] = {}
        self._licences: dict[int, Licence] = {}
        self._sheets: dict[int, Sheet] = {}

    def price(self, hardware: Hardware, model: LicenceModel) -> Priced | NoPrice:
        key = (hardware.pk, model.pk)
        if key not in self._costs:
            self._costs[key] = self._priced(hardware, model, self.terms.standbys)
        return self._costs[key]

    def order(self, hardware: Hardware, model: LicenceModel) -> Order:
        """Return what is bought of a hardware and a licence. Raises PricingError for rules or prices that are wrong."""
        return self._order(hardware, self.licence(model), self._sheet(hardware), self.terms.standbys)

    def with_standbys(self, hardware: Hardware, model: LicenceModel, standbys: int) -> Priced | NoPrice:
        return self._priced(hardware, model, standbys)

    def licence(self, model: LicenceModel) -> Licence:
        """Return the licence with its prices. Raises RulesError for rules that no form would have let in."""
        if model.pk not in self._licences:
            prices = _prices(self.price_book.of_licence_model.get(model.pk, ()))
            licence, support = Licence(str(model), model.licence_rules(), prices), self.terms.support_percent
            self._licences[model.pk] = licence if support is None else with_support(licence, support)
        return self._licences[model.pk]

    def _priced(self, hardware: Hardware, model: LicenceModel, standbys: int) -> Priced | NoPrice:
        row = self._sheet(hardware)
        try:
            order = self._order(hardware, self.licence(model), row, standbys)
            cost = pricing.cost(order, self.quote_terms)
        except MissingPriceError as error:
            missing = {"hardware": f"hardware:{hardware.pk}", "licence": f"licence_model:{model.pk}"}
            return NoPrice(str(error), "" if error.first_on else missing[error.kind])
        except PricingError as error:
            return NoPrice(str(error))
        if isinstance(cost, NotEligible):
            return NoPrice(str(cost), is_not_eligible=True)
        return Priced(order, cost, _notes(row, standbys), row)

    def _order(self, hardware: Hardware, licence: Licence, row: PriceSheet | None, standbys: int) -> Order:
        """Build the order. A sheet prices one machine, so it is bought again for each standby."""
        sheet, machine = self._engine_sheet(row) if row else None, hardware.machine()
        has_hardware = sheet is not None and any(line.kind == "hardware" for line in sheet.lines)
        prices = () if has_hardware else _prices(self.price_book.of_hardware.get(hardware.pk, ()))
        nodes = [Node(machine, prices=prices)]
        nodes += [Node(machine, standbys, STANDBY, prices)] if standbys else []
        sheets = (sheet,) * (1 + standbys) if sheet else ()
        return Order(Deployment(tuple(nodes), self.terms.users), (licence,), sheets)

    def _engine_sheet(self, row: PriceSheet) -> Sheet:
        if row.pk not in self._sheets:
            self._sheets[row.pk] = row.sheet()
        return self._sheets[row.pk]

    def _sheet(self, hardware: Hardware) -> PriceSheet | None:
        """Return the newest sheet by the day, unless a list price of the hardware is newer."""
        row = self.price_book.sheet(hardware.pk, self.day)
        prices = self.price_book.of_hardware.get(hardware.pk, ())
        days = [price.priced_on for price in prices if price.priced_on <= self.day]
        return row if row and row.priced_on >= max(days, default=row.priced_on) else None


def _prices(rows: Sequence[ListPrice]) -> tuple[Price, ...]:
    return tuple(
        Price(row.description, trimmed(row.amount), row.currency, row.priced_on, row.source, row.pk) for row in rows
    )


def _notes(row: PriceSheet | None, standbys: int) -> tuple[Step, ...]:
    """Explain what the engine's steps leave out: the price sheet and the standbys."""
    notes = []
    if row is not None:
        evidence = f"{row.priced_on.isoformat()}, source: {row.source}"
        notes.append(
            step("price_sheet", "Price sheet: {sheet} says what one machine costs", str(row), evidence, sheet=str(row))
        )
    if standbys:
        machines = count(standbys, "machine")
        template = "Standbys: {machines} of the same hardware beside the primary, in the role standby"
        template += "; the sheet is bought {result} times" if row else ""
        notes.append(step("standbys", template, 1 + standbys, machines=machines))
    return tuple(notes)
