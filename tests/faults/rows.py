"""The rows of a rig in the warehouse: a host and an instance per site, and experiments on them."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from benchhub.analysis.protocol import digest
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.plan import plan
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import Configuration, DataSet, Hardware, Host, Instance, PgBuild, Workload
from benchhub.embedded.postgres import Cluster
from runners import tools

from .rig import PATIENCE_S, Rig, Site, until

PARAMETERS = {"script": "select-only", "query_mode": "simple", "scale": 1, "rate_tps": 40}


def warehouse_url() -> str:
    place = connection.settings_dict
    return f"postgresql://{place['USER']}:{place['PASSWORD']}@{place['HOST']}:{place['PORT']}/{place['NAME']}"


def enrol(site: Site, server: Cluster) -> System:
    """The site as a host that was approved and probed just now, with its instance; the data set is there."""
    host = Host.objects.create(
        name=site.name,
        address="127.0.0.1",
        port=site.proxy.port,
        username=site.machine.username,
        host_key=site.machine.host_key,
        trust=Host.Trust.PINNED,
        private_key=site.private_key,
        work_directory=str(site.machine.work_directory),
        facts={"kernel": "not probed"},
        facts_at=Now(),
    )
    build, _ = PgBuild.objects.get_or_create(binary_digest="16", defaults={"version": "16.9", "version_num": 160009})
    machine, _ = Hardware.objects.get_or_create(name="machine", defaults={"sockets": 1, "cores_per_socket": 2})
    configuration, _ = Configuration.objects.get_or_create(name="defaults")
    instance = Instance.objects.create(
        name=site.name,
        host=host,
        build=build,
        configuration=configuration,
        address="127.0.0.1",
        port=server.port,
        database=server.database,
        username=server.username,
        password=server.password,
        bin_directory=str(site.bin_directory),
    )
    recipe = dict(tools.get("pgbench").data_set(PARAMETERS))
    DataSet.objects.create(
        instance=instance, build=build, recipe=recipe, recipe_digest=digest.digest(recipe), size_bytes=1, checksum="1"
    )
    return system_under_test(instance, driver=host, hardware=machine, path="loopback", label=site.name)


def enrol_apart(driver: Site, other: Site, server: Cluster) -> System:
    """A server on another host than its driver, which has been enrolled."""
    instance = Instance.objects.get(pk=enrol(other, server).instance_id)
    machine = Hardware.objects.get(name="machine")
    return system_under_test(
        instance, driver=Host.objects.get(name=driver.name), hardware=machine, path="network", label="apart"
    )


def queue(system: System, count: int = 1, **fields: Any) -> list[Run]:
    """So many runs of some seconds on one site, in order."""
    workload, _ = Workload.objects.get_or_create(
        name="select-only", defaults={"tool": "pgbench", "parameters": PARAMETERS}
    )
    experiment = Experiment(
        **{
            "name": "faults",
            "workload": workload,
            "client_build": system.build,
            "client_bin_directory": system.instance.bin_directory,
            "client_levels": [1],
            "repeats": count,
            "duration_s": 2,
            **fields,
        }
    )
    plan.queue(experiment, [system])
    return list(experiment.runs.order_by("position"))


def state(run: Run) -> str:
    """As the warehouse has it now; empty while it does not answer."""
    try:
        return str(Run.objects.values_list("state", flat=True).get(pk=run.pk))
    except OperationalError:
        connection.close()
        return ""


def until_state(run: Run, *states: str, patience_s: float = PATIENCE_S) -> None:
    until(lambda: state(run) in states, patience_s, f"run {run.pk} {states}: {doing(run)}")


def until_final(runs: list[Run], patience_s: float = PATIENCE_S) -> list[Run]:
    """The runs as they ended, in order."""
    try:
        until(lambda: all(state(run) in ("succeeded", "failed", "cancelled", "lost") for run in runs), patience_s)
    except AssertionError as error:
        raise AssertionError(f"{error}: {[doing(run) for run in runs]}") from None
    return list(Run.objects.filter(pk__in=[run.pk for run in runs]).select_related("watch").order_by("pk"))


def doing(run: Run) -> tuple[Any, ...]:
    values = ("state", "reason", "watch__contact_error", "watch__fence", "watch__lease_until", "watch__next_look_at")
    try:
        return Run.objects.values_list(*values).get(pk=run.pk)
    except OperationalError as error:
        connection.close()
        return (repr(error),)


@contextmanager
def locked(table: str):
    """Whoever wants to write to the table waits in the middle of its transaction."""
    with psycopg.connect(warehouse_url()) as holder:
        holder.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        yield
        holder.rollback()


def waits_for(table: str) -> bool:
    with psycopg.connect(warehouse_url()) as looking:
        query = "SELECT count(*) FROM pg_locks WHERE relation = %s::regclass AND NOT granted"
        return bool(looking.execute(query, [table]).fetchone()[0])


def is_waited_for(file: Path) -> bool:
    """Tell whether somebody waits for a lock on the file, as /proc/locks tells."""
    inode = f":{file.stat().st_ino} "
    return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


def start_whose_answer_is_held_back(rig: Rig, site: Site, system: System, **fields: Any) -> Run:
    """One run of which the host knows that it has started, and the worker does not."""
    with transaction.atomic():
        [run] = queue(system, **{"duration_s": 3, **fields})
        folder = site.folder(run)
        folder.mkdir(parents=True)
        for made in (*folder.relative_to(site.machine.work_directory).parents, folder):
            rig.account.own(site.machine.work_directory / made)
        starting = (folder / "start.lock").open("w")
        rig.account.own(folder / "start.lock")
        fcntl.flock(starting, fcntl.LOCK_EX)
    until(lambda: is_waited_for(folder / "start.lock"))
    site.proxy.hold_answers()
    starting.close()
    until(lambda: site.executions(run))
    assert state(run) == "starting"
    return run
