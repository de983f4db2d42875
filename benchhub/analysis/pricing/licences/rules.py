"""Define the rules of a licence model: how a product is counted and how it is paid.

Rules that contradict themselves cannot be made: the error says for each field what to write instead. Their stored form
is in `rules_form`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from benchhub.analysis.pricing.money import HUNDRED, PricingError

from .metrics import METRICS

Pool = Literal["server", "order"]
Payment = Literal["subscription", "perpetual", "hourly"]

CHOICES: Mapping[str, tuple[str, ...]] = {
    "metric": tuple(METRICS),
    "user_processor": ("socket", "core"),
    "factor_rounded_per": ("server", "order"),
    "packs_pooled_per": ("server", "order"),
    "tiers_apply": ("graduated", "all_units"),
    "payment": ("subscription", "perpetual", "hourly"),
    "period": ("year", "month"),
    "support_on": ("list", "discounted"),
}
# A field says something only under these metrics, or these ways to pay: anywhere else it is a mistake.
UNDER_METRIC: Mapping[str, tuple[str, ...]] = {
    rule: tuple(metric.name for metric in METRICS.values() if rule in metric.rules)
    for rule in dict.fromkeys(rule for metric in METRICS.values() for rule in metric.rules)
}
UNDER_PAYMENT: Mapping[str, tuple[str, ...]] = {
    "period": ("subscription",),
    "yearly_uplift_percent": ("subscription", "perpetual"),
    **dict.fromkeys(("support_percent", "support_on", "is_first_year_included"), ("perpetual",)),
    **dict.fromkeys(("hours_per_month", "utilisation_percent"), ("hourly",)),
    **dict.fromkeys(("reserved_years", "reserved_percent_off"), ("hourly",)),
    **dict.fromkeys(("reserved_upfront", "reserved_upfront_percent"), ("hourly",)),
}
# Names of numbers, by what they may hold.
FROM_ONE = ("sockets_per_licence", "vcpus_per_licence_smt", "vcpus_per_licence_no_smt", "pack")
LIMITS = ("max_sockets", "max_cores", "max_vcpus", "max_servers", "max_users")
PERCENTS = (
    "support_percent", "yearly_uplift_percent", "utilisation_percent", "reserved_percent_off",
    "reserved_upfront_percent", "discount_percent",
)  # fmt: skip


class RulesError(PricingError):
    """Raised for wrong rules; `messages` maps each field that is wrong to the sentence that says what to write."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        self.messages = dict(messages)
        super().__init__(" ".join(f"{name}: {message}" for name, message in self.messages.items()))


