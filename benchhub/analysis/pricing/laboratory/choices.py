"""Choices: a system under a licence, as it is bought and measured, and as it is with the handles moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.quote import Order, Terms, Throughput
from benchhub.analysis.pricing.topology import POOLER, Machine
from benchhub.analysis.words import plain

from .handles import CORES, DISCOUNT, LICENCE_DISCOUNT, PRICE, TERM, THROUGHPUT, Handles

SET_BY_HAND = "set in the price laboratory"


@dataclass(frozen=True, slots=True)
class Choice:
    """A system under a licence: what is ordered, and the throughput that it gives.

    `system`, `hardware`, `licence` and `pooler`, the machine of a pooler, are keys; choices that share the last three
    have the same order.
    """

    system: str
    hardware: str
    licence: str
    system_label: str
    licence_label: str
    order: Order
    throughput: Throughput
    pooler: str = ""

    @property
    def name(self) -> str:
        return f"{self.system_label} under {self.licence_label}"


def order_at(choice: Choice, handles: Handles) -> Order:
    """Return the order of a choice with the handles moved."""
    order, cores = choice.order, handles.value(CORES)
    if handles.licence == choice.licence:
        order = replace(order, licences=tuple(_moved_licence(licence, handles) for licence in order.licences))
    if handles.hardware == choice.hardware and cores is not None:
        nodes = tuple(
            node if node.role == POOLER else replace(node, machine=with_cores(node.machine, int(cores)))
            for node in order.deployment.nodes
        )
        order = replace(order, deployment=replace(order.deployment, nodes=nodes))
    return order


def terms_at(terms: Terms, handles: Handles) -> Terms:
    """Return the terms with the handles of term and discount moved."""
    years, percent = handles.value(TERM), handles.value(DISCOUNT)
    return replace(
        terms,
        years=terms.years if years is None else int(years),
        discount_percent=terms.discount_percent if percent is None else percent,
    )


def throughput_at(choice: Choice, handles: Handles) -> Throughput:
    """Return the throughput of a choice with its handle moved: its repeats scatter by as many per cent as measured."""
    value, measured = handles.value(THROUGHPUT), choice.throughput
    if handles.system != choice.system or value is None or value == measured.value:
        return measured
    factor = value / measured.value
    return replace(
        measured,
        value=value,
        lowest=measured.lowest * factor,
        highest=measured.highest * factor,
        evidence=f"{SET_BY_HAND}; measured are {plain(measured.value)} {measured.unit}",
        repeats=tuple(repeat * float(factor) for repeat in measured.repeats),
    )


def with_cores(machine: Machine, cores_per_socket: int) -> Machine:
    """Return the machine with so many cores in each socket; the machine itself where it has as many."""
    if cores_per_socket == machine.cores_per_socket:
        return machine
    return replace(machine, cores_per_socket=cores_per_socket, unlike_cores=())


def with_price(licence: Licence, amount: Decimal) -> Licence:
    """Return the licence at another price: the contracted one where there is a contract, otherwise the list price."""
    if licence.rules.contracted_price is not None:
        return replace(licence, rules=replace(licence.rules, contracted_price=amount))
    prices = tuple(
        price if price.amount == amount else replace(price, amount=amount, source=SET_BY_HAND, row=None)
        for price in licence.prices
    )
    return replace(licence, prices=prices)


def with_discount(licence: Licence, percent: Decimal) -> Licence:
    """Return the licence with so many per cent off its list price, instead of what was agreed."""
    if percent == licence.rules.discount_percent and licence.rules.contracted_price is None:
        return licence
    return replace(licence, rules=replace(licence.rules, discount_percent=percent, contracted_price=None))


def _moved_licence(licence: Licence, handles: Handles) -> Licence:
    price, percent = handles.value(PRICE), handles.value(LICENCE_DISCOUNT)
    licence = licence if price is None else with_price(licence, price)
    return licence if percent is None else with_discount(licence, percent)
