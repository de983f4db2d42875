"""Configurations on a server that is somebody's: checked against that very server, within what its owner grants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchhub.analysis.protocol import applicable
from benchhub.analysis.protocol.parameters import parameter, unit_bytes
from benchhub.analysis.tuning.treatments import Layer
from benchhub.catalog.models import Configuration, Instance
from runners import contract
from runners.server_settings.parameters import OVERRIDING

from .standbys import NO_CHANGES, is_standby

NO_GRANT = (
    "{} has settings of its own, and its owner lets BenchHub change none of them: an administrator may grant that on "
    "the form of the instance."
)
NOT_SEEN = "Which settings {} knows was not seen yet: test the instance from its own host, then plan again."
OS_LAYER = "Settings of the operating system are changed for clusters of BenchHub's own alone."
NO_COMMAND = "{} has no command that restarts it: write it on the form of the instance."
WITHDRAWN = "It would change settings of {}, which its owner does not grant any more: grant it anew, or cancel."
MIB, USUAL_MIB = 1024**2, 16


def refusals_by_layer(instance: Instance, configuration: Configuration) -> dict[Layer, list[str]]:
    """Return, by layer, a sentence for each setting that cannot be applied to somebody's server.

    What the instance's own configuration asks for as well, the server is meant to have already: it is not applied.
    """
    if is_own(instance, configuration):
        return {"settings": [NO_CHANGES.format(instance)]} if instance.restart_words and is_standby(instance) else {}
    if instance.grant == Instance.Grant.NONE:
        return {"settings": [NO_GRANT.format(instance)]}
    if is_standby(instance):
        return {"settings": [NO_CHANGES.format(instance)]}
    rows = _rows(instance)
    if not rows:
        return {"settings": [NOT_SEEN.format(instance)]}
    settings = applicable.spelled(changes(instance, configuration), rows)
    sentences = applicable.refusals(settings, _server(instance, rows))
    sentences = sentences or [*_beyond_grant(instance, settings, rows)]
    is_as_found = configuration.os_settings.items() <= instance.configuration.os_settings.items()
    return {"settings": sentences, "os_settings": [] if is_as_found else [OS_LAYER]}


def is_own(instance: Instance, configuration: Configuration) -> bool:
    """Tell whether it is the configuration that the server is meant to have, in whichever revision."""
    return configuration.name == instance.configuration.name


def changes(instance: Instance, configuration: Configuration) -> dict[str, str]:
    """Return the settings by which the configuration differs from what the server is meant to have."""
    own = instance.configuration.environment.settings
    return {name: text for name, text in configuration.environment.settings.items() if own.get(name) != text}


def asked_settings(instance: Instance, configuration: Configuration) -> contract.ServerSettings | None:
    """Return what a run changes of somebody's server; None where nothing. Raises ValueError with all reasons.

    Where runs may restart it, each begins with that, whatever it is to have: else some would find warm caches.
    """
    by_layer = refusals_by_layer(instance, configuration)
    if sentences := [sentence for sentences in by_layer.values() for sentence in sentences]:
        raise ValueError(" ".join(sentences))
    if is_own(instance, configuration):
        return contract.ServerSettings({}, {}, instance.restart_words) if instance.restart_words else None
    rows = _rows(instance)
    settings = applicable.spelled(changes(instance, configuration), rows)
    if not settings and not instance.restart_words:
        return None
    return contract.ServerSettings(
        settings=settings,
        settings_in_force=applicable.applied(settings, _server(instance, rows)),
        restart=instance.restart_words,
    )


def withdrawn(instance: Instance, change: contract.ServerSettings) -> str:
    """Return why a run that was planned with the change may not make it any more, as a sentence; empty if it may."""
    enough = {Instance.Grant.RESTART} if change.restart else {Instance.Grant.RESTART, Instance.Grant.RELOAD}
    if instance.grant in enough:
        return ""
    return WITHDRAWN.format(instance)


def _beyond_grant(instance: Instance, settings: Mapping[str, str], rows: Mapping[str, Any]) -> Iterator[str]:
    if instance.grant == Instance.Grant.RESTART and not instance.restart_command:
        yield NO_COMMAND.format(instance)
    for name in settings:
        if instance.grant == Instance.Grant.RELOAD and parameter(name, rows[name]).needs_restart:
            yield f"{name} takes effect at a restart alone, and the grant of {instance} is for a reload."
        if (source := rows[name].get("source")) in OVERRIDING:
            yield f"{name} is set by the {source} of {instance}, which no configuration overrides."


def _rows(instance: Instance) -> Mapping[str, Any]:
    """Return the settings that the server knows, as its last test saw them; empty where there was none."""
    inspection = getattr(instance, "inspection", None)
    return inspection.parameters if inspection else {}


def _server(instance: Instance, rows: Mapping[str, Any]) -> applicable.Server:
    return applicable.Server(
        version=instance.build.version,
        parameters={name: parameter(name, row) for name, row in rows.items()},
        memory_bytes=instance.host.facts.get("memory_bytes") if instance.host else None,
        wal_segment_mib=_wal_segment_mib(rows),
        is_somebodys=True,
    )


def _wal_segment_mib(rows: Mapping[str, Any]) -> int:
    """Return the size of a WAL segment there, which newer servers say in bytes and older ones in blocks."""
    segment = parameter("wal_segment_size", rows.get("wal_segment_size", {}))
    return int(segment.default) * (unit_bytes(segment.unit) or 1) // MIB if segment.default.isdecimal() else USUAL_MIB
