"""Start servers for the soak and the fleet: a warehouse, a broker and a PostgreSQL to be measured."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from cryptography.fernet import Fernet

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, programs
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes
from tests.faults.rig import CLONE, Rig, load_data_set

BUILD = 16


@contextmanager
def standing(name: str, lease_s: float) -> Iterator[tuple[Rig, Cluster]]:
    """Yield a rig without hosts, and its warehouse, on which Django is set up; stop and remove all at the end."""
    owner = accounts.for_clone(CLONE)
    builds = programs.builds(owner)[BUILD]
    home = owner.home / name
    shutil.rmtree(home, ignore_errors=True)
    owner = replace(owner, home=owner.make_folder(home))
    processes = Processes(home, f"{name}-{os.getpid()}")
    place = {"account": owner, "is_scratch": True, "settings": {"max_connections": "200"}}
    warehouse = Cluster("warehouse", home / "warehouse", builds, ports.free_port(), **place)
    server = Cluster("server", home / "server", builds, ports.free_port(), **place)
    broker = Broker(home / "broker", ports.free_port(), secrets.token_urlsafe(), owner)
    rig = Rig(processes, owner, home, server, broker, {}, lease_s)
    try:
        for cluster in (warehouse, server):
            cluster.create(processes)
            cluster.start(processes)
        load_data_set(server)
        broker.start(processes)
        rig.environment.update(_environment(warehouse, broker, lease_s))
        _set_up(rig)
        yield rig, warehouse
    finally:
        rig.close()
        processes.stop_all()
        shutil.rmtree(home, ignore_errors=True)


def _environment(warehouse: Cluster, broker: Broker, lease_s: float) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return {
        **inherited,
        "DATABASE_URL": warehouse.url,
        "BROKER_URL": broker.url,
        "SECRET_KEY": secrets.token_hex(),
        "FIELD_KEYS": Fernet.generate_key().decode(),
        "LEASE_SECONDS": str(lease_s),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "benchhub.settings",
    }


def _set_up(rig: Rig) -> None:
    """Make the tables, and set up Django in this process."""
    rig.processes.run(rig._python("migrate", "django", "migrate", "-v", "0"))
    os.environ.update(rig.environment)
    import django

    django.setup()
