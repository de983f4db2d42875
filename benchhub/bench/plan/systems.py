"""Systems under test: what is measured, as rows that are the same for the same combination."""

from __future__ import annotations

from typing import Any

from benchhub.analysis.protocol import digest
from benchhub.bench.models import System
from benchhub.catalog.instances import poolers
from benchhub.catalog.models import Configuration, Hardware, Host, Instance


def system_under_test(
    instance: Instance,
    *,
    driver: Host,
    hardware: Hardware,
    path: str,
    label: str,
    configuration: Configuration | None = None,
) -> System:
    """Return the one row for this combination, saved; the same combination is always the same system.

    `configuration` is the instance's own unless given: a cluster of BenchHub's own may have any.
    """
    candidate = asked_system(
        instance, driver=driver, hardware=hardware, path=path, label=label, configuration=configuration
    )
    if candidate._state.adding:
        fields = {field.attname: getattr(candidate, field.attname) for field in System._meta.concrete_fields}
        del fields["id"], fields["digest"]
        candidate, _ = System.objects.get_or_create(digest=candidate.digest, defaults=fields)
    return candidate


def asked_system(
    instance: Instance,
    *,
    driver: Host,
    hardware: Hardware,
    path: str,
    label: str,
    configuration: Configuration | None = None,
) -> System:
    """Return the system as system_under_test does, but leave a new one unsaved: looking at a plan saves nothing."""
    configuration = configuration or instance.configuration
    form = digest.system_form(_system_fields(instance, configuration, driver, hardware, path))
    candidate = System(
        label=label,
        instance=instance,
        driver=driver,
        hardware=hardware,
        build=instance.build,
        configuration=configuration,
        path=path,
        pooler_hardware=instance.pooler_hardware if instance.pooler else None,
        description=form,
        digest=digest.digest(form),
    )
    systems = System.objects.select_related(
        "instance__host", "instance__cluster", "driver", "hardware", "pooler_hardware", "build", "configuration"
    )
    return systems.filter(digest=candidate.digest).first() or candidate


def _system_fields(
    instance: Instance, configuration: Configuration, driver: Host, hardware: Hardware, path: str
) -> dict[str, Any]:
    return {
        "instance": instance.name,
        "server": instance.host.name if instance.host else "",
        "driver": "" if instance.host_id == driver.pk else driver.name,
        "hardware": {
            "name": str(hardware),
            "sockets": hardware.sockets,
            "cores_per_socket": hardware.cores_per_socket,
            "threads_per_core": hardware.threads_per_core,
            # Left out where sockets are alike, so that no stored system gets another digest.
            **({"unlike_cores": list(hardware.unlike_cores)} if hardware.unlike_cores else {}),
        },
        "build": {"version": instance.build.version, "binary": instance.build.binary_digest},
        "settings": {name: str(value) for name, value in configuration.settings.items()},
        "os_settings": {name: str(value) for name, value in configuration.os_settings.items()},
        "volatile_storage": "yes" if configuration.volatile_storage else "",
        "path": path,
        "pooler": poolers.planned(instance),
    }