@dataclass(frozen=True, slots=True)
class Factor:
    """Licences (or points) for one core of a processor family, from a day on. An empty family is any other."""

    processor: str
    factor: Decimal
    since: date | None = None


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier: from so many units (or packs) on a price of its own, or so many per cent off."""

    from_units: int
    price: Decimal | None = None
    percent_off: Decimal | None = None

    def unit_price(self, list_price: Decimal) -> Decimal:
        if self.price is not None:
            return self.price
        return list_price * (HUNDRED - (self.percent_off or 0)) / HUNDRED


@dataclass(frozen=True, slots=True)
class LicenceRules:
    """Every parameter of a licence model; money is in the currency of its list price, per cents are 0 to 100.

    Counting goes: units of each socket, their minimum and maximum, sum over the server, factor, those of the server (or
    virtual machine), packs, sum over the order with its own and packs, tier, discount, term. Raises RulesError.
    """

    metric: str
    exempt_roles: frozenset[str] = frozenset()
    # Counting
    counts_disabled_cores: bool = True
    cores_per_licence: int = 0  # a socket's licence covers so many cores; 0 covers them all
    sockets_per_licence: int = 1
    vcpus_per_licence_smt: int = 1
    vcpus_per_licence_no_smt: int = 1
    memory_block_gb: Decimal = Decimal(1)
    counts_vm_memory: bool = False
    users_per_processor: int = 0
    user_processor: Literal["socket", "core"] = "socket"
    minimum_per_socket: int = 0
    factors: tuple[Factor, ...] = ()
    factor_rounded_per: Pool = "server"
    minimum_per_server: int = 0
    minimum_per_vm: int = 0
    minimum_per_order: int = 0
    maximum_per_socket: int = 0  # beyond it nothing more is to be paid; 0 is no maximum
    maximum_per_server: int = 0
    maximum_per_order: int = 0
    pack: int = 1
    packs_pooled_per: Pool = "server"
    is_price_per_pack: bool = False
    # Eligibility: of one server, and of the order
    max_sockets: int | None = None
    max_cores: int | None = None
    max_vcpus: int | None = None
    max_memory_gb: Decimal | None = None
    max_servers: int | None = None
    max_users: int | None = None
    # Price
    tiers: tuple[Tier, ...] = ()
    tiers_apply: Literal["graduated", "all_units"] = "graduated"
    discount_percent: Decimal = Decimal(0)
    contracted_price: Decimal | None = None
    # Term
    payment: Payment = "subscription"
    period: Literal["year", "month"] = "year"
    yearly_uplift_percent: Decimal = Decimal(0)
    support_percent: Decimal = Decimal(0)
    support_on: Literal["list", "discounted"] = "list"
    is_first_year_included: bool = False
    hours_per_month: Decimal = Decimal(730)
    utilisation_percent: Decimal = Decimal(100)
    reserved_years: int = 0
    reserved_percent_off: Decimal = Decimal(0)
    reserved_upfront: Decimal = Decimal(0)
    reserved_upfront_percent: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if messages := _problems(self):
            raise RulesError(messages)


@cache
def defaults() -> dict[str, Any]:
    """Return the default of each field; `metric` has none."""
    return {field.name: field.default for field in fields(LicenceRules) if field.name != "metric"}


def _problems(rules: LicenceRules) -> dict[str, str]:
    """Return the first thing that is wrong with each field."""
    problems: dict[str, str] = {}
    stated = {name for name, default in defaults().items() if getattr(rules, name) != default}
    for check in (_choices, _misplaced, _numbers, _factors, _tiers, _contradictions):
        for name, message in check(rules, stated).items():
            problems.setdefault(name, message)
    return problems


def _choices(rules: LicenceRules, _: set[str]) -> dict[str, str]:
    return {
        name: f"Choose one of: {', '.join(choices)}."
        for name, choices in CHOICES.items()
        if getattr(rules, name) not in choices
    }


def _misplaced(rules: LicenceRules, stated: set[str]) -> dict[str, str]:
    metric_messages = {
        name: f"Leave this out, or count by {' or '.join(metrics)}: the metric is {rules.metric}."
        for name, metrics in UNDER_METRIC.items()
        if name in stated and rules.metric not in metrics
    }
    payment_messages = {
        name: f"Leave this out, or choose payment {' or '.join(ways)}: it is {rules.payment}."
        for name, ways in UNDER_PAYMENT.items()
        if name in stated and rules.payment not in ways
    }
    return {**metric_messages, **payment_messages}


def _numbers(rules: LicenceRules, stated: set[str]) -> dict[str, str]:
    messages = {name: "Write a whole number of 1 or more." for name in FROM_ONE if getattr(rules, name) < 1}
    limits = (*LIMITS, "max_memory_gb")
    messages |= {
        name: "Write 1 or more, or leave it out."
        for name in limits
        if (limit := getattr(rules, name)) is not None and limit < 1
    }
    messages |= {name: "Write per cent from 0 to 100." for name in PERCENTS if not 0 <= getattr(rules, name) <= HUNDRED}
    if rules.memory_block_gb <= 0:
        messages["memory_block_gb"] = "Write how many GB a licence covers, above 0."
    if not 0 < rules.hours_per_month <= 744:
        messages["hours_per_month"] = "Write hours above 0 and up to 744; a year of 8,760 hours has 730 in a month."
    if rules.reserved_years not in (0, 1, 2, 3):
        messages["reserved_years"] = "Write 1, 2 or 3 years, or 0 for none."
    unchecked = stated - messages.keys() - set(LIMITS)
    negative_names = {
        name for name in unchecked if isinstance(value := getattr(rules, name), int | Decimal) and value < 0
    }
    return messages | dict.fromkeys(negative_names, "Write a number of 0 or more.")


def _factors(rules: LicenceRules, _: set[str]) -> dict[str, str]:
    keys = [(factor.processor, factor.since) for factor in rules.factors]
    if len(set(keys)) < len(keys):
        return {"factors": "Write one factor for each processor family and day."}
    if any(factor.factor <= 0 for factor in rules.factors):
        return {"factors": "Write factors above 0."}
    return {}


def _tiers(rules: LicenceRules, stated: set[str]) -> dict[str, str]:
    starts = [tier.from_units for tier in rules.tiers]
    if "tiers_apply" in stated and not starts:
        return {"tiers_apply": "Add tiers, or leave this out."}
    if starts != sorted(set(starts)) or (starts and starts[0] < 1):
        return {"tiers": "Write tiers by rising units, each from a number of its own of 1 or more."}
    if any((tier.price is None) == (tier.percent_off is None) for tier in rules.tiers):
        return {"tiers": "Write either a price or per cent off for each tier."}
    if any((tier.price or 0) < 0 or not 0 <= (tier.percent_off or 0) <= HUNDRED for tier in rules.tiers):
        return {"tiers": "Write prices of 0 or more, and per cent off from 0 to 100."}
    return {}


def _contradictions(rules: LicenceRules, stated: set[str]) -> dict[str, str]:
    """Find pairs of fields that exclude or need each other."""
    messages = {}
    if {"discount_percent", "contracted_price"} <= stated:
        messages["contracted_price"] = "Write either a discount in per cent or a contracted price."
    for name in {"minimum_per_socket", "maximum_per_socket"} & stated if "sockets_per_licence" in stated else ():
        messages[name] = "Leave this out where one licence covers several sockets."
    for scope in ("socket", "server", "order"):
        least, most = getattr(rules, f"minimum_per_{scope}"), getattr(rules, f"maximum_per_{scope}")
        if 0 < most < least:
            messages[f"maximum_per_{scope}"] = f"Write {least} or more, as the minimum is, or leave this out."
    if {"reserved_upfront", "reserved_upfront_percent"} <= stated:
        messages["reserved_upfront_percent"] = "Write what is paid upfront either as an amount or in per cent."
    if rules.is_price_per_pack and rules.pack == 1:
        messages["is_price_per_pack"] = "Write how many units a pack has, or leave this out."
    if rules.user_processor == "socket" and rules.metric == "user" and rules.factors:
        messages["factors"] = "Factors are of cores: let user_processor be core, or leave them out."
    if "factor_rounded_per" in stated and not rules.factors:
        messages["factor_rounded_per"] = "Add factors, or leave this out."
    if "packs_pooled_per" in stated and rules.pack == 1:
        messages["packs_pooled_per"] = "Write how many units a pack has, or leave this out."
    for name in ("reserved_percent_off", "reserved_upfront", "reserved_upfront_percent"):
        if name in stated and not rules.reserved_years:
            messages[name] = "Write for how many years it is reserved, or leave this out."
    if rules.reserved_years and "utilisation_percent" in stated:
        messages["utilisation_percent"] = "Leave this out: what is reserved is paid whether it is used or not."
    return messages
