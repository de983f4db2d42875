"""Hosts, systems and runs that wait."""

from __future__ import annotations

from benchhub.bench.models import Experiment, Protocol, Run, System
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild, Workload


def new_host(name, **fields):
    fields = {"host_key": "ssh-ed25519 AAAA", "trust": Host.Trust.PINNED, **fields}
    return Host.objects.create(name=name, address=f"{name}.test", username="bench", **fields)


def new_system(server, driver=None, label="system"):
    build, _ = PgBuild.objects.get_or_create(binary_digest="b", version="18.4", defaults={"version_num": 180004})
    configuration, _ = Configuration.objects.get_or_create(name="c")
    hardware, _ = Hardware.objects.get_or_create(name="h", defaults={"sockets": 1, "cores_per_socket": 4})
    instance = Instance.objects.create(
        name=label, host=server, build=build, configuration=configuration, address="x", database="d", username="u"
    )
    return System.objects.create(
        label=label,
        instance=instance,
        driver=driver or server,
        hardware=hardware,
        build=build,
        configuration=configuration,
        path="network" if driver else "loopback",
        description={},
        digest=label,
    )


def new_experiment(**fields):
    workload, _ = Workload.objects.get_or_create(name="w", defaults={"tool": "pgbench"})
    return Experiment.objects.create(
        name="e", workload=workload, client_build=PgBuild.objects.get(), client_levels=[1], duration_s=3, **fields
    )


def new_run(experiment, system, position, **fields):
    fields = {"clients": 1, "threads": 1, "repeat": position, "spec": {}, "protocol": Protocol.stored({}), **fields}
    return Run.objects.create(experiment=experiment, system=system, position=position, **fields)


def states():
    return list(Run.objects.order_by("position").values_list("state", flat=True))
