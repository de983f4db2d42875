"""Define a price sheet as the TPC's rules have it: line items with their maintenance, and the discounts on them.

How published sheets are built, and what says so here:
- whole prices or cents; rounded by unit price, by line, by column or in all: `Sheet.places`, `rounded_per`,
  `total_places`;
- maintenance as a column: a price for the term, by year or month (fewer months after a warranty), per cent of the
  price, or a line of its own that stands in that column only (`per="itself"`);
- '15% large volume discount on hardware of source 1': Discount(percent=15, sellers=("1",), kinds=("hardware",)); the
  same on the maintenance column, or on both; one discount on what another leaves: `is_on_rest`;
- a column of discounts, line by line: `discount_percent`;
- fees by the month or year in the column of prices: `charged`; the months of a term are the sheet's;
- an uplift, for a response within 4 hours round the clock: a discount of so many per cent below 0;
- lines that discounts spare: `is_discountable=False`; credits: lines with a negative price; what stands in the list and
  is paid with another line: `support="included"`;
- a line in another currency with the rate that the sheet names: `currency`, `exchange_rate`;
- '10%, at least 2' spares instead of maintenance: `spares`; contracted unit prices beside the list's.
Totals are computed (`sheet_total.total`), never typed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from benchhub.analysis.pricing.money import HUNDRED, Number, PricingError, Rate, Rounding

Kind = Literal["hardware", "licence", "support", "other"]
Columns = Literal["price", "maintenance", "both"]

KINDS: tuple[Kind, ...] = ("hardware", "licence", "support", "other")
MOST_SURCHARGED_PERCENT = 999


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The cost of keeping one line in service.

    `price` is per unit: for the whole term of the sheet, by year or by month; in per cent of the price, a year, for
    `percent`; and left out for `itself`, where the line's own price is maintenance. `months` says how many are paid
    where a warranty covers others; `quantity` how many units, where not all: spares are not maintained.
    """

    per: Literal["term", "year", "month", "percent", "itself"]
    price: Decimal = Decimal(0)
    months: int | None = None
    quantity: Number | None = None
    percent_of: Literal["list", "paid"] = "list"


@dataclass(frozen=True, slots=True)
class Line:
    """One line item. `seller` is who sells it, or the number of its price source; `category` is its heading; `kind` is
    what it is in a split of the price.

    A price of its own beside the list's is contracted, or so many per cent lower: that is rounded where the sheet
    rounds. `charged` says whether the price is paid once, or for each year or month of the term. Free software needs a
    mark in `support`. `currency` is the sheet's where empty; 1 of another one is `exchange_rate` of the sheet's, or
    what the sheet's rates say.
    """

    description: str
    unit_price: Decimal
    quantity: Number = 1
    kind: Kind = "hardware"
    category: str = ""
    part_number: str = ""
    seller: str = ""
    contracted_price: Decimal | None = None
    discount_percent: Decimal = Decimal(0)
    maintenance: Maintenance | None = None
    spares: int = 0
    is_discountable: bool = True
    support: Literal["", "unsupported", "bought", "included"] = ""
    available_on: date | None = None
    priced_on: date | None = None
    currency: str = ""
    exchange_rate: Decimal | None = None
    charged: Literal["once", "year", "month"] = "once"
    row: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "licence" and not self.unit_price and not (self.support or self.maintenance):
            raise PricingError(
                f"'{self.description}' is free: say that it is unsupported, that support is bought, or that it is "
                f"included in another line."
            )
        if self.charged != "once" and self.maintenance and self.maintenance.per == "percent":
            raise PricingError(
                f"'{self.description}' is paid by the {self.charged}: write its maintenance as an amount."
            )
        if self.exchange_rate is not None and not (self.currency and self.exchange_rate > 0):
            raise PricingError(f"The rate of '{self.description}' needs the currency it is of, and is above 0.")
        if self.discount_percent and self.contracted_price is not None:
            raise PricingError(f"'{self.description}' has either a discount in per cent or a contracted price.")
        if not 0 <= self.discount_percent <= HUNDRED:
            raise PricingError(f"The discount on '{self.description}' is from 0 to 100 per cent.")
        if self.quantity < 0 or self.spares < 0:
            raise PricingError(
                f"'{self.description}' needs a quantity of 0 or more: write a credit as a price below 0."
            )

    @property
    def bought(self) -> Number:
        return self.quantity + self.spares

    @property
    def paid_price(self) -> Decimal:
        """Return the price of one unit: contracted, or as listed less the line's own discount; not rounded."""
        if self.contracted_price is not None:
            return self.contracted_price
        if not self.discount_percent:
            return self.unit_price
        return self.unit_price * (HUNDRED - self.discount_percent) / HUNDRED

    @property
    def citation(self) -> str:
        day = self.priced_on.isoformat() if self.priced_on else ""
        sources = (("list price", self.row), ("part", self.part_number), ("", day), ("seller", self.seller))
        return ", ".join(f"{name} {value}".strip() for name, value in sources if value)


