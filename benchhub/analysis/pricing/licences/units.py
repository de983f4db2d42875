"""Count the licences that a deployment needs, by the rules of a licence model, with each step of the count.

The pipeline: units of each socket -> minimum and maximum per socket -> sum -> factor -> those per server -> packs ->
those per order. A maximum is what is paid for at most; whether a machine is eligible at all is asked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from benchhub.analysis.pricing.money import Number, PricingError, ceiling, exactly
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.pricing.topology import Deployment, Machine, Node
from benchhub.analysis.words import count, plain

from .metrics import METRICS, Log
from .rules import Factor, LicenceRules


@dataclass(frozen=True, slots=True)
class NotEligible:
    """The answer where a licence model does not cover a deployment."""

    licence: str
    reason: str

    def __str__(self) -> str:
        return f"{self.licence} cannot be bought for this: {self.reason}"


@dataclass(frozen=True, slots=True)
class Count:
    units: int
    steps: tuple[Step, ...]


@exactly
def count_licences(
    name: str, rules: LicenceRules, deployment: Deployment, on: date | None = None
) -> Count | NotEligible:
    """Count the licences that `deployment` needs under the rules called `name`, with the core factors of the day `on`.

    Raises PricingError where a fact is missing (a machine, memory, named users, a core factor).
    """
    if rules.metric == "none":
        nothing = step("count", "Licence: {licence} adds nothing, and support is not bought", 0, licence=name)
        return Count(0, (nothing,))
    log = _exempt_steps(name, rules, deployment)
    nodes = [node for node in deployment.nodes if node.role not in rules.exempt_roles]
    if reason := _not_eligible(rules, deployment, nodes):
        return NotEligible(name, reason)
    if METRICS[rules.metric].count and not deployment.nodes:
        raise PricingError(f"{name} is counted on machines, and none is named: name the one that it is for.")
    if rules.metric == "flat":
        units = 1 if nodes or not deployment.nodes else 0
        log.append(step("count", "Units: {licence} is one for the whole site, {result}", units, licence=name))
        return Count(units, tuple(log))
    return Count(_order(name, rules, deployment, nodes, on, log), tuple(log))


def _exempt_steps(name: str, rules: LicenceRules, deployment: Deployment) -> Log:
    template = "Exempt: {machine} needs none of {licence}, as its role is {role}"
    return [
        step("exempt", template, 0, machine=node.machine.name, licence=name, role=node.role)
        for node in deployment.nodes
        if node.role in rules.exempt_roles
    ]


def _order(
    name: str, rules: LicenceRules, deployment: Deployment, nodes: Sequence[Node], on: date | None, log: Log
) -> int:
    """Return the sum over all servers, with the minimum, maximum and packs of the order as a whole."""
    servers = [(_server(name, rules, node.machine, on, log), node.quantity) for node in nodes]
    units: Number = sum((units * quantity for units, quantity in servers), 0)
    if [quantity for _, quantity in servers] not in ([], [1]):
        sum_words = " + ".join(f"{quantity} x {plain(units)}" for units, quantity in servers)
        log.append(step("sum", "Order: {sum} = {result}", units, sum=sum_words))
    if rules.metric == "user" and (nodes or not deployment.nodes):
        units = _users(name, deployment, units, log)
    units = _whole(units, log)
    if units:
        units = _clamped("order", units, rules.minimum_per_order, rules.maximum_per_order, log)
    return ceiling(_packed("order", rules, units, log))


def _server(name: str, rules: LicenceRules, machine: Machine, on: date | None, log: Log) -> Number:
    """Return the units of one server; not yet whole where factors are rounded over the order."""
    if rules.metric == "user":  # people count once in the order; a server says how many they are at least
        units: Number = _least_users(rules, machine, on, log)
    else:
        counter = METRICS[rules.metric].count
        assert counter is not None, "what counts no servers does not come here"
        units = counter(name, rules, machine, log)
        units = _factored(rules, machine, units, on, log) if rules.factors else units
    units = _clamped("server", units, rules.minimum_per_server, rules.maximum_per_server, log)
    if _is_counted_on_vm(rules, machine):
        units = _clamped("VM", units, rules.minimum_per_vm, 0, log)
    is_packed = rules.packs_pooled_per == "server" and rules.metric != "user"
    return _packed("server", rules, units, log) if is_packed else units


def _least_users(rules: LicenceRules, machine: Machine, on: date | None, log: Log) -> int:
    if not rules.users_per_processor:
        return 0
    processors: Number = machine.sockets
    if rules.user_processor == "core":
        processors = machine.cores(rules.counts_disabled_cores)
        if rules.factors:
            processors = ceiling(_factored(rules, machine, processors, on, log))
    template = "Minimum: {machine} has {processors} of {users} named users at least, {result}"
    words = count(processors, "processor")
    units = int(processors) * rules.users_per_processor
    users = rules.users_per_processor
    log.append(step("minimum_users", template, units, machine=machine.name, processors=words, users=users))
    return units


def _users(name: str, deployment: Deployment, least: Number, log: Log) -> Number:
    users = deployment.named_users
    if users is None:
        raise PricingError(f"{name} is counted by named users, and their number is not known: fill it in.")
    template = "Units: {licence} is counted per named user; there are {users}, and {result} are to be licensed"
    units = max(users, least)
    log.append(step("count", template, units, licence=name, users=users, at_least=least))
    return units


def _factored(rules: LicenceRules, machine: Machine, units: Number, on: date | None, log: Log) -> Number:
    """Multiply by the core factor, and round up after summing: over the server, or later over the order."""
    factor = _factor(rules, machine, on)
    product = units * factor.factor
    is_rounded = rules.factor_rounded_per == "server" or rules.metric == "user"
    result: Number = ceiling(product) if is_rounded else product
    template = "Factor: {units} x {factor} for {processor} = {product}"
    if result != product:
        template += ", rounded up to {result}"
    since = f"since {factor.since.isoformat()}" if factor.since else ""
    operands = {"units": units, "factor": factor.factor, "product": product}
    processor = factor.processor or "any other processor"
    log.append(step("factor", template, result, since, processor=processor, **operands))
    return result


def _factor(rules: LicenceRules, machine: Machine, on: date | None) -> Factor:
    """Return the newest factor for the family on the day; a family's own comes before that for any other."""
    for family in dict.fromkeys((machine.processor, "")):
        factors = [
            factor
            for factor in rules.factors
            if factor.processor == family and (on is None or factor.since is None or factor.since <= on)
        ]
        if factors:
            return max(factors, key=lambda factor: factor.since or date.min)
    day_text = f" on {on.isoformat()}" if on else ""
    raise PricingError(f"There is no core factor for the processor '{machine.processor}'{day_text}: add one.")


