"""A tuning series with its results, read once: page, API, CSV and figure are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from django.http import QueryDict

from benchhub.analysis.curves import peak
from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.pricing.money import CENTS
from benchhub.analysis.protocol import digest
from benchhub.analysis.tuning import effects as estimates
from benchhub.analysis.tuning import fractions, treatments, words
from benchhub.analysis.tuning.effects import Effect, Effects, Measured
from benchhub.analysis.tuning.treatments import Environment
from benchhub.analysis.words import listing, significant
from benchhub.bench.models import TuningSeries, TuningStep, TuningTreatment
from benchhub.catalog.models import Configuration
from benchhub.reports.comparison import declared
from benchhub.reports.comparison.answers.systems import NOT_SET, Change
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import PEAK, Terms, terms

from . import queries


@dataclass(frozen=True, slots=True)
class Price:
    """A price per unit of throughput, rounded by the terms."""

    licence: str
    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:,} {self.currency}"


@dataclass(frozen=True, slots=True)
class Treatment:
    """A system of the series. `ratio` is against the baseline, None for the baseline and where there is no result yet.

    `relaxed` has the settings by which it is less durable than the baseline; `prices` are those by `licences`, None
    where there is none.
    """

    row: TuningTreatment
    label: str
    unit: str
    measured: Measured | None
    ratio: Ratio | None
    relaxed: Mapping[str, str]
    prices: tuple[Price | None, ...] = ()
    licences: tuple[str, ...] = ()

    @property
    def place(self) -> int:
        return self.row.place

    @property
    def configuration(self) -> Configuration:
        return self.row.system.configuration

    @property
    def throughput_text(self) -> str:
        return significant(self.measured.throughput, 4) if self.measured else ""

    @property
    def text(self) -> str:
        return "" if self.place == 0 else words.effect_text(self.ratio)

    @property
    def priced(self) -> list[tuple[str, Price | None]]:
        """Return each price with its licence model; nothing while nothing is measured."""
        return list(zip(self.licences, self.prices, strict=True))

    @property
    def relaxed_text(self) -> str:
        return listing(f"{name} = {value}" for name, value in self.relaxed.items())


@dataclass(frozen=True, slots=True)
class Step:
    """A step with its effect. Of a cumulative series `running` is how many times the baseline all up to here make."""

    row: TuningStep
    changes: tuple[Change, ...]
    effect: Effect
    running: Ratio | None
    alias_text: str = ""

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def text(self) -> str:
        return words.effect_text(self.effect.ratio)

    @property
    def changes_text(self) -> str:
        return "; ".join(map(str, self.changes))


@dataclass(frozen=True, slots=True)
class Interaction:
    """Two steps that do together what their effects do not multiply to, or are not shown to."""

    name: str
    effect: Effect
    alias_text: str

    @property
    def text(self) -> str:
        return words.interaction_text(self.effect.ratio)


@dataclass(frozen=True)
class Series:
    """`curves` are those of the systems that have results, by the key of the system, all in one unit.

    `unlike` are the results in any other unit: they are in no effect, figure or price.
    """

    row: TuningSeries
    step_rows: tuple[TuningStep, ...]
    treatment_rows: tuple[TuningTreatment, ...]
    curves: Mapping[int, Entry]
    unlike: tuple[Entry, ...] = ()

    @classmethod
    def load(cls, row: TuningSeries) -> Series:
        treatment_rows = queries.treatments(row)
        alike, unlike = _by_unit(queries.curves(row, treatment_rows), treatment_rows)
        return cls(row, queries.steps(row), treatment_rows, alike, unlike)

    @property
    def kind(self) -> treatments.Kind:
        return self.row.kind  # type: ignore[return-value]  # the column has the same choices

    @cached_property
    def design(self) -> fractions.Fraction | None:
        if self.kind != treatments.FACTORIAL:
            return None
        return fractions.fraction(len(self.step_rows), len(self.treatment_rows))

    @property
    def unit(self) -> str:
        """Return the unit of all curves; empty while there are none, as results alone say what it is."""
        return next((entry.curve.unit for entry in self.curves.values()), "")

    @property
    def unlike_text(self) -> str:
        """Say which results are left out; empty where all are in one unit."""
        if not self.unlike:
            return ""
        names = listing(f"{entry.label} ({entry.curve.unit})" for entry in self.unlike)
        return f"Not in {self.unit}, and so not compared with the others: {names}. Plan these in a series of their own."

    @property
    def measured_systems(self) -> set[int]:
        """Return the keys of the systems that have results, in whatever unit."""
        return {*self.curves, *(entry.system.pk for entry in self.unlike)}

    @property
    def names(self) -> list[str]:
        return [step.name for step in self.step_rows]

    @property
    def is_whole(self) -> bool:
        return self.effects.is_whole

    @property
    def is_over(self) -> bool:
        return bool(self.row.ended_count == self.row.planned_count)  # type: ignore[attr-defined]  # with_progress()

    @cached_property
    def effects(self) -> Effects:
        entries = [self.curves.get(row.system_id) for row in self.treatment_rows]

        def withheld(place: int, other: int) -> str:
            first, second = entries[place], entries[other]
            return why_withheld(first.curve, second.curve) if first and second else ""

        return estimates.effects(
            self.kind,
            [tuple(row.step_numbers) for row in self.treatment_rows],
            [peak.of_curve(entry.curve) if entry else {} for entry in entries],
            withheld,
            self.design,
        )

    @cached_property
    def treatments(self) -> tuple[Treatment, ...]:
        steps = [row.step for row in self.step_rows]
        return tuple(
            Treatment(
                row,
                treatments.label(tuple(row.step_numbers), steps, self.kind),
                self.unit,
                self.effects.measured[row.place],
                self.effects.over_baseline[row.place],
                self._relaxed(row.system.configuration),
                self._prices.get(row.system_id, (None,) * len(self.licences)),
                tuple(self.licences),
            )
            for row in self.treatment_rows
        )

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        pairs = zip(self.step_rows, self.effects.steps, strict=True)
        return tuple(
            Step(row, self._changes(row), effect, self._running(row), words.alias_text(effect, self.names))
            for row, effect in pairs
        )

    @cached_property
    def interactions(self) -> tuple[Interaction, ...]:
        return tuple(
            Interaction(
                " with ".join(self.names[number - 1] for number in effect.steps),
                effect,
                words.alias_text(effect, self.names),
            )
            for effect in self.effects.interactions
        )

    @cached_property
    def best(self) -> Treatment | None:
        """Return the fastest treatment that is as durable as the baseline; None while nothing is measured."""
        candidates = [row for row in self.treatments if row.measured and not row.relaxed]
        return max(candidates, key=lambda row: row.measured.log if row.measured else 0.0, default=None)

    @cached_property
    def rivals(self) -> list[Treatment]:
        """Return the treatments that are as durable and not told apart from the best."""
        if self.best is None:
            return []
        places = [row.place for row in self.treatments if row.measured and not row.relaxed]
        return [self.treatments[place] for place in self.effects.rivals(self.best.place, places)]

    def typical_run(self, treatment: Treatment) -> int | None:
        """Return the run nearest to the median of the treatment's highest level; None where nothing is measured."""
        entry = self.curves.get(treatment.row.system_id)
        if entry is None:
            return None
        level = entry.curve.levels[-1]
        return min(level.runs, key=lambda point: abs(point.throughput - level.throughput.median)).run

    @cached_property
    def terms(self) -> Terms:
        """Return the usual terms of prices, at the level that was run; of several, at the peak."""
        query, levels = QueryDict(mutable=True), self.effects.levels
        query["load"] = str(levels[0]) if len(levels) == 1 else PEAK
        return terms(query)

    @cached_property
    def prices(self) -> Table | None:
        """Return the prices of the treatments with results, which durability does not keep from being compared."""
        if not self.curves:
            return None
        curves = declared.as_one(list(self.curves.values()))
        return table(curves, queries.prices_of(curves, self.terms), self.terms)

    @property
    def licences(self) -> list[str]:
        """Return the licence models under which any treatment has a price."""
        return [str(self.prices.licence_models[place]) for place in self._priced] if self.prices else []

    @cached_property
    def _priced(self) -> list[int]:
        return sorted({place for row in self._rows for place, cell in enumerate(row.cells) if cell.price is not None})

    @cached_property
    def _prices(self) -> dict[int, tuple[Price | None, ...]]:
        """Return the prices under `licences` by the key of the system."""
        rows = [row for row in self._rows if row.cells]
        places = {place: _decimals([row.cells[place] for row in rows]) for place in self._priced}
        return {
            row.system_curve.system.pk: tuple(_price(row.cells[place], places[place]) for place in self._priced)
            for row in rows
        }

    @property
    def _rows(self) -> tuple[Row, ...]:
        return self.prices.rows if self.prices else ()

    def _relaxed(self, configuration: Configuration) -> dict[str, str]:
        """Return what makes commits less durable than the baseline's, which may be relaxed itself."""
        mine, baseline = (_durability(row) for row in (configuration, self.row.baseline))
        return {name: value for name, value in mine.items() if baseline.get(name) != value}

    def _changes(self, row: TuningStep) -> tuple[Change, ...]:
        before = self._before(row)
        sides = ((layer, name, before.get(layer, name), value) for layer, name, value in row.step.environment)
        return tuple(
            Change(name, NOT_SET if old is None else old, value, layer)
            for layer, name, old, value in sides
            if old != value
        )

    def _before(self, row: TuningStep) -> Environment:
        """Return the settings that a step is on top of."""
        place = row.number - 1 if self.kind == treatments.CUMULATIVE else 0
        environment: Environment = self.treatment_rows[place].system.configuration.environment
        return environment

    def _running(self, step: TuningStep) -> Ratio | None:
        return self.effects.over_baseline[step.number] if self.kind == treatments.CUMULATIVE else None


