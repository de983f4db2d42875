"""A reader's choice of terms: read from an address, within what the maker of a link has left open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from benchhub.analysis.pricing.quote import TERMS_YEARS
from benchhub.analysis.words import count, listing, plain
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.table import Table
from benchhub.reports.prices.terms import MILLION, PEAK, UNIT, WITHIN

# What a maker may leave open, in words.
OPEN: Mapping[str, str] = {
    "term": "Term",
    "per": "Price of",
    "licence": "Licences",
    "load": "Level",
    "currency": "Currency",
}
MOST_VALUES = 40
AS_LISTED = "listed"
Selection = tuple[tuple[str, tuple[str, ...]], ...]


def selection(query: QueryDict) -> Selection:
    """Return what an address asks for, bounded; what it does not name is the maker's."""
    values = {name: [value.strip()[:20] for value in query.getlist(name) if value.strip()] for name in OPEN}
    return tuple((name, tuple(values[name][:MOST_VALUES])) for name in OPEN if values[name])


@dataclass(frozen=True, slots=True)
class Option:
    """A value that may be selected, with its text."""

    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Control:
    """What may be selected of one name: `makers` are the values of the maker's choice, `selected` the reader's."""

    name: str
    options: tuple[Option, ...]
    makers: tuple[str, ...]
    selected: tuple[str, ...]
    problem: str = ""

    @property
    def title(self) -> str:
        return OPEN[self.name]

    @property
    def is_changed(self) -> bool:
        return self.selected != self.makers

    @property
    def has_several(self) -> bool:
        """Tell whether several values may be selected at once."""
        return self.name == "licence"

    @property
    def selected_words(self) -> str:
        return self.words(self.selected)

    def words(self, values: Sequence[str]) -> str:
        """Write values as readers know them."""
        if self.has_several and len(values) == len(self.options):
            return "all licences" if len(values) > 1 else self.options[0].text
        return listing([option.text for option in self.options if option.value in values])


@dataclass(frozen=True)
class Choice:
    """The controls of a snapshot's terms, each at the maker's values or at those of a reader."""

    controls: tuple[Control, ...]
    query: QueryDict
    is_open: Collection[str]

    @property
    def open_controls(self) -> list[Control]:
        return [control for control in self.controls if control.name in self.is_open]

    @property
    def changed(self) -> list[Control]:
        return [control for control in self.controls if control.is_changed]

    @property
    def problems(self) -> list[str]:
        return [control.problem for control in self.controls if control.problem]

    @property
    def makers_words(self) -> str:
        """Write the maker's choice: 3 years, at the peak of each curve, EUR, all licences."""
        return ", ".join(control.words(control.makers) for control in self.controls)

    @property
    def suffix(self) -> str:
        """Return the end of an address that keeps the choice; empty for the maker's."""
        parameters = QueryDict(mutable=True)
        for control in self.changed:
            parameters.setlist(control.name, list(control.selected))
        return f"?{parameters.urlencode()}" if parameters else ""


def read(pricing: Pricing, is_open: Collection[str], selection: Selection) -> Choice:
    """Read a choice. `pricing` has the maker's terms; what is closed or not understood stays as the maker has it."""
    values = dict(selection)
    controls = tuple(_control(name, pricing.table, is_open, values.get(name, ())) for name in OPEN)
    return Choice(controls, _query(pricing, controls), is_open)


def _control(name: str, table: Table, is_open: Collection[str], values: tuple[str, ...]) -> Control:
    options, makers = tuple(_options(name, table)), _makers(name, table)
    selected = tuple(option.value for option in options if option.value in values)
    if not values or (selected == makers and len(selected) == len(set(values))):
        return Control(name, options, makers, makers)
    if name not in is_open:
        return Control(name, options, makers, makers, f"{OPEN[name]}: whoever made this link keeps the choice closed.")
    is_valid = len(selected) == len(set(values)) and (name == "licence" or len(selected) == 1)
    if not is_valid:
        problem = f"{OPEN[name]}: there is no such choice, so that of whoever made this link stays."
        return Control(name, options, makers, makers, problem)
    return Control(name, options, makers, selected)


def _options(name: str, table: Table) -> Iterable[Option]:
    options: Mapping[str, Callable[[], Iterable[Option]]] = {
        "term": lambda: (Option(str(years), count(years, "year")) for years in TERMS_YEARS),
        "licence": lambda: (Option(str(place), str(model)) for place, model in enumerate(table.licence_models, 1)),
        "load": lambda: _loads(table),
        "currency": lambda: _currencies(table),
        "per": lambda: _units(table),
    }
    return options[name]()


def _loads(table: Table) -> list[Option]:
    within = f"best within {plain(table.terms.ceiling_ms)} ms (closed loop)"
    return [Option(value, within if value == WITHIN else text) for value, text in table.loads]


def _units(table: Table) -> list[Option]:
    """Return what prices may be of; nothing but a unit where the throughput counts no transactions."""
    millions = [Option(MILLION, "a million transactions")] if table.has_millions else []
    return [Option(UNIT, f"one {table.unit}"), *millions]


def _currencies(table: Table) -> list[Option]:
    """Return the currencies that a frozen rate leads to. Nobody need ask for one where all prices have the same."""
    codes = [Option(code, code) for code in table.currencies]
    return [Option(AS_LISTED, "each price in its own"), *codes] if _currency(table) == AS_LISTED else codes


def _currency(table: Table) -> str:
    """Return the currency in which the maker shows all prices; several of them stand as they were listed."""
    currencies = {cell.quote.currency for _, cell in table.quoted if cell.quote}
    return table.terms.currency or (currencies.pop() if len(currencies) == 1 else AS_LISTED)


def _makers(name: str, table: Table) -> tuple[str, ...]:
    terms = table.terms
    if name == "licence":
        return tuple(str(place) for place, _ in enumerate(table.licence_models, 1))
    return (
        {"term": str(terms.years), "load": terms.load or PEAK, "currency": _currency(table), "per": terms.per}[name],
    )


def _query(pricing: Pricing, controls: Iterable[Control]) -> QueryDict:
    """Return the maker's query with the reader's values in it."""
    query = pricing.query.copy()
    for control in controls:
        if control.is_changed:
            query.setlist(control.name, _parameters(control, pricing.table))
    return query


def _parameters(control: Control, table: Table) -> list[str]:
    """Return the values as a query of the page has them: of licences their keys, which no link shows."""
    if control.name == "licence":
        return [str(table.licence_models[int(value) - 1].pk) for value in control.selected]
    return [value for value in control.selected if value != AS_LISTED]
