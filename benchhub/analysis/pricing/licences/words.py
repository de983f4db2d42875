"""Word the rules of a licence model: what is counted, what one price buys, and how it is paid."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchhub.analysis.words import count, listing, plain

from .metrics import METRICS
from .rules import Factor, LicenceRules, Tier

PERIODS = {"perpetual": "for good", "hourly": "for an hour"}


def unit(rules: LicenceRules) -> str:
    """Name what one licence covers: 'one physical core', 'a pack of 2 vCPUs'; empty if nothing is licensed."""
    if rules.metric == "none":
        return ""
    metric = METRICS[rules.metric]
    if rules.is_price_per_pack:
        return f"a pack of {rules.pack} {metric.several}"
    covered_units = metric.covered(rules)
    return f"{plain(covered_units)} {metric.several}" if covered_units != 1 else f"one {metric.singular}"


def price_of(rules: LicenceRules) -> str:
    """Name what an amount in the price list buys: 'one physical core, for a year'."""
    if rules.metric == "none":
        return "nothing: no licence is needed"
    return f"{unit(rules)}, {PERIODS.get(rules.payment, f'for a {rules.period}')}"


def per(rules: LicenceRules) -> str:
    """Complete 'an amount per ...': 'physical core and year', 'pack of 2 vCPUs and hour', 'socket, for good'."""
    covered = unit(rules).removeprefix("one ").removeprefix("a ")
    if rules.payment == "perpetual":
        return f"{covered}, for good"
    return f"{covered} and {'hour' if rules.payment == 'hourly' else rules.period}"


def words(rules: LicenceRules) -> str:
    """Return the rules in short sentences."""
    if rules.metric == "none":
        return "Nothing is licensed, and support is not bought."
    parts = (_counting(rules), _limits(rules), _paying(rules))
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for part in parts for sentence in part)


def _counting(rules: LicenceRules) -> Iterator[str]:
    counted = f"per {METRICS[rules.metric].singular}"
    yield "one licence for the whole site" if rules.metric == "flat" else "; ".join([counted, *_details(rules)])
    if least := _bounds(rules, "minimum"):
        yield f"at least {listing(least)}"
    if most := _bounds(rules, "maximum"):
        yield f"paid for at most {listing(most)}"
    if rules.factors:
        factors = ", ".join(map(_factor, rules.factors))
        yield f"times a core factor of {factors}, rounded up per {rules.factor_rounded_per}"
    if rules.pack > 1:
        yield f"sold in packs of {rules.pack}, pooled per {rules.packs_pooled_per}"
    if rules.exempt_roles:
        yield f"none for servers in the role of {listing(sorted(rules.exempt_roles))}"


def _details(rules: LicenceRules) -> Iterator[str]:
    if rules.sockets_per_licence > 1:
        yield f"a licence covers {rules.sockets_per_licence} of them"
    if rules.cores_per_licence:
        yield f"a licence covers {rules.cores_per_licence} cores of a socket"
    if not rules.counts_disabled_cores:
        yield "cores disabled in firmware do not count"
    if (rules.vcpus_per_licence_smt, rules.vcpus_per_licence_no_smt) != (1, 1):
        yield f"a licence covers {rules.vcpus_per_licence_smt} with SMT and {rules.vcpus_per_licence_no_smt} without"
    if rules.memory_block_gb != 1:
        yield f"in blocks of {plain(rules.memory_block_gb)} GB"
    if rules.counts_vm_memory:
        yield "of the virtual machine"
    if rules.users_per_processor:
        yield f"at least {rules.users_per_processor} for each {rules.user_processor}"


def _bounds(rules: LicenceRules, bound_kind: str) -> list[str]:
    scopes = {"socket": "socket", "server": "server", "vm": "virtual machine", "order": "order"}
    bounds = [(getattr(rules, f"{bound_kind}_per_{scope}", 0), scope_text) for scope, scope_text in scopes.items()]
    return [f"{bound} per {scope_text}" for bound, scope_text in bounds if bound]


def _factor(factor: Factor) -> str:
    since = f" since {factor.since.isoformat()}" if factor.since else ""
    return f"{plain(factor.factor)} for {factor.processor or 'any other processor'}{since}"


def _limits(rules: LicenceRules) -> Iterator[str]:
    limits = (
        (rules.max_sockets, "socket", ""),
        (rules.max_cores, "physical core", ""),
        (rules.max_vcpus, "vCPU", ""),
        (rules.max_memory_gb, "GB of memory", "GB of memory"),
    )
    if server_limits := [count(most, noun, plural) for most, noun, plural in limits if most is not None]:
        yield f"for servers of at most {listing(server_limits)}"
    if rules.max_servers is not None:
        yield f"for at most {count(rules.max_servers, 'server')}"
    if rules.max_users is not None:
        yield f"for at most {count(rules.max_users, 'named user')}"


def _paying(rules: LicenceRules) -> Iterator[str]:
    yield f"paid {_payment(rules)}"
    if rules.tiers:
        rule_text = "each unit at its own tier" if rules.tiers_apply == "graduated" else "all at the tier reached"
        tiers = ", ".join(_tier(tier, rules.is_price_per_pack) for tier in rules.tiers)
        yield f"{tiers}: {rule_text}"
    if rules.discount_percent:
        yield f"{plain(rules.discount_percent)}% off the list price"
    if rules.contracted_price is not None:
        yield f"contracted at {plain(rules.contracted_price)} instead of the list price"


def _payment(rules: LicenceRules) -> str:
    if rules.payment == "hourly":
        return _hours(rules)
    uplift = f", each year {plain(rules.yearly_uplift_percent)}% dearer" if rules.yearly_uplift_percent else ""
    if rules.payment == "subscription":
        return f"by the {rules.period}{uplift}"
    if not rules.support_percent:
        return "once, for good"
    included = ", the first year included" if rules.is_first_year_included else ""
    base = "list" if rules.support_on == "list" else "discounted"
    support = f"with support of {plain(rules.support_percent)}% of the {base} price a year"
    return f"once, for good, {support}{included}{uplift}"


def _hours(rules: LicenceRules) -> str:
    month = f"{plain(rules.hours_per_month)} hours in a month"
    if not rules.reserved_years:
        return f"by the hour, {month} at {plain(rules.utilisation_percent)}%"
    off_text = f" less {plain(rules.reserved_percent_off)}%" if rules.reserved_percent_off else ""
    return f"by the hour, {month}, reserved for {count(rules.reserved_years, 'year')}{off_text}"


def _tier(tier: Tier, is_of_packs: bool) -> str:
    price_text = (
        f"{plain(tier.price)} each" if tier.price is not None else f"{plain(tier.percent_off or Decimal(0))}% off"
    )
    return f"from {tier.from_units}{' packs' if is_of_packs else ''} on {price_text}"