def _by_unit(
    curves: Mapping[int, Entry], treatment_rows: Sequence[TuningTreatment]
) -> tuple[dict[int, Entry], tuple[Entry, ...]]:
    """Return the curves in the unit of the baseline, or of the first that is measured, and apart from them the rest."""
    ordered = [(row.system_id, curves[row.system_id]) for row in treatment_rows if row.system_id in curves]
    unit = ordered[0][1].curve.unit if ordered else ""
    alike = {key: entry for key, entry in ordered if entry.curve.unit == unit}
    return alike, tuple(entry for _, entry in ordered if entry.curve.unit != unit)


def _durability(configuration: Configuration) -> dict[str, str]:
    return digest.durability(configuration.settings, volatile_storage=configuration.volatile_storage)


def _decimals(cells: Sequence[Cell]) -> int:
    """Return how many decimals all prices under a licence get: as few as one has, but two digits of the smallest."""
    amounts = [cell.price for cell in cells if cell.price]
    fewest = min((_decimals_of(amount) for amount in amounts), default=CENTS)
    return max(fewest, *(1 - amount.adjusted() for amount in amounts), CENTS)


def _decimals_of(amount: Decimal) -> int:
    return -int(amount.as_tuple().exponent)


def _price(cell: Cell, decimals: int) -> Price | None:
    if cell.price is None or cell.quote is None:
        return None
    return Price(cell.licence, cell.quote.price(decimals), cell.quote.currency)
