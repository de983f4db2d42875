"""Count occupied sockets, or groups of them; a licence may cover only so many cores of each."""

from __future__ import annotations

from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .clamps import clamped_sockets, sum_words
from .metric import OF_CORES, OF_SOCKETS, OF_UNITS, CountRules, Log, Metric


def _sockets(name: str, rules: CountRules, machine: Machine, log: Log) -> int:
    """Count licences for groups of sockets: one covers so many cores of each socket, another so many more."""
    group, sockets = rules.sockets_per_licence, machine.sockets
    groups = -(-sockets // group)
    template = "Units: {licence} is counted per occupied socket as bought; {machine} has {result}"
    if group > 1:
        template = "Units: {licence} covers {group} occupied sockets as bought; {machine} has {sockets}: {result}"
    log.append(step("count", template, groups, licence=name, machine=machine.name, sockets=sockets, group=group))
    # Of a group the socket with the most cores decides: a licence covers so many of each.
    largest = sorted(machine.socket_cores(rules.counts_disabled_cores), reverse=True)[::group]
    return clamped_sockets(rules, _for_cores(rules, largest, log) if rules.cores_per_licence else [1] * groups, log)


def _for_cores(rules: CountRules, cores_by_group: list[int], log: Log) -> list[int]:
    covered, groups = rules.cores_per_licence, len(cores_by_group)
    licences = [-(-cores // covered) for cores in cores_by_group]
    cores, per_socket = cores_by_group[0], licences[0]
    template = (
        "Cores: a licence covers {covered} cores of a socket, and {cores} take {per_socket}; "
        "{groups} x {per_socket} = {result}"
    )
    operands = {"covered": covered, "cores": cores, "per_socket": per_socket, "groups": groups}
    if len(set(cores_by_group)) > 1:
        template = "Cores: a licence covers {covered} cores of a socket, and {cores} take {sum} = {result}"
        words = {"cores": sum_words(cores_by_group), "sum": sum_words(licences)}
        log.append(step("cores_covered", template, sum(licences), covered=covered, **words))
    else:
        log.append(step("cores_covered", template, sum(licences), **operands))
    return licences


SOCKET = Metric(
    name="socket",
    label="per socket",
    singular="occupied socket",
    several="occupied sockets",
    rules=(*OF_UNITS, *OF_CORES, *OF_SOCKETS, "cores_per_licence", "sockets_per_licence"),
    count=_sockets,
    covered=lambda rules: rules.sockets_per_licence,
)
