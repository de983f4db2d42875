"""Price per transaction per second of each curve at its peak, under each licence model of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis import pricing
from benchhub.analysis.curve import Curve, Level
from benchhub.analysis.pricing import Licence, Machine, Price, PricingError, Quote, Throughput
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice

from .curves import SystemCurve
from .queries import Prices


@dataclass(frozen=True, slots=True)
class Cell:
    """A quote as shown, or the sentence that says why there is none."""

    licence: str
    quote: Quote | None = None
    error: str = ""
    price: Decimal | None = None
    lowest: Decimal | None = None
    highest: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Row:
    of: SystemCurve
    cells: tuple[Cell, ...]


def row(of: SystemCurve, known: Prices) -> Row:
    return Row(of, tuple(_cell(of, licence_model, known) for licence_model in known.licence_models))


def _cell(of: SystemCurve, licence_model: LicenceModel, known: Prices) -> Cell:
    machine = _machine(of.system.hardware, known.of_hardware.get(of.system.hardware_id))
    licence = Licence(
        str(licence_model),
        licence_model.metric,  # type: ignore[arg-type]  # the column's check constraint is the same list
        _price(known.of_licence_model.get(licence_model.pk)),
    )
    try:
        quote = pricing.quote(machine, licence, throughput_at_peak(of.curve))
    except PricingError as error:
        return Cell(licence.name, error=str(error))
    return _shown(quote, of.curve.peak.level.throughput.digits)


def _shown(quote: Quote, digits: int) -> Cell:
    """Rounded to the digits that the throughput has, and to the cent at the coarsest."""
    places = max(2, digits - 1 - quote.quotient.adjusted())
    lowest, highest = quote.price_range(places)
    return Cell(quote.licence, quote, price=quote.price(places), lowest=lowest, highest=highest)


def throughput_at_peak(curve: Curve) -> Throughput:
    level = curve.peak.level
    median, lowest, highest = (
        Decimal(str(value)) for value in (level.throughput.median, level.throughput.lowest, level.throughput.highest)
    )
    return Throughput(median, lowest, highest, curve.unit, _evidence(level))


def _evidence(level: Level) -> str:
    numbers = [str(run.run) for run in level.runs]
    clients = "1 client" if level.clients == 1 else f"{level.clients} clients"
    if len(numbers) == 1:
        return f"run {numbers[0]} at {clients}, the peak of the curve"
    listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"median of runs {listed} at {clients}, the peak of the curve"


def _machine(hardware: Hardware, price: ListPrice | None) -> Machine:
    return Machine(str(hardware), hardware.sockets, hardware.cores_per_socket, _price(price))


def _price(row: ListPrice | None) -> Price | None:
    if row is None:
        return None
    return Price(row.description, row.amount, row.currency, row.priced_on, row.source, row.pk)
