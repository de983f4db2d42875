"""The part of an address that is the laboratory's own: the axis, its range, and the handles that are no terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.http import QueryDict

from benchhub.analysis.pricing.laboratory.handles import (
    CORES,
    DISCOUNT,
    LICENCE_DISCOUNT,
    NAMES,
    PRICE,
    TERM,
    THROUGHPUT,
    UTILISATION,
)
from benchhub.analysis.pricing.money import HUNDRED
from benchhub.reports.prices.terms import SMALLEST, Reader, number, one_of, whole

MOST_AMOUNT = Decimal(9_999_999)
MOST_CORES = 1024
# The parameter of each handle; those of terms are the comparison's own, so that it follows them.
PARAMETERS: Mapping[str, str] = {
    PRICE: "price", LICENCE_DISCOUNT: "off", DISCOUNT: "discount", CORES: "cores", TERM: "term",
    THROUGHPUT: "throughput", UTILISATION: "utilisation",
}  # fmt: skip
OWN = ("along", "from", "to", "priced", "machine", "system", "price", "off", "cores", "throughput")


@dataclass(frozen=True, slots=True)
class Settings:
    """What an address asks of the laboratory; empty or None is as usual.

    `along` is the axis, from `low` to `high`; `priced`, `machine` and `system` are what the handles of a licence, of
    cores and of throughput are of. `problems` has a sentence for each parameter that was not understood.
    """

    along: str = ""
    low: Decimal | None = None
    high: Decimal | None = None
    priced: str = ""
    machine: str = ""
    system: str = ""
    values: Mapping[str, Decimal] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, query: QueryDict) -> Settings:
        reader = Reader(query)
        values = {
            PRICE: reader.read("price", _price, None),
            LICENCE_DISCOUNT: reader.read("off", _discount, None),
            CORES: reader.read("cores", _cores, None),
            THROUGHPUT: reader.read("throughput", _throughput, None),
        }
        low, high = (reader.read(name, _end, None) for name in ("from", "to"))
        if low is not None and high is not None and low >= high:
            reader.problems["to"] = "Let the axis end above its start. Until then the usual one is used."
            low = high = None
        return cls(
            along=reader.read("along", _along, ""),
            low=low,
            high=high,
            **{name: query.get(name, "").strip() for name in ("priced", "machine", "system")},
            values={name: value for name, value in values.items() if value is not None},
            problems=reader.problems,
            typed=reader.typed,
        )


def _along(text: str) -> str:
    return one_of(text, NAMES, "Choose one of the axes that are offered.")


def _end(text: str) -> Decimal:
    return number(text, Decimal(0), MOST_AMOUNT, "Write an end of the axis as a number of 0 or more.")


def _price(text: str) -> Decimal:
    return number(text, Decimal(0), MOST_AMOUNT, "Write a price of 0 or more, such as 1050 or 0.034.")


def _discount(text: str) -> Decimal:
    return number(text, Decimal(0), HUNDRED, "Write a discount from 0 to 100 per cent, such as 12.5.")


def _cores(text: str) -> Decimal:
    return Decimal(whole(text, 1, MOST_CORES, f"Write a whole number of cores per socket from 1 to {MOST_CORES:,}."))


def _throughput(text: str) -> Decimal:
    return number(text, SMALLEST, MOST_AMOUNT, "Write a throughput above 0.")
