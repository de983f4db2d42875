"""Hosts and servers that runs change, to be found as they were: somebody's servers, and a cluster of BenchHub's own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from benchhub.bench.models import Run, System
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import Cluster as OwnCluster
from benchhub.catalog.models import Configuration, Hardware, Host, Inspection, Instance
from benchhub.embedded import EmbeddedError
from benchhub.embedded.postgres import Cluster
from runners.clusters.testing import signalled, working_in
from runners.job import Attempt
from runners.os_settings.script import STATE_FOLDER, VERSION, helper_text
from runners.os_settings.testing import NAMES, RootHelper, settings_guarded, value
from runners.server_settings.testing import Driver, Victim

from . import rows
from .rig import PATIENCE_S, Rig, Site, crash, until

OS_SETTINGS = ("vm.dirty_expire_centisecs", "vm.dirty_ratio")
LOGS = ("step", "server_settings.log", "os_settings.log")
BOTH = {"work_mem": "7MB", "shared_buffers": "20MB"}  # the second needs a restart
OVER = ("succeeded", "failed", "cancelled", "lost")
SUDO = '#!/bin/sh\nshift 2\nexec {command} "$@"\n'  # `sudo -n HELPER ...` on a host where it is not installed


@dataclass
class Lane:
    """A host of the rig, what a run changes there, and what can be broken meanwhile."""

    rig: Rig
    site: Site
    system: System
    server: Cluster

    def queue(self) -> Run:
        client = {"client_bin_directory": self.system.instance.bin_directory}
        return rows.queue(System.objects.get(pk=self.system.pk), duration_s=1, **client)[0]

    def victim(self, run: Run) -> Victim:
        number = run.attempts.order_by("-number").values_list("number", flat=True).first() or 1
        driver = Driver(None, None, self.site.machine, self.server)
        driver.work = str(self.site.machine.work_directory)
        return Victim(driver, Attempt(str(run.uuid), number, driver.work))

    def kill_everything(self, run: Run) -> None:
        """Kill all of the job, and whoever is to put back what it changed, as a power cut does."""
        self.victim(run).everything()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold what other tests of this machine change as well."""
        yield

    def has_come_to(self, run: Run, step: str) -> bool:
        """Tell whether the run has begun this step on its host or in the warehouse, or is over."""
        state, folder = rows.state(run), self.victim(run).folder
        logs = [folder / name for name in LOGS]
        words = [line.split(" ")[0] for log in logs if log.exists() for line in _lines(log)]
        return state in (*OVER, step) or step in words


class Granted(Lane):
    """Somebody's server whose owner lets runs change it: by a reload, or with restarts."""

    def queue(self) -> Run:
        words = ("pg_ctl", "-D", self.server.data_directory, "-m", "fast", "-w", "-l", self.server.folder / "log")
        command = " ".join(map(str, (self.server.bin_directory / words[0], *words[1:], "restart")))
        restarts = "shared_buffers" in self.system.configuration.settings
        grant = Instance.Grant.RESTART if restarts else Instance.Grant.RELOAD
        instances = Instance.objects.filter(pk=self.system.instance_id)
        instances.update(grant=grant, restart_command=command if restarts else "")
        return super().queue()

    @property
    def changeable(self) -> tuple[object, ...]:
        """Return all that a run may change, as it is now."""
        driver = Driver(None, None, self.site.machine, self.server)
        driver.work = str(self.site.machine.work_directory)
        return driver.auto_lines, *(driver.value(name) for name in BOTH), driver.holder, driver.state.exists()

    def crash(self) -> None:
        """Kill the server, and start it again as its owner does, unless a restart of a run's brings it back."""
        with contextlib.suppress(FileNotFoundError):  # a restart is under way
            crash(self.server)
        deadline = time.monotonic() + PATIENCE_S
        while not _is_answering(self.server):
            with contextlib.suppress(EmbeddedError):
                self.server.start(self.rig.processes)
            assert time.monotonic() < deadline, "the server did not start again"


