"""Say in one place all that a licence metric is: its words, the rules that mean something under it, and its count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from benchhub.analysis.pricing.money import Number
from benchhub.analysis.pricing.steps import Step
from benchhub.analysis.pricing.topology import Machine

Log = list[Step]


class CountRules(Protocol):
    """The rules of a licence model that a count reads; LicenceRules (rules.py) has them."""

    @property
    def cores_per_licence(self) -> int: ...

    @property
    def sockets_per_licence(self) -> int: ...

    @property
    def counts_disabled_cores(self) -> bool: ...

    @property
    def minimum_per_socket(self) -> int: ...

    @property
    def maximum_per_socket(self) -> int: ...

    @property
    def vcpus_per_licence_smt(self) -> int: ...

    @property
    def vcpus_per_licence_no_smt(self) -> int: ...

    @property
    def memory_block_gb(self) -> Decimal: ...

    @property
    def counts_vm_memory(self) -> bool: ...


Counter = Callable[[str, CountRules, Machine, Log], Number]
# Rules that mean something wherever there is a licence, and those wherever units are counted.
OF_A_LICENCE = (
    "exempt_roles", "max_sockets", "max_cores", "max_vcpus", "max_memory_gb", "max_servers", "max_users", "payment",
    "discount_percent", "contracted_price",
)  # fmt: skip
OF_UNITS = (
    *OF_A_LICENCE, "minimum_per_server", "minimum_per_order", "maximum_per_server", "maximum_per_order", "pack",
    "packs_pooled_per", "is_price_per_pack", "tiers", "tiers_apply",
)  # fmt: skip
OF_CORES = ("factors", "factor_rounded_per")
OF_SOCKETS = ("counts_disabled_cores", "minimum_per_socket", "maximum_per_socket")


def one_unit(rules: CountRules) -> int | Decimal:
    del rules
    return 1


def never(rules: CountRules) -> bool:
    del rules
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A way to count licences. `label` is for lists, `singular` and `several` are its unit; empty without any.

    `rules` are the fields of LicenceRules that mean something under it. `count` counts the units of one server; without
    it the metric counts something else than servers. `covered` is what one licence covers, in units. `is_of_vm` tells
    whether the virtual machine is counted where there is one.
    """

    name: str
    label: str
    singular: str = ""
    several: str = ""
    rules: tuple[str, ...]
    count: Counter | None = None
    covered: Callable[[CountRules], int | Decimal] = one_unit
    is_of_vm: Callable[[CountRules], bool] = never
