"""The servers of the demonstration, and the order in which they start and stop."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchhub.demo import page, state
from benchhub.demo.extent import Extent
from benchhub.demo.terminal import say
from benchhub.embedded import EmbeddedError, proc, programs
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import MARKER, TARGET_SUFFIX, Child, InterruptError, Processes, last_lines
from benchhub.embedded.sshd import SshTarget

USERNAME = "demo"
LONGEST_FOLDER_OF_SOCKETS = 70
RESTARTS = 3
RESTART_PATIENCE_S = 5
WAREHOUSE_BUILD = 18
WAREHOUSE_SETTINGS = {"shared_buffers": "64MB", "max_connections": "50"}
# Alike on both builds: what differs between their curves is to be the build.
TARGET_SETTINGS = {"shared_buffers": "256MB", "max_connections": "100", "max_wal_size": "512MB"}


@dataclass
class Service:
    """A child that is to run as long as the demonstration does."""

    child: Child
    start: Callable[[], Child]
    restarts: int = 0


@dataclass
class Demo:
    """The servers of one clone: `clone` holds the program, `account.home` what they write.

    `tunes` says whether they measure a tuning series instead of two builds, and `extent` how much of these.
    """

    clone: Path
    account: Account
    processes: Processes
    secrets: state.Secrets
    tunes: bool = False
    extent: Extent = field(default_factory=Extent)
    services: dict[str, Service] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        """Choose ports before anything starts, so that no two servers are promised the same."""
        builds = programs.builds(self.account)
        self.warehouse = self._cluster("warehouse", builds[WAREHOUSE_BUILD], WAREHOUSE_SETTINGS)
        self.targets = {
            major: self._cluster(f"target{major}", directory, TARGET_SETTINGS) for major, directory in builds.items()
        }
        password = self.secrets.broker_password
        self.broker = Broker(self._home("broker"), self._port("broker"), password, self.account)
        self.sshd = SshTarget(
            self._home("target"), self._port("sshd"), self.account, target_marker(self.processes.marker)
        )
        self.wished_web_port = state.wished_web_port(self.account)
        self.web_listener = state.web_listener(self.account)
        self.web_port: int = self.web_listener.getsockname()[1]

    @property
    def var(self) -> Path:
        return self.clone / "var"

    @property
    def temporary(self) -> Path:
        return self.var / "tmp"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def experiment_file(self) -> Path:
        """Return the file in which the experiment's command names it: {"name": ..., "path": "/..."}."""
        return self.account.home / "experiment.json"

    @property
    def is_first_start(self) -> bool:
        return not all(cluster.exists for cluster in self._clusters())

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the Django processes. PG* variables of the shell would redirect them."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**inherited, **self._temporary_files(), **self.own_environment}

    @property
    def own_environment(self) -> dict[str, str]:
        """Return what the Django processes are told, whatever other sites the shell's environment is meant for."""
        return {
            "DATABASE_URL": os.environ.get("DATABASE_URL") or self.warehouse.url,
            "BROKER_URL": os.environ.get("BROKER_URL") or self.broker.url,
            "SECRET_KEY": self.secrets.secret_key,
            "FIELD_KEYS": self.secrets.field_keys,
            "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "PUBLIC_URL": os.environ.get("PUBLIC_URL") or self.url,
            "STATIC_ROOT": str(self.var / "static"),
            "DEBUG": "0",
            "HTTPS": "0",
            "DJANGO_SETTINGS_MODULE": "benchhub.settings",
            "CELERY_SKIP_CHECKS": "1",
            "DEMO_PASSWORD": self.secrets.demo_password,
            "PYTHONUNBUFFERED": "1",
        }

    def _temporary_files(self) -> dict[str, str]:
        """Return where processes put them, so that what killed ones have left is found; nothing if sockets do not fit.

        The path of a socket has 107 bytes at most.
        """
        return {"TMPDIR": str(self.temporary)} if len(os.fsencode(self.temporary)) < LONGEST_FOLDER_OF_SOCKETS else {}

    def start_servers(self) -> None:
        """Start databases, broker and target at the same time."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700)
        starts: dict[str, Callable[[], Child]] = {
            cluster.name: partial(self._create_and_start, cluster) for cluster in self._clusters()
        }
        if not os.environ.get("BROKER_URL"):
            starts["broker"] = lambda: self.broker.start(self.processes)
        starts["sshd"] = lambda: self.sshd.start(self.processes)
        self._start_together(starts)

    def prepare_warehouse(self) -> None:
        """Create tables, published reports and static files, the last of them beside the other two."""
        static = self.manage("collectstatic", "--noinput", "--clear", "-v", "0")
        self.processes.run(self.manage("migrate", "--noinput", "-v", "1"))
        self.processes.run(self.manage("load_fixtures"))
        self.processes.run(static)

    def start_application(self) -> None:
        """Start web, worker and ticker; return when the web answers."""
        schedule = self.var / "ticker"
        schedule.mkdir(mode=0o700, exist_ok=True)
        worker = ("celery", "-A", "benchhub", "worker", "-P", "threads", "-c", "12", "-l", "INFO")
        self._serve("worker", *worker, *QUIET_WORKER)
        ticker = ("celery", "-A", "benchhub.ticker", "beat", "-l", "INFO", "--pidfile=")
        self._serve("ticker", *ticker, "-s", str(schedule / "schedule"))
        inherited = self.web_listener.fileno()
        words = ("benchhub.serve", "--fd", str(inherited))
        web = self._serve("web", *words, inherits=(inherited,))
        self.processes.wait_until(lambda: page.answers(f"{self.url}/alive"), web, patience_s=240)

    def run_experiment(self, *, is_anew: bool, is_watched: bool) -> None:
        """Plan, queue and follow the experiment on the terminal. Raises ChildError unless every run succeeded.

        `is_watched` says where to watch it, once the user is there.
        """
        target = self.var / "target.json"
        self.write_target(target)
        options = ["--since", self.begun.isoformat(), *(["--anew"] if is_anew else []), *self.extent.words()]
        options += ["--pages", self.url] if is_watched else []
        child = self.manage(self.experiment_command, "--target", str(target), *options, to_terminal=True)
        self.processes.run(child, while_waiting=self.watch)

    @property
    def experiment_command(self) -> str:
        return "demo_tuning" if self.tunes else "demo_experiment"

    def write_target(self, file: Path) -> None:
        """Describe the target for `manage.py demo_experiment`, passwords included: mode 0600."""
        state.write_private(file, json.dumps(self.described_target(), indent=1))

    def watch(self) -> None:
        """Start again what has ended by itself, a bounded number of times. Raises EmbeddedError."""
        for name, service in self.services.items():
            exit_code = service.child.exit_code
            if exit_code is None:
                continue
            self.processes.stop(service.child)
            if restarted := self._restarted_by_a_run(name, exit_code):
                service.child = restarted
                continue
            lines = "\n".join(f"    {line}" for line in last_lines(service.child.log, 5))
            say(f"\n{name} has ended by itself (exit code {exit_code}). The end of {service.child.log}:\n{lines}")
            if service.restarts == RESTARTS:
                raise EmbeddedError(f"{name} has ended {RESTARTS + 1} times: see {service.child.log}.")
            service.restarts += 1
            say(f"Starting {name} again ({service.restarts} of {RESTARTS}).")
            self.processes.pause(1)
            service.child = service.start()

    def _restarted_by_a_run(self, name: str, exit_code: int) -> Child | None:
        """Return the server that took the place of one that ended in order: a plan may have runs restart it.

        It is not there at once, and starting another meanwhile would take its place.
        """
        target = next((cluster for cluster in self.targets.values() if cluster.name == name), None)
        deadline = time.monotonic() + RESTART_PATIENCE_S
        while target and exit_code == 0 and time.monotonic() < deadline:
            if adopted := target.adopt(self.processes):
                return adopted
            self.processes.pause(0.1)
        return None

    def stop(self) -> None:
        """Stop everything: first what gives orders, then the target and the jobs on it, then the databases.

        Jobs on the target are killed outright: the next start finds them lost, as after a power cut.
        """
        for name in (self.experiment_command, "ticker", "worker", "web", "sshd"):
            self.processes.stop_named(name)
        proc.kill_marked(MARKER, self.sshd.marker)
        self.processes.stop_all()
        self.processes.kill_marked()
        self.web_listener.close()
        shutil.rmtree(self.temporary, ignore_errors=True)

    def manage(self, *words: str, to_terminal: bool = False) -> Child:
        """Start a command of manage.py, without Django's checks of the code: they take as long again."""
        return self._python(words[0], "manage.py", *words, "--skip-checks", to_terminal=to_terminal)

    def _serve(self, name: str, *words: str, inherits: Sequence[int] = ()) -> Child:
        return self._keep(name, lambda: self._python(name, "-m", *words, inherits=inherits))

    def _keep(self, name: str, start: Callable[[], Child]) -> Child:
        self.services[name] = Service(start(), start)
        return self.services[name].child

    def _python(self, name: str, *words: str, to_terminal: bool = False, inherits: Sequence[int] = ()) -> Child:
        return self.processes.start(
            name,
            [sys.executable, *words],
            folder=self.clone,
            environment=self.environment,
            to_terminal=to_terminal,
            inherits=inherits,
        )

    def _start_together(self, starts: Mapping[str, Callable[[], Child]]) -> None:
        with ThreadPoolExecutor() as pool:
            futures = [pool.submit(self._keep, name, start) for name, start in starts.items()]
        errors = [error for future in futures if (error := future.exception())]
        failures = [error for error in errors if not isinstance(error, InterruptError)]
        for error in (*failures, *errors):
            raise error

    def _create_and_start(self, cluster: Cluster) -> Child:
        cluster.create(self.processes)
        return cluster.start(self.processes)

    def _clusters(self) -> Sequence[Cluster]:
        warehouse = [] if os.environ.get("DATABASE_URL") else [self.warehouse]
        return [*warehouse, *self.targets.values()]

    def _cluster(self, name: str, bin_directory: Path, settings: Mapping[str, str]) -> Cluster:
        port = self._port(name)
        return Cluster(name, self._home(name), bin_directory, port, self.account, settings=settings)

    def _home(self, name: str) -> Path:
        return self.account.home / name

    def _port(self, name: str) -> int:
        return state.choose_port(self.account, name)

    def described_target(self) -> dict[str, object]:
        """Describe for `manage.py demo_experiment` how to log in, and the clusters to be measured."""
        return {
            "address": "127.0.0.1",
            "port": self.sshd.port,
            "username": self.sshd.username,
            "host_key": self.sshd.host_key,
            "authorize_file": str(self.sshd.authorized_keys),
            "work_directory": str(self.sshd.work_directory),
            "user": {"username": USERNAME, "password": self.secrets.demo_password},
            "result_file": str(self.experiment_file),
            "instances": [_instance(major, cluster) for major, cluster in self.targets.items()],
        }


QUIET_WORKER = ("--without-gossip", "--without-mingle")


def target_marker(marker: str) -> str:
    """Return the mark of what runs on the target, apart from that of the servers."""
    return f"{marker}{TARGET_SUFFIX}"


def _instance(major: int, cluster: Cluster) -> dict[str, object]:
    return {
        "name": cluster.name,
        "build_major": major,
        "bin_directory": str(cluster.bin_directory),
        "port": cluster.port,
        "database": cluster.database,
        "username": cluster.username,
        "password": cluster.password,
        "data_directory": str(cluster.data_directory),
    }
