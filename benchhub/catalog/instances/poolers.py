"""The pooler in front of an instance, as a run is told of it, and as a system is described with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from benchhub.catalog.models import Host, Instance
from runners import contract
from runners.poolers import script
from runners.poolers.answer import PoolerFacts


def asked_pooler(instance: Instance) -> contract.Pooler | None:
    """Return the pooler that loads of the instance go through; None where they go to the server."""
    if not instance.pooler:
        return None
    tls = cast(Literal["", "disable", "require"], instance.pooler_tls)
    return contract.Pooler("PgBouncer", instance.pooler_address, instance.pooler_port, tls=tls)


def is_on_driver(instance: Instance, driver: Host | None) -> bool:
    """Tell whether loads get to the pooler without a network; so they do where there is none."""
    pooler = asked_pooler(instance)
    return pooler is None or script.is_on_driver(pooler) or (driver is not None and pooler.address == driver.address)


def seen_facts(instance: Instance) -> dict[str, str]:
    """Return version and settings of the pooler as the last test of the instance saw them; empty where none did."""
    inspection = getattr(instance, "inspection", None)
    return facts_in(inspection.sight) if inspection else {}


def facts_in(sight: Mapping[str, Any] | None) -> dict[str, str]:
    """Return version and settings of a pooler that a stored look holds."""
    stored = (sight or {}).get("pooler")
    return PoolerFacts.stored(stored).facts if stored else {}


def refusal(instance: Instance) -> str:
    """Say why the instance cannot be planned with now; empty where it can, as where nobody ever tested it.

    How its pooler pools belongs to the system: planned without that, it would be another system than before.
    """
    inspection = getattr(instance, "inspection", None) if instance.pooler else None
    if inspection is None or (inspection.sight or {}).get("pooler"):
        return ""
    if inspection.is_wanted:
        return f"{instance} is being tested: look at the plan again when its pooler has said how it pools."
    return f"The last test of {instance} did not get to its pooler: test it again, then look at the plan again."


def planned(instance: Instance) -> dict[str, str]:
    """Return what of the pooler belongs to a system: its kind, machine, and how it pools, as last seen.

    Empty where there is none, so that no other system gets another digest.
    """
    if not instance.pooler:
        return {}
    machine = {"machine": str(instance.pooler_hardware)} if instance.pooler_hardware else {}
    tls = {"tls": instance.pooler_tls} if instance.pooler_tls else {}
    return {"kind": instance.pooler, **machine, **tls, **seen_facts(instance)}