def _whole(units: Number, log: Log) -> Number:
    rounded_up = ceiling(units)
    if rounded_up != units:
        log.append(step("round_up", "Rounded up: {units} of the order are {result}", rounded_up, units=units))
    return rounded_up


def _clamped(scope: str, units: Number, least: int, most: int, log: Log) -> Number:
    """Raise units to a minimum, or cut them to a maximum; a `most` of 0 is none."""
    clamped_units = max(units, least)
    clamped_units = min(clamped_units, most or clamped_units)
    if clamped_units != units:
        kind, word = ("minimum", "raised") if clamped_units > units else ("maximum", "cut")
        template = f"{kind.capitalize()}: {{units}} of the {{of}} are {word} to {{result}}"
        log.append(step(f"{kind}_per_{scope.lower()}", template, clamped_units, units=units, of=scope))
    return clamped_units


def _packed(scope: str, rules: LicenceRules, units: Number, log: Log) -> Number:
    """Round up to whole packs; of an order whose servers are packed, pack only what its minimum added."""
    if rules.pack == 1:
        return units
    packs = ceiling(units / Decimal(rules.pack))
    if scope == rules.packs_pooled_per or packs * rules.pack != units:
        template = "Packs: {units} of the {of} take {packs} of {pack}, which is {result}"
        words = count(packs, "pack")
        log.append(step("pack", template, packs * rules.pack, units=units, of=scope, packs=words, pack=rules.pack))
    return packs * rules.pack


def _is_counted_on_vm(rules: LicenceRules, machine: Machine) -> bool:
    return machine.vm is not None and METRICS[rules.metric].is_of_vm(rules)


def _not_eligible(rules: LicenceRules, deployment: Deployment, nodes: Sequence[Node]) -> str:
    """Return the first limit that is exceeded, as a sentence; empty if none is."""
    servers = sum(node.quantity for node in nodes)
    if rules.max_servers is not None and servers > rules.max_servers:
        return f"it is for at most {count(rules.max_servers, 'server')}, and there are {servers}."
    if reason := _users_not_eligible(rules, deployment):
        return reason
    return next((reason for node in nodes if (reason := _machine_not_eligible(rules, node.machine))), "")


def _users_not_eligible(rules: LicenceRules, deployment: Deployment) -> str:
    users = deployment.named_users
    if rules.max_users is None:
        return ""
    if users is None:
        raise PricingError("There is a limit on named users, and their number is not known: fill it in.")
    most = count(rules.max_users, "named user")
    return f"it is for at most {most}, and there are {plain(users)}." if users > rules.max_users else ""


def _machine_not_eligible(rules: LicenceRules, machine: Machine) -> str:
    cores = machine.cores(rules.counts_disabled_cores)
    limits = (
        (rules.max_sockets, machine.sockets, "socket", ""),
        (rules.max_cores, cores, "physical core", ""),
        (rules.max_vcpus, machine.vcpus, "vCPU", ""),
        (rules.max_memory_gb, _memory_gb(rules, machine), "GB of memory", "GB of memory"),
    )
    for most, amount, noun, plural in limits:
        if most is not None and amount > most:
            return f"it is for servers of at most {count(most, noun, plural)}, and {machine.name} has {plain(amount)}."
    return ""


def _memory_gb(rules: LicenceRules, machine: Machine) -> Decimal:
    if rules.max_memory_gb is None:
        return Decimal(0)
    memory_gb = machine.vm.memory_gb if _is_counted_on_vm(rules, machine) and machine.vm else machine.memory_gb
    if memory_gb is None:
        raise PricingError(f"There is a limit on memory, and that of '{machine.name}' is not known: fill it in.")
    return memory_gb
