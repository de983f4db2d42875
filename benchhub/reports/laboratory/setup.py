"""Set the laboratory up: the choices of a comparison, the handles, and the axis, all by the terms of the address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.pricing.laboratory import flips, words
from benchhub.analysis.pricing.laboratory.axis import Axis
from benchhub.analysis.pricing.laboratory.choices import Choice
from benchhub.analysis.pricing.laboratory.flips import Flip, Stretch
from benchhub.analysis.pricing.laboratory.handles import (
    CORES,
    DISCOUNT,
    LICENCE_DISCOUNT,
    PRICE,
    TERM,
    THROUGHPUT,
    UTILISATION,
    Handles,
)
from benchhub.analysis.pricing.laboratory.laboratory import Laboratory
from benchhub.analysis.pricing.licences.words import per
from benchhub.analysis.pricing.listed import newest
from benchhub.analysis.pricing.questions import SECONDS_OF
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.curves.panel import unlike
from benchhub.reports.prices.cells import Cell, Row, with_amounts
from benchhub.reports.prices.loads import At
from benchhub.reports.prices.orders import NoPrice, Priced
from benchhub.reports.prices.pictures import drawn
from benchhub.reports.prices.table import Table

from .handles import REACHES, Handle
from .settings import Settings

MOST_DRAWN = 12


@dataclass(frozen=True, slots=True)
class Subject:
    """A choice with the curve, licence model and load that it is of; `priced` is its order as the comparison has it."""

    choice: Choice
    entry: Entry
    model: LicenceModel
    load: At
    priced: Priced | None


@dataclass(frozen=True)
class Setup:
    """A comparison in the laboratory. Whatever uses the laboratory needs at least one subject and no refusal."""

    comparison: Comparison
    settings: Settings

    @cached_property
    def _parts(self) -> tuple[list[Subject], list[str]]:
        subjects: list[Subject] = []
        problems: list[str] = []
        for entry, row in zip(self.comparison.entries, self.comparison.prices.rows, strict=True):
            if row.at is None:
                problems.append(f"{entry.label}: {row.refusal}")
                continue
            for model in self.comparison.prices.licence_models:
                subject = self._subject(entry, row.at, model)
                (problems if isinstance(subject, str) else subjects).append(subject)  # type: ignore[arg-type]
        return subjects, list(dict.fromkeys(problems))

    def _subject(self, entry: Entry, load: At, model: LicenceModel) -> Subject | str:
        """Return a choice, also where the machine as it is is not eligible; a sentence where a price is missing."""
        system, costs = entry.system, self.comparison.prices.costs
        priced = costs.price(system, model)
        if isinstance(priced, NoPrice) and not priced.is_not_eligible:
            return f"{entry.label} under {model}: {priced.sentence}"
        order = costs.order(system, model) if isinstance(priced, NoPrice) else priced.order
        keys = (entry.key, str(system.hardware_id), str(model.pk))
        pooler = str(system.pooler_hardware_id or "")
        choice = Choice(*keys, entry.label, str(model), order, load.throughput, pooler)
        return Subject(choice, entry, model, load, priced if isinstance(priced, Priced) else None)

    @property
    def subjects(self) -> list[Subject]:
        return self._parts[0]

    @property
    def problems(self) -> list[str]:
        """Return what cannot be priced, and why."""
        return self._parts[1]

    @cached_property
    def refusal(self) -> str:
        """Say why nothing is drawn; empty where something is."""
        if not self.subjects:
            return "There is nothing to move: no curve of this comparison has a price."
        currencies = [subject.priced.cost.currency for subject in self.subjects if subject.priced]
        return unlike(currencies)

    @property
    def currency(self) -> str:
        return next((subject.priced.cost.currency for subject in self.subjects if subject.priced), "")

    @property
    def unit(self) -> str:
        """Return what the axis of prices is in: 'EUR per TPS', or along utilisation 'EUR per million transactions'."""
        is_per_million = self.axis.name == UTILISATION
        return f"{self.currency} per {'million transactions' if is_per_million else self.comparison.prices.unit}"

    @cached_property
    def licences(self) -> list[LicenceModel]:
        """Return the licence models whose price can be moved."""
        return list(dict.fromkeys(subject.model for subject in self.subjects if subject.model.is_licensed))

    @cached_property
    def machines(self) -> list[Hardware]:
        return list(dict.fromkeys(subject.entry.system.hardware for subject in self.subjects))

    @cached_property
    def systems(self) -> list[Entry]:
        return list({subject.entry.key: subject.entry for subject in self.subjects}.values())

    @cached_property
    def licence(self) -> LicenceModel | None:
        default = drawn(self.comparison.state.query, self.comparison.prices)
        by_key = {str(model.pk): model for model in self.licences}
        fallback = default if default in self.licences else next(iter(self.licences), None)
        return by_key.get(self.settings.priced, fallback)

    @cached_property
    def machine(self) -> Hardware:
        by_key = {str(hardware.pk): hardware for hardware in self.machines}
        return by_key.get(self.settings.machine, self.machines[0])

    @cached_property
    def system(self) -> Entry:
        by_key = {entry.key: entry for entry in self.systems}
        return by_key.get(self.settings.system, self.systems[-1])

    @cached_property
    def handles(self) -> dict[str, Handle]:
        """Return the handles that move something, by name."""
        return {handle.name: handle for handle in self._handles()}

    def _handles(self) -> Iterator[Handle]:
        yield from self._licence_handles()
        terms = self.comparison.terms
        yield Handle(DISCOUNT, terms.discount_percent, Decimal(0), unit="%")
        yield self._cores()
        yield Handle(TERM, Decimal(terms.years), Decimal(3), Decimal(1), noun="year")
        yield self._throughput()
        if self.comparison.prices.unit in SECONDS_OF:
            yield Handle(UTILISATION, terms.utilisation_percent, Decimal(50), Decimal("0.01"), unit="%")

    def _licence_handles(self) -> Iterator[Handle]:
        model, costs = self.licence, self.comparison.prices.costs
        if model is None:
            return
        licence = costs.licence(model)
        listed, contracted = newest(licence.prices, "licence", licence.name, costs.day), licence.rules.contracted_price
        usual = listed.amount if contracted is None else contracted
        unit = f"{listed.currency} per {per(licence.rules)}"
        yield Handle(PRICE, self._value(PRICE, usual), usual, unit=unit, subject=str(model))
        if contracted is None:
            percent = licence.rules.discount_percent
            value = self._value(LICENCE_DISCOUNT, percent)
            yield Handle(LICENCE_DISCOUNT, value, percent, unit="%", subject=str(model))

    def _cores(self) -> Handle:
        machine = self.machine.machine()
        usual, least = Decimal(machine.cores_per_socket), Decimal(machine.disabled_cores_per_socket + 1)
        whose = f" of {self.machine}" if len(self.machines) > 1 else ""
        nouns = {"noun": f"core per socket{whose}", "plural": f"cores per socket{whose}"}
        value = max(least, self._value(CORES, usual))
        return Handle(CORES, value, usual, least, **nouns, subject=str(self.machine))

    def _throughput(self) -> Handle:
        load = next(subject.load for subject in self.subjects if subject.entry.key == self.system.key)
        usual, label = load.throughput.value, self.system.label
        value, unit = self._value(THROUGHPUT, usual), f"{self.comparison.prices.unit} of {label}"
        return Handle(THROUGHPUT, value, usual, Decimal("0.01"), unit=unit, subject=label)

    def _value(self, name: str, usual: Decimal) -> Decimal:
        return self.settings.values.get(name, usual)

    @cached_property
    def moved(self) -> Handles:
        """Return the handles as the engine has them; a licence's discount is left alone unless it is moved."""
        values = {
            name: handle.value
            for name, handle in self.handles.items()
            if name != LICENCE_DISCOUNT or name in self.settings.values
        }
        licence = str(self.licence.pk) if self.licence else ""
        return Handles(values, licence, str(self.machine.pk), self.system.key)

    @cached_property
    def handle(self) -> Handle:
        """Return the handle along whose axis prices are drawn: that of the licence price unless another is chosen."""
        return self.handles.get(self.settings.along) or next(iter(self.handles.values()))

    @cached_property
    def _search(self) -> tuple[Laboratory, list[Flip]]:
        """Return the choices along the axis with their flips: without a range of the reader's own, as far as any is."""
        low, high = self.settings.low, self.settings.high
        is_open = low is None and high is None and self.handle.name in (PRICE, THROUGHPUT, CORES)
        first, *farther = REACHES if is_open else REACHES[:1]
        nearest = self._flipped(self.handle.axis(first, low, high))
        if nearest[1]:
            return nearest
        return next((search for reach in farther if (search := self._flipped(self.handle.axis(reach)))[1]), nearest)

    def _flipped(self, axis: Axis) -> tuple[Laboratory, list[Flip]]:
        laboratory = self._along(axis)
        return laboratory, flips.flips(laboratory)

    @property
    def laboratory(self) -> Laboratory:
        return self._search[0]

    @property
    def flips(self) -> list[Flip]:
        return self._search[1]

    def _along(self, axis: Axis) -> Laboratory:
        choices = [subject.choice for subject in self.drawn]
        return Laboratory(choices, self.comparison.prices.costs.quote_terms, self.moved, axis, self._withheld)

    @cached_property
    def _withheld(self) -> list[frozenset[str]]:
        pairs = combinations(self.systems, 2)
        return [frozenset((first.key, other.key)) for first, other in pairs if why_withheld(first.curve, other.curve)]

    @property
    def axis(self) -> Axis:
        return self.laboratory.axis

    @cached_property
    def stretches(self) -> list[Stretch]:
        return flips.cheapest(self.laboratory, self.flips)

    @cached_property
    def lead(self) -> str:
        return words.lead(self.axis, self.stretches)

    @cached_property
    def groups(self) -> list[tuple[list[Flip], str]]:
        """Return flips of the same licences at the same value, with the sentence that says so."""
        return [(group, words.sentence(self.axis, group)) for group in words.grouped(self.flips)]

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Return the price of each choice where the handles are, by the keys of system and licence."""
        choices = [subject.choice for subject in self.subjects]
        costs = self.comparison.prices.costs
        laboratory = Laboratory(choices, costs.quote_terms, self.moved, self.handle.axis())
        return {_key(subject): self._cell(laboratory, subject) for subject in self.subjects}

    def _cell(self, laboratory: Laboratory, subject: Subject) -> Cell:
        quote = laboratory.quote(subject.choice)
        if isinstance(quote, str):
            return Cell(subject.model, NoPrice(quote, is_not_eligible=True))
        notes, sheets = (subject.priced.notes, subject.priced.sheets) if subject.priced else ((), ())
        priced = Priced(subject.choice.order, quote.cost, notes, sheets)
        cell = Cell(subject.model, priced=priced, quote=quote, flags=priced.flags)
        return with_amounts(cell, quote, subject.load, self.comparison.terms)

    @cached_property
    def table(self) -> Table:
        """Return the comparison's table with the handles moved: its words for the lowest price are those of there."""
        prices = self.comparison.prices
        rows = zip(self.comparison.entries, prices.rows, strict=True)
        return replace(prices, rows=tuple(self._row(entry.key, row) for entry, row in rows))

    def _row(self, system: str, row: Row) -> Row:
        cells = (self.cells.get((system, str(cell.model.pk)), cell) for cell in row.cells)
        return replace(row, cells=tuple(cells))

    @cached_property
    def ranked(self) -> list[tuple[Subject, Cell]]:
        """Return each choice with its price where the handles are, the cheapest first."""
        pairs = [(subject, self.cells[_key(subject)]) for subject in self.subjects]
        return sorted(pairs, key=lambda pair: (pair[1].quote is None, pair[1].quote.quotient if pair[1].quote else 0))

    def place(self, subject: Subject) -> int:
        """Return the place of a choice among all, from 1 for the cheapest where the handles are."""
        return next(place for place, (other, _) in enumerate(self.ranked, start=1) if other is subject)

    @cached_property
    def drawn(self) -> list[Subject]:
        """Return the choices that are drawn: all, or the cheapest where the handles are, as many as an eye follows."""
        keys = {_key(subject) for subject, _ in self.ranked[:MOST_DRAWN]}
        return [subject for subject in self.subjects if _key(subject) in keys]


def _key(subject: Subject) -> tuple[str, str]:
    return subject.choice.system, subject.choice.licence
