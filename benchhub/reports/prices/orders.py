"""Orders and their costs: a curve's machines by list price or price sheet, its standbys, and a licence.

The cost of an order does not depend on the load: the engine is asked once for each set of machines and licence model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from benchhub.analysis.pricing import quote as pricing
from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.listed import MissingPriceError, Price, newest
from benchhub.analysis.pricing.money import PricingError, trimmed
from benchhub.analysis.pricing.questions import with_support
from benchhub.analysis.pricing.quote import Cost, Order
from benchhub.analysis.pricing.sheets.sheet import Sheet
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.pricing.topology import POOLER, Deployment, Node
from benchhub.analysis.words import count
from benchhub.bench.models import System
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
    """An order with its cost. `notes` are steps before those of the engine; `sheets` has a sheet as often as bought."""

    order: Order
    cost: Cost
    notes: tuple[Step, ...] = ()
    sheets: tuple[PriceSheet, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the cost alone. A sheet that is bought several times is derived once."""
        return tuple({id(step): step for step in (*self.notes, *self.cost.steps)}.values())

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.cost.flags, *self._own_flags)))

    @property
    def _own_flags(self) -> tuple[str, ...]:
        return tuple(
            f"The sheet '{sheet}' has licences of its own: they are in the price beside this one."
            for sheet in dict.fromkeys(self.sheets)
            if any(line.kind == "licence" for line in sheet.lines.all())
        )


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
        self._costs: dict[tuple[int, ...], Priced | NoPrice] = {}
        self._licences: dict[int, Licence] = {}
        self._sheets: dict[int, Sheet] = {}

    def price(self, system: System, model: LicenceModel) -> Priced | NoPrice:
        key = (*(hardware.pk for hardware in system.machines), model.pk)
        if key not in self._costs:
            self._costs[key] = self._priced(system, model, self.terms.standbys)
        return self._costs[key]

    def order(self, system: System, model: LicenceModel) -> Order:
        """Return what is bought of a system and a licence. Raises PricingError for rules or prices that are wrong."""
        return self._order(system, self.licence(model), self.terms.standbys)

    def with_standbys(self, system: System, model: LicenceModel, standbys: int) -> Priced | NoPrice:
        return self._priced(system, model, standbys)

    def licence(self, model: LicenceModel) -> Licence:
        """Return the licence with its prices. Raises RulesError for rules that no form would have let in."""
        if model.pk not in self._licences:
            prices = _prices(self.price_book.of_licence_model.get(model.pk, ()))
            licence, support = Licence(str(model), model.licence_rules(), prices), self.terms.support_percent
            self._licences[model.pk] = licence if support is None else with_support(licence, support)
        return self._licences[model.pk]

    def _priced(self, system: System, model: LicenceModel, standbys: int) -> Priced | NoPrice:
        try:
            order = self._order(system, self.licence(model), standbys)
            cost = pricing.cost(order, self.quote_terms)
        except MissingPriceError as error:
            return NoPrice(str(error), "" if error.first_on else _missing(error, system, model))
        except PricingError as error:
            return NoPrice(str(error))
        if isinstance(cost, NotEligible):
            return NoPrice(str(cost), is_not_eligible=True)
        sheets = self._sheets_bought(system, standbys)
        return Priced(order, cost, _notes(system, sheets, standbys), sheets)

    def _order(self, system: System, licence: Licence, standbys: int) -> Order:
        """Build the order. A sheet prices one machine, so it is bought again for each standby; a pooler needs none."""
        primary, *poolers = map(self._node, system.machines)
        nodes = [primary]
        nodes += [replace(primary, quantity=standbys, role=STANDBY)] if standbys else []
        nodes += [replace(pooler, role=POOLER) for pooler in poolers]
        sheets = (self._engine_sheet(row) for row in self._sheets_bought(system, standbys))
        return Order(Deployment(tuple(nodes), self.terms.users), (licence,), tuple(sheets))

    def _sheets_bought(self, system: System, standbys: int) -> tuple[PriceSheet, ...]:
        """Return the sheet of the server, once more for each standby, and that of the pooler's machine."""
        server, *poolers = (self._sheet(hardware) for hardware in system.machines)
        return tuple(row for row in (*[server] * (1 + standbys), *poolers) if row)

    def _node(self, hardware: Hardware) -> Node:
        """Return a machine with its prices. Raises MissingPriceError where neither a list price nor a sheet has one."""
        row, machine = self._sheet(hardware), hardware.machine()
        if row and any(line.kind == "hardware" for line in self._engine_sheet(row).lines):
            return Node(machine)
        prices = _prices(self.price_book.of_hardware.get(hardware.pk, ()))
        newest(prices, "hardware", machine.name, self.day)
        return Node(machine, prices=prices)

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


def _missing(error: MissingPriceError, system: System, model: LicenceModel) -> str:
    """Return the row that needs a list price, as a select sends it."""
    if error.kind == "licence":
        return f"licence_model:{model.pk}"
    keys = {hardware.machine().name: hardware.pk for hardware in system.machines}
    return f"hardware:{keys.get(error.name, system.hardware.pk)}"


def _notes(system: System, sheets: Sequence[PriceSheet], standbys: int) -> tuple[Step, ...]:
    """Explain what the engine's steps leave out: the price sheets, the standbys and the machine of a pooler."""
    notes = [_sheet_note(row, times) for row, times in Counter(sheets).items()]
    if standbys:
        machines = count(standbys, "machine")
        template = "Standbys: {machines} of the same hardware beside the primary, in the role standby"
        notes.append(step("standbys", template, 1 + standbys, machines=machines))
    if system.pooler_hardware:
        template = "Pooler: {machine} is bought for it beside the server, in the role pooler"
        notes.append(step("pooler", template, 1, machine=str(system.pooler_hardware)))
    return tuple(notes)


def _sheet_note(row: PriceSheet, times: int) -> Step:
    """Name a sheet with its source, and how often it is bought: its lines are derived once."""
    template = "Price sheet: {sheet} says what one machine costs"
    template += "; it is bought {times} times" if times > 1 else ""
    evidence = f"{row.priced_on.isoformat()}, source: {row.source}"
    return step("price_sheet", template, str(row), evidence, sheet=str(row), times=times)
