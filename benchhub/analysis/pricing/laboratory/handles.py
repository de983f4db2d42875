"""The handles of the laboratory: what a reader moves, each with a value, and what it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

PRICE, LICENCE_DISCOUNT, DISCOUNT = "licence-price", "licence-discount", "discount"
CORES, TERM, THROUGHPUT, UTILISATION = "cores", "term", "throughput", "utilisation"
NAMES = (PRICE, LICENCE_DISCOUNT, DISCOUNT, CORES, TERM, THROUGHPUT, UTILISATION)
WHOLE = frozenset({CORES, TERM})


@dataclass(frozen=True, slots=True)
class Handles:
    """The values that a reader has set, by handle; one that is not there leaves everything as it is.

    `licence` is the licence model whose price and discount are moved, `hardware` the machine whose cores are, `system`
    the system whose throughput is: the keys that choices have.
    """

    values: Mapping[str, Decimal] = field(default_factory=dict)
    licence: str = ""
    hardware: str = ""
    system: str = ""

    def value(self, name: str) -> Decimal | None:
        return self.values.get(name)

    def moved(self, name: str, value: Decimal) -> Handles:
        return replace(self, values={**self.values, name: value})