@dataclass(frozen=True, slots=True)
class Discount:
    """A discount of per cent or a fixed amount off the list amounts of some lines; below 0 it is a surcharge.

    It is on the lines that are named (by part number or description), of these categories, of these sellers and of
    these kinds, all at once: what names nothing leaves none out. `rounded_per` says whether the per cent of the sum
    is rounded, or of each line, or of each unit price. `is_on_rest` takes it off what the discounts before it have left
    of these lines.
    """

    description: str
    percent: Decimal | None = None
    amount: Decimal | None = None
    lines: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sellers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    columns: Columns = "price"
    rounding: Rounding | Literal["exact"] = "nearest"
    places: int = 2
    rounded_per: Literal["unit", "line", "sum"] = "sum"
    is_on_rest: bool = False

    def __post_init__(self) -> None:
        if message := self._problem():
            raise PricingError(f"The discount '{self.description}': {message}")

    def _problem(self) -> str:
        if (self.percent is None) == (self.amount is None):
            return "write either per cent or an amount."
        if self.percent is not None and not -MOST_SURCHARGED_PERCENT <= self.percent <= HUNDRED:
            return f"write per cent from 0 to 100, or a surcharge as per cent below 0, to -{MOST_SURCHARGED_PERCENT}."
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            return f"there is no kind '{unknown[0]}': write {', '.join(KINDS)}."
        if self.amount is not None and (self.columns == "both" or self.rounded_per != "sum"):
            return "an amount is taken off once, from either the prices or the maintenance."
        if self.rounded_per != "sum" and self.is_on_rest:
            return "what others leave has no lines: round the sum."
        if self.rounded_per == "unit" and self.columns != "price":
            return "only prices have a unit price to be rounded."
        return ""

    @property
    def is_surcharge(self) -> bool:
        return (self.percent or self.amount or 0) < 0

    def holds_for(self, line: Line) -> bool:
        return (
            line.is_discountable
            and (not self.lines or line.part_number in self.lines or line.description in self.lines)
            and (not self.categories or line.category in self.categories)
            and (not self.sellers or line.seller in self.sellers)
            and (not self.kinds or line.kind in self.kinds)
        )

    @property
    def scope(self) -> str:
        """Name the lines it is on, as ' of seller 1 and also of category Server'; empty for all."""
        names_by_kind = {"line": self.lines, "category": self.categories, "seller": self.sellers, "kind": self.kinds}
        parts = [f" of {name} {' or '.join(names)}" for name, names in names_by_kind.items() if names]
        return " and also".join(parts)


@dataclass(frozen=True, slots=True)
class Sheet:
    """Line items in one currency, over a term in months.

    `places` are the decimals that amounts are rounded to: each unit price and each line's, each line's, each column's
    total, or the grand total alone.
    `total_places` rounds the grand total further, for instance to whole dollars.
    """

    name: str
    currency: str
    lines: tuple[Line, ...]
    discounts: tuple[Discount, ...] = ()
    term_months: int = 36
    places: int = 2
    rounded_per: Literal["unit", "line", "column", "total"] = "line"
    rounding: Rounding = "nearest"
    total_places: int | None = None
    is_large_quantity: bool = False
    rates: tuple[Rate, ...] = ()

    def __post_init__(self) -> None:
        for discount in self.discounts:
            if not any(discount.holds_for(line) for line in self.lines):
                raise PricingError(f"The discount '{discount.description}' is on no line of '{self.name}'.")
