"""Price per transaction per second of each curve at its peak, under each licence model, by terms the reader chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from django.http import QueryDict

from benchhub.analysis.curve import Curve, Level
from benchhub.analysis.pricing import quote as pricing
from benchhub.analysis.pricing.licences import Licence
from benchhub.analysis.pricing.listed import MissingPriceError, Price
from benchhub.analysis.pricing.money import PricingError, Rounding, years
from benchhub.analysis.pricing.quote import DEFAULT_TERM_YEARS, TERMS_YEARS, Order, Quote, Throughput
from benchhub.analysis.pricing.rules import LicenceRules
from benchhub.analysis.pricing.topology import Deployment, Machine, Node
from benchhub.analysis.pricing.units import NotEligible
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice

from .curves import SystemCurve
from .queries import Prices

ROUNDINGS: dict[str, tuple[Rounding, str]] = {"nearest": ("nearest", "to nearest"), "up": ("up", "up")}


@dataclass(frozen=True, slots=True)
class Terms:
    """What an address asks of prices; no licences means all. `kept` is the rest of the address, for its form."""

    years: int = DEFAULT_TERM_YEARS
    rounding: Rounding = "nearest"
    licences: frozenset[int] = frozenset()
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def choices(self) -> list[tuple[int, str]]:
        return [(term, years(term)) for term in TERMS_YEARS]

    @property
    def roundings(self) -> list[tuple[str, str]]:
        return [(value, words) for value, (_, words) in ROUNDINGS.items()]

    @property
    def words(self) -> str:
        return f"{years(self.years)}, rounded {ROUNDINGS[self.rounding][1]}"

    def shows(self, licence_model: LicenceModel) -> bool:
        return not self.licences or licence_model.pk in self.licences


@dataclass(frozen=True, slots=True)
class Cell:
    """A quote as shown, or the sentence that says why there is none; `missing` names what to add a price of."""

    licence: str
    quote: Quote | None = None
    error: str = ""
    missing: str = ""
    price: Decimal | None = None
    lowest: Decimal | None = None
    highest: Decimal | None = None
    is_cheapest: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    of: SystemCurve
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of curves, columns of licence models. `choices` are all models and whether each is shown."""

    rows: tuple[Row, ...]
    licence_models: tuple[LicenceModel, ...]
    choices: tuple[tuple[LicenceModel, bool], ...]
    terms: Terms
    remark: str = ""


def terms(asked: QueryDict) -> Terms:
    """The terms in `term`, `rounding` and `licence` of an address; what it does not understand is left aside."""
    term = asked.get("term", "")
    return Terms(
        years=int(term) if term in map(str, TERMS_YEARS) else DEFAULT_TERM_YEARS,
        rounding=ROUNDINGS.get(asked.get("rounding", ""), ROUNDINGS["nearest"])[0],
        licences=frozenset(int(pk) for pk in asked.getlist("licence") if pk.isascii() and pk.isdecimal()),
        kept=tuple(
            (name, value)
            for name, values in asked.lists()
            if name not in ("term", "rounding", "licence")
            for value in values
        ),
    )


def table(curves: Sequence[SystemCurve], known: Prices, asked: Terms) -> Table:
    choices = tuple((model, asked.shows(model)) for model in known.licence_models)
    if not any(shown for _, shown in choices):
        choices = tuple((model, True) for model, _ in choices)
    models = tuple(model for model, shown in choices if shown)
    columns = [_marked([_cell(of, model, known, asked) for of in curves]) for model in models]
    rows = tuple(Row(of, tuple(column[i] for column in columns)) for i, of in enumerate(curves))
    return Table(rows, models, choices, asked, _remark(rows))


def _marked(cells: list[Cell]) -> list[Cell]:
    """Mark the cheapest of a column, unless something is missing in it or the currencies are unlike."""
    quotes = [cell.quote for cell in cells if cell.quote]
    if len(cells) < 2 or len(quotes) < len(cells) or len({quote.currency for quote in quotes}) > 1:
        return cells
    least = min(quote.quotient for quote in quotes)
    return [replace(cell, is_cheapest=cell.quote is not None and cell.quote.quotient == least) for cell in cells]


def _remark(rows: Sequence[Row]) -> str:
    currencies = sorted({cell.quote.currency for row in rows for cell in row.cells if cell.quote})
    if len(currencies) < 2:
        return ""
    return f"Prices in {' and '.join(currencies)} are not compared with each other: the currencies are unlike."


def _cell(of: SystemCurve, licence_model: LicenceModel, known: Prices, asked: Terms) -> Cell:
    bought = Node(_machine(of.system.hardware), prices=_prices(known.of_hardware.get(of.system.hardware_id)))
    rules = LicenceRules(licence_model.metric)  # type: ignore[arg-type]  # a check constraint lists the same
    licence = Licence(str(licence_model), rules, _prices(known.of_licence_model.get(licence_model.pk)))
    order = Order(Deployment((bought,)), (licence,))
    try:
        quote = pricing.quote(order, throughput_at_peak(of.curve), pricing.Terms(asked.years))
    except MissingPriceError as error:
        missing = {"hardware": f"hardware:{of.system.hardware_id}", "licence": f"licence_model:{licence_model.pk}"}
        return Cell(licence.name, error=str(error), missing=missing[error.of])
    except PricingError as error:
        return Cell(licence.name, error=str(error))
    if isinstance(quote, NotEligible):
        return Cell(licence.name, error=str(quote))
    return _shown(licence.name, quote, of.curve.peak.level.throughput.digits, asked.rounding)


def _shown(licence: str, quote: Quote, digits: int, rounding: Rounding) -> Cell:
    """Rounded to the digits that the throughput has, and to the cent at the coarsest."""
    places = max(2, digits - 1 - quote.quotient.adjusted())
    lowest, highest = quote.price_range(places, rounding)
    return Cell(licence, quote, price=quote.price(places, rounding), lowest=lowest, highest=highest)


def throughput_at_peak(curve: Curve) -> Throughput:
    level = curve.peak.level
    return pricing.measured(level.throughput, level.values, curve.unit, _evidence(level), level.clients)


def _evidence(level: Level) -> str:
    numbers = [str(run.run) for run in level.runs]
    clients = "1 client" if level.clients == 1 else f"{level.clients} clients"
    if len(numbers) == 1:
        return f"run {numbers[0]} at {clients}, the peak of the curve"
    listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"median of runs {listed} at {clients}, the peak of the curve"


def _machine(hardware: Hardware) -> Machine:
    return Machine(str(hardware), hardware.sockets, hardware.cores_per_socket, hardware.threads_per_core)


def _prices(row: ListPrice | None) -> tuple[Price, ...]:
    if row is None:
        return ()
    return (Price(row.description, row.amount, row.currency, row.priced_on, row.source, row.pk),)