@dataclass
class Own(Lane):
    """A cluster of BenchHub's own on a machine whose administrator lets runs change its operating system."""

    helper: RootHelper

    def kill_everything(self, run: Run) -> None:
        super().kill_everything(run)
        self.helper.kill()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with settings_guarded(*NAMES):
            yield

    @property
    def changeable(self) -> tuple[object, ...]:
        folder = Path(self.system.instance.address)
        return [value(name) for name in OS_SETTINGS], Path(STATE_FOLDER, "before").exists(), working_in(folder / "data")

    def crash(self) -> None:
        for number in sorted(working_in(Path(self.system.instance.address) / "data"))[:1]:
            signalled(number)


def _lines(log: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return log.read_text(errors="replace").splitlines()
    return []


def _is_answering(server: Cluster) -> bool:
    try:
        psycopg.connect(server.url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def granted(rig: Rig, name: str, server: Cluster) -> list[Granted]:
    """Return a host with a server that runs may change, once for each way: by a reload, with restarts."""
    site = rig.site(name)
    instance = rows.enrol(site, server).instance
    Instance.objects.filter(pk=instance.pk).update(grant=Instance.Grant.RELOAD)
    Inspection.ask(instance, instance.host)
    until(lambda: Inspection.objects.filter(instance=instance, parameters__has_key="work_mem").exists())
    systems = [
        _system(instance, f"{name} {len(settings)}", settings=settings) for settings in ({"work_mem": "7MB"}, BOTH)
    ]
    return [Granted(rig, site, system, server) for system in systems]


def own(rig: Rig, name: str, server: Cluster, helper: RootHelper) -> Own:
    """Return a cluster of BenchHub's own, made by the programs of a server beside it, on a host with the helper."""
    site = rig.site(name)
    _install(rig, site, helper)
    beside = rows.enrol(site, server).instance
    Host.objects.filter(pk=beside.host_id).update(facts={"kernel": "not probed", "os_settings": VERSION})
    programs = {"build": beside.build, "bin_directory": str(server.bin_directory)}
    as_found = Configuration.objects.create(name=f"{name} as found")
    account = {"address": "", "database": "bench", "username": site.machine.username}
    instance = Instance.objects.create(
        name=f"{name} own", host=beside.host, configuration=as_found, **programs, **account
    )
    cluster = OwnCluster.objects.create(instance=instance, folder="clusters/own")
    until(lambda: OwnCluster.objects.filter(pk=cluster.pk).exclude(made_at=None).exists())
    instance = Instance.objects.select_related("cluster__server_parameters", "build", "host").get(pk=instance.pk)
    changed = {setting: str(int(value(setting)) + 7) for setting in OS_SETTINGS}
    settings = {"work_mem": "7MB", "fsync": "off"}
    system = _system(instance, f"{name} changed", settings=settings, os_settings=changed)
    return Own(rig, site, system, server, helper)


def _install(rig: Rig, site: Site, helper: RootHelper) -> None:
    """Let the host's account use the helper by the usual command, with its state where hosts have it."""
    helper.program.write_text(helper_text())
    helper.state = Path(STATE_FOLDER)
    rig.account.write(site.bin_directory / "sudo", SUDO.format(command=helper.command)).chmod(0o755)
    rig.stop_daemon(site)
    site.machine = replace(site.machine, variables=(("PATH", f"{site.bin_directory}:/usr/bin:/bin"),))
    rig.start_daemon(site)


def _system(instance: Instance, label: str, **settings: dict[str, str]) -> System:
    configuration = Configuration.objects.create(name=label, **settings)
    path = "socket" if instance.own_cluster else "loopback"
    place = {"driver": instance.host, "hardware": Hardware.objects.get(name="machine"), "path": path, "label": label}
    return system_under_test(instance, configuration=configuration, **place)
