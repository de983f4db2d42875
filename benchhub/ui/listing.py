"""Lists that can be searched, sorted and filtered, with all of that in the address, so that it can be sent on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Generic, TypeVar

from django.core.exceptions import FieldDoesNotExist
from django.core.paginator import Page, Paginator
from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.http import QueryDict

Row = TypeVar("Row", bound=Model)
Search = str | Callable[[str], Q]
PER_PAGE = 50
LEFT_OUT = "without"
ACTIONS = "actions"


@dataclass(frozen=True, slots=True)
class Column:
    """`order` names the fields that a click on the title sorts by; without any it is a title only."""

    name: str
    title: str
    order: tuple[str, ...] = ()
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """One choice beside the search; `options` maps what stands in the address to its label and its condition."""

    name: str
    title: str
    options: Mapping[str, tuple[str, Q]]


@dataclass(frozen=True, slots=True)
class Head:
    """A column's title as shown: the address that sorts by it (empty: none), and how it is sorted now."""

    name: str
    title: str
    address: str
    direction: str
    is_number: bool


class KeysFirst(Paginator):  # type: ignore[type-arg]  # it is not generic when it runs
    """Pages that are found by keys alone, whose order an index may have; only their rows are joined and computed."""

    def __init__(self, rows: QuerySet[Any], keys: QuerySet[Any]) -> None:
        super().__init__(keys, PER_PAGE)
        self.rows, self.keys = rows, keys

    def page(self, number: int | str) -> Page[Any]:
        first = (self.validate_number(number) - 1) * self.per_page
        keys = self.keys.values("pk")[first : first + self.per_page]
        return Page(self.rows.filter(pk__in=keys).order_by(*self.keys.query.order_by), int(number), self)


class Listing(Generic[Row]):
    """One page of a list by what its address asks for; what the address does not understand is left aside.

    Parameters: `q` searches each word in `search` (fields, or what makes a condition of a word), `sort` a column's name
    or -name, `page`, `without` a column that is left out, and one parameter per filter; all others are kept. `default`
    is the sort of an address without one. What is not known stands last, whichever way it is sorted.
    """

    def __init__(
        self,
        query: QueryDict,
        rows: QuerySet[Row],
        columns: Sequence[Column],
        *,
        search: Sequence[Search] = (),
        filters: Sequence[Filter] = (),
        default: str,
    ) -> None:
        self.query, self.columns, self.filters = query, columns, filters
        self.search = search
        self.text = query.get("q", "").replace("\0", "").strip() if search else ""
        sort = query.get("sort", "")
        self.sort: str = sort if self._column(sort) else default
        self.is_narrowed = bool(self.text) or any(self.value(choice) for choice in filters)
        self.page: Page[Row] = KeysFirst(rows, self._ordered(self._filtered(rows))).get_page(query.get("page"))

    def value(self, choice: Filter) -> str:
        """Return what the address sets the filter to; empty where it sets nothing that the filter has."""
        value = self.query.get(choice.name, "")
        return value if value in choice.options else ""

    def choices(self) -> Iterator[tuple[Filter, str, list[tuple[str, str]]]]:
        """Yield (filter, its value, [(value, label)]) for the form above the list."""
        for choice in self.filters:
            yield choice, self.value(choice), [(value, label) for value, (label, _) in choice.options.items()]

    def optional(self) -> list[tuple[Column, bool]]:
        """Return the columns that may be left out, each with whether it is: not the first, nor what changes a row."""
        left_out = self.query.getlist(LEFT_OUT)
        return [(column, column.name in left_out) for column in self.columns[1:] if column.name != ACTIONS]

    @property
    def css(self) -> str:
        """Return the classes of the table that hide the columns left out, by their places from 1."""
        places = {column.name: place for place, column in enumerate(self.columns, start=1)}
        return " ".join(f"without-{places[column.name]}" for column, is_left_out in self.optional() if is_left_out)

    def heads(self) -> list[Head]:
        return [self._head(column) for column in self.columns]

    def address(self, **changes: Any) -> str:
        """Return the query of this list with some parameters changed; None removes one."""
        query = self.query.copy()
        for name, value in changes.items():
            query.pop(name, None)
            if value is not None:
                query[name] = str(value)
        return f"?{query.urlencode()}"

    @property
    def hidden_parameters(self) -> list[tuple[str, str]]:
        """Return the other parameters of the address, for the form above the list."""
        own = ("q", "page", "sort", LEFT_OUT, *(choice.name for choice in self.filters))
        return [(name, value) for name, values in self.query.lists() if name not in own for value in values]

    @property
    def address_of_all(self) -> str:
        return self.address(q=None, page=None, **{choice.name: None for choice in self.filters})

    @property
    def earlier(self) -> str:
        return self.address(page=self.page.previous_page_number()) if self.page.has_previous() else ""

    @property
    def later(self) -> str:
        return self.address(page=self.page.next_page_number()) if self.page.has_next() else ""

    def _column(self, sort: str) -> Column | None:
        return next((column for column in self.columns if column.order and column.name == sort.removeprefix("-")), None)

    def _head(self, column: Column) -> Head:
        direction = {column.name: "ascending", f"-{column.name}": "descending"}.get(self.sort, "")
        next_sort = f"-{column.name}" if direction == "ascending" else column.name
        address = self.address(sort=next_sort, page=None) if column.order else ""
        return Head(column.name, column.title, address, direction, column.is_number)

    def _filtered(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        for word in self.text.split():
            rows = rows.filter(reduce(or_, (_condition(field, word) for field in self.search)))
        for choice in self.filters:
            if value := self.value(choice):
                rows = rows.filter(choice.options[value][1])
        return rows

    def _ordered(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        column = self._column(self.sort)
        order: list[OrderBy] = []
        for field in column.order if column else ():
            name, is_descending = F(field.removeprefix("-")), field.startswith("-") != self.sort.startswith("-")
            nulls_last = True if _may_be_null(rows.model, field.removeprefix("-")) else None
            order.append(name.desc(nulls_last=nulls_last) if is_descending else name.asc(nulls_last=nulls_last))
        return rows.order_by(*order, "-pk")


def _condition(field: Search, word: str) -> Q:
    return Q(**{f"{field}__icontains": word}) if isinstance(field, str) else field(word)


def _may_be_null(model: type[Model], path: str) -> bool:
    """Tell whether a field may be null, where NULLS LAST is needed: no index is in that order from the end."""
    try:
        for name in path.split("__"):
            field: Any = model._meta.get_field(name)
            if field.null:
                return True
            model = field.related_model or model
    except FieldDoesNotExist:
        return True  # it is computed
    return False


def row_number(text: str) -> int | None:
    """Return the number of a row in an address; None for no number, 0 (which no row has) for too many digits."""
    if not text.isdecimal():
        return None
    return int(text) if len(text) < 10 else 0
