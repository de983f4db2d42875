"""Conditions that keep a queued run waiting. The database computes them, so that queue and pages mean the same."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from benchhub.analysis.words import listing
from benchhub.bench.models import Run
from benchhub.bench.models.states import State
from benchhub.catalog.instances import grants
from benchhub.catalog.models import Host, Instance

from .data import first_tenant, is_occupied, lacks_its_data, occupied_sentence, waits_for_part, waits_for_preparation
from .exclusive import is_reserved, reserved_sentence, reserver
from .needs import DRIVER, SERVER, hosts, is_busy, truth
from .times import is_blocked, is_outside, is_promised

Runs = TypeVar("Runs", bound=QuerySet[Run])


@dataclass(frozen=True, slots=True)
class Gate:
    """`is_shut` is true in the database where the run has to wait; `sentence` tells a person why."""

    name: str
    is_shut: Any
    sentence: Callable[[Run], str]


def is_ungranted() -> Q:
    """Tell whether the run would change settings of somebody's server, or restart it, beyond what is granted now."""
    restart, grant = "spec__server_settings__restart", "system__instance__grant"
    beyond_reload = Q(**{grant: Instance.Grant.RELOAD}) & ~Q(**{restart: []})
    return Q(**{f"{restart}__isnull": False}) & (Q(**{grant: Instance.Grant.NONE}) | beyond_reload)


def _untrusted_hosts(run: Run) -> str:
    [first, *_] = [host for host in hosts(run) if host.trust != Host.Trust.PINNED]
    if first.trust == Host.Trust.QUARANTINED:
        return f"The host key of {first.name} has changed, so nothing is sent to it: look at the host's page."
    return f"The host key of {first.name} is {first.get_trust_display()}: approve it on the host's page."


def _paused_hosts(run: Run) -> str:
    paused = [host for host in hosts(run) if host.paused_at]
    reasons = dict.fromkeys(host.pause_reason for host in paused if host.pause_reason)
    return " ".join([f"The host {listing(host.name for host in paused)} is paused.", *reasons])


GATES = (
    Gate("experiment_paused", Q(experiment__paused_at__isnull=False), lambda _: "The experiment is paused."),
    Gate(
        "host_paused",
        Q(**{f"{DRIVER}__paused_at__isnull": False}) | Q(**{f"{SERVER}__paused_at__isnull": False}),
        _paused_hosts,
    ),
    Gate(
        "untrusted",
        ~Q(**{f"{DRIVER}__trust": Host.Trust.PINNED})
        | (Q(**{f"{SERVER}__isnull": False}) & ~Q(**{f"{SERVER}__trust": Host.Trust.PINNED})),
        _untrusted_hosts,
    ),
    Gate("ungranted", is_ungranted(), lambda run: grants.WITHDRAWN.format(run.system.instance)),
    Gate("without_data", waits_for_preparation(), lambda _: "Its data set is not loaded (and warmed up) yet."),
    Gate("occupied", is_occupied(), occupied_sentence),
    Gate("foreign", lacks_its_data(), lambda _: "Its server has another data set: its own is loaded first."),
    Gate("part", waits_for_part(), lambda _: "An earlier part of its design uses the same server and comes first."),
    Gate(
        "canary",
        Q(experiment__canary__in=["waits", "failed"], is_canary=False),
        lambda _: "The canary, its experiment's lowest and highest level, comes first.",
    ),
    Gate("blocked", Q(is_blocked()), lambda _: "A host of it is blocked now, or would be before the run ends."),
    Gate("reserved", is_reserved(), reserved_sentence),
    Gate(
        "outside",
        is_outside(),
        lambda _: "Its experiment may run only at other times, or the run would not end within them.",
    ),
    Gate(
        "promised",
        is_promised(),
        lambda _: "A run that comes first waits until all that it needs is free: nothing later starts there before it.",
    ),
    Gate("busy", is_busy(), lambda _: "Its host, its server or hardware that they share is busy or rests."),
)
CONTENTION = ("busy", "promised")  # they open by themselves, as runs end


def with_gates(runs: Runs) -> Runs:
    """Add to each run a boolean column for each gate, `gate_...`: true where it is shut."""
    shut = {f"gate_{gate.name}": truth(gate.is_shut) for gate in GATES}
    return runs.annotate(**shut, tenant=first_tenant(), reserver=reserver())


def ready(runs: Runs) -> Runs:
    """Return the queued runs that nothing keeps from starting now."""
    shut = {f"gate_{gate.name}": False for gate in GATES}
    return with_gates(runs.filter(state=State.QUEUED)).filter(**shut)


def sentences(run: Run, without: Collection[str] = ()) -> list[str]:
    """Say why a run that came with its gates may not start; empty where it may. `without` names gates to leave out."""
    shut = (gate for gate in GATES if gate.name not in without and getattr(run, f"gate_{gate.name}"))
    return [gate.sentence(run) for gate in shut]
