"""What is odd about a plan, in sentences. None of it stops anybody: it is said before the time is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchhub.analysis.digest import differing_fields, labels
from benchhub.catalog.models import Host

from .forms import Asked
from .models import System
from .plan import protocol_form, resolve_threads

SHORT_S = 30
DEFAULT_CONNECTIONS = 100
RESERVED_CONNECTIONS = 3


def doubts(asked: Asked) -> Iterator[str]:
    yield from _hosts(asked.systems)
    yield from _protocols(asked)
    yield from _connections(asked)
    yield from _branches(asked)
    yield from _threads(asked)
    yield from _protocol_is_weak(asked)
    yield from _shared_machines(asked.systems)
    yield from described_twice(asked.systems)
    yield from _labels(asked)


def _hosts(systems: Sequence[System]) -> Iterator[str]:
    hosts = [host for system in systems for host in (system.driver, system.instance.host) if host]
    for host in {host.pk: host for host in hosts}.values():
        if host.trust == Host.Trust.QUARANTINED:
            yield f"{host} is quarantined, as its host key changed: nothing runs there until you approve the new key."
        elif host.trust != Host.Trust.PINNED:
            yield f"The host key of {host} is not approved: nothing runs there until you approve it."
        elif not host.facts_at:
            yield f"{host} has not been probed: what its results were measured on is not known."
        elif host.contact_error:
            yield f"{host} could not be reached last time: {host.contact_error}"


def _protocols(asked: Asked) -> Iterator[str]:
    first, *others = [protocol_form(asked.experiment, system) for system in asked.systems]
    fields = sorted({name for other in others for name in differing_fields(first, other)})
    if fields:
        named = ", ".join(labels(fields))
        yield f"The systems differ in their protocol ({named}): they will not share a plot and are not compared."


def _connections(asked: Asked) -> Iterator[str]:
    highest = max(asked.experiment.client_levels)
    for system in asked.systems:
        text = str(system.configuration.settings.get("max_connections", ""))
        allowed = int(text) if text.isdecimal() else DEFAULT_CONNECTIONS
        if highest > allowed - RESERVED_CONNECTIONS:
            whose = "asks for" if text else "does not set it, so it has PostgreSQL's default of"
            yield (
                f"{highest} clients may be more than {system.instance} lets in: its configuration {whose} "
                f"{allowed} max_connections, of which {RESERVED_CONNECTIONS} are reserved."
            )


def _branches(asked: Asked) -> Iterator[str]:
    parameters, highest = asked.experiment.workload.parameters, max(asked.experiment.client_levels)
    scale = parameters.get("scale", 1)
    if parameters.get("script") == "tpcb-like" and highest > scale:
        yield (
            f"The data set has {_counted(scale, 'branch', 'branches')} (its scale) for {highest} clients: each "
            "transaction updates a branch, so clients will wait for each other rather than for the server."
        )


def _threads(asked: Asked) -> Iterator[str]:
    rule, levels = asked.experiment.thread_rule, asked.experiment.client_levels
    uneven = [clients for clients in levels if clients % resolve_threads(rule, clients)]
    if uneven:
        named = ", ".join(map(str, uneven))
        yield f"At {named} clients the threads do not divide the clients: some threads carry more of them than others."


def _protocol_is_weak(asked: Asked) -> Iterator[str]:
    if asked.experiment.duration_s < SHORT_S:
        yield f"Runs shorter than {SHORT_S} s mostly show caches and checkpoints in passing, not a steady rate."
    if asked.experiment.repeats == 1:
        yield "A single run at each level shows no spread: two systems can then not be told apart from chance."


def _shared_machines(systems: Sequence[System]) -> Iterator[str]:
    local = list(dict.fromkeys(str(system.driver) for system in systems if system.driven_locally))
    if local:
        yield f"Client and server share one machine ({', '.join(local)}): the client takes CPU time from the server."


def described_twice(systems: Sequence[System]) -> Iterator[str]:
    """A sentence for each host whose systems are described by more than one hardware profile."""
    for host in {system.instance.host: None for system in systems if system.instance.host}:
        profiles = {system.hardware: None for system in systems if system.instance.host == host}
        if len(profiles) > 1:
            yield (
                f"One host, {host}, is described by different hardware ({', '.join(map(str, profiles))}): "
                "prices then compare machines that were never both measured."
            )


def _labels(asked: Asked) -> Iterator[str]:
    for system, label in zip(asked.systems, asked.labels, strict=True):
        if system.label != label:
            yield f"'{label}' is known already, and will be shown, as '{system.label}'."


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
