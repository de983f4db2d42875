"""Run TATP on a server of its own: by BenchHub, and by a bare pgbench that sends the same statements."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.overhead import BenchHub
from benchmarks.slices import summed_up
from runners.tools.tatp.parameters import Parameters
from runners.tools.tatp.population import TABLES
from runners.tools.tatp.scripts import COUNTER, HELD, VARIABLES_READY, Script, scripts

PARAMETERS = Parameters(subscribers=100_000)
# What BenchHub passes where it expects 20,000 transactions a second.
FAST_EVERY = 10
# The count of transactions, and the successes.
TELLING = re.compile(rf"\\set ({COUNTER}|{HELD}) .*\n")
READY = [word for name in VARIABLES_READY for word in ("-D", f"{name}=0")]
SHORT_S = 1  # of the run after a load
AT_ITS_OWN_TIME = {"autovacuum": "off", "checkpoint_timeout": "1h", "max_wal_size": "8GB"}


class Tatp(BenchHub):
    """BenchHub with TATP as its workload, and a bare pgbench beside it on the same server."""

    def __init__(self, demo: Any, duration_s: int) -> None:
        super().__init__(demo, duration_s)
        self.folder = Path(tempfile.mkdtemp(prefix="tatp-"))
        os.environ.update(
            PGHOST=self.described["address"],
            PGPORT=str(self.instance["port"]),
            PGUSER=self.instance["username"],
            PGDATABASE=self.instance["database"],
            PGPASSWORD=self.instance["password"] or "",
        )
        for name, value in AT_ITS_OWN_TIME.items():
            self.psql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.psql("SELECT pg_reload_conf()")

    def load(self) -> None:
        """Load the population before anything is compared, and write out what that left to be written."""
        self.measured(1, SHORT_S)
        self.psql("CHECKPOINT")

    def loaded_s(self, subscribers: int) -> float:
        from benchhub.bench.models import Run

        run = self.measured(1, SHORT_S, is_load_due=True, subscribers=subscribers)
        load = run.experiment.runs.get(kind=Run.Kind.LOAD)
        return float((load.ended_at - load.started_at).total_seconds())

    def tidy(self, database: str = "") -> None:
        self.psql("VACUUM " + ", ".join(TABLES), database)

    def measured(self, clients: int, duration_s: int, *, is_load_due: bool = False, **parameters: Any) -> Any:
        """Return the run, ended well, of an experiment of its own; load a population that is missing or due first."""
        from benchhub.bench.models import Experiment
        from benchhub.catalog.models import Workload

        full_parameters = {"subscribers": PARAMETERS.subscribers, **parameters}
        workload, _ = Workload.objects.get_or_create(
            name=f"TATP {full_parameters}", defaults={"tool": "tatp", "parameters": full_parameters}
        )
        experiment = Experiment(
            name="TATP",
            is_demonstration=True,
            workload=workload,
            client_build=self.build,
            client_bin_directory=self.instance["bin_directory"],
            client_levels=[clients],
            thread_rule="clients/2" if clients > 1 else "clients",
            duration_s=duration_s,
            telemetry=True,
        )
        return self.carried_out(experiment, is_load_due=is_load_due)

    @contextmanager
    def without_waits(self) -> Iterator[None]:
        """Keep the server from waiting for its disk meanwhile."""
        self.psql("ALTER SYSTEM SET fsync = off")
        self.psql("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            self.psql("ALTER SYSTEM RESET fsync")
            self.psql("SELECT pg_reload_conf()")

    def bare(self, clients: int, duration_s: int, sent: Sequence[Script], options: Sequence[str] = ()) -> float:
        """Return the TPS of a bare pgbench, failed ones included: no log, nothing told unless options or scripts do."""
        value = summed_up(self.output_of(clients, duration_s, sent, options))
        return value["tps"] * (1 + value.get("failed_transactions", 0) / value["transactions"])

    def output_of(self, clients: int, duration_s: int, sent: Sequence[Script], options: Sequence[str] = ()) -> str:
        """Return what a bare pgbench printed: on a machine that stands still perhaps no transaction in a second."""
        words = self.words(clients, duration_s, sent, self.folder)
        words += [option.format(folder=self.folder) for option in options]
        with (self.folder / "said").open("wb") as stderr:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=stderr, text=True, check=True)
        for path in self.folder.glob("log.*"):
            path.unlink()
        return done.stdout

    def words(self, clients: int, duration_s: int, sent: Sequence[Script], folder: Path) -> list[str]:
        """Write the scripts to the folder and return the command of a pgbench that sends them."""
        words = [f"{self.instance['bin_directory']}/pgbench", "-n", "-M", "prepared", "-T", str(duration_s)]
        words += ["-c", str(clients), "-j", str(max(1, clients // 2))]
        for number, script in enumerate(sent):
            path = folder / f"{number}.sql"
            path.write_text(script.text)
            words += ["-f", f"{path}@{script.weight}"]
        return words

    def psql(self, sql: str, database: str = "") -> str:
        command = [f"{self.instance['bin_directory']}/psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", sql]
        command += ["-d", database] if database else []
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def untold() -> list[Script]:
    """Return the scripts without what tells outcomes: they send the same statements, and count nothing."""
    plain = zip(scripts(PARAMETERS, FAST_EVERY), PARAMETERS.weighed, strict=False)
    return [Script(TELLING.sub("", script.text), weight) for script, weight in plain]
