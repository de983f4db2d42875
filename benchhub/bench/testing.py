"""Invented rows for the tests of pages: an experiment on two systems, and runs that ended as a test says."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db import connection
from django.utils import timezone

from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild, Workload
from runners.telemetry import compact

from .models import (
    Attempt,
    Event,
    Evidence,
    Experiment,
    ExperimentSystem,
    Found,
    LatencyHistogram,
    Protocol,
    Result,
    Run,
    RunTelemetry,
    Series,
    System,
    Worker,
)

PARAMETERS = {"script": "select-only", "query_mode": "simple", "scale": 10}
MINUTE_S = 60


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_host(name: str = "box", address: str = "192.0.2.1") -> Host:
    keys = {"host_key": "ssh-ed25519 AAAA", "public_key": "ssh-ed25519 BBBB", "private_key": "secret"}
    return Host.objects.create(name=name, address=address, username="bench", trust=Host.Trust.PINNED, **keys)


def build(version: str, folder: str = "", **fields: Any) -> dict[str, Any]:
    """Return a PostgreSQL as a probe finds it."""
    number = int(version.split(".")[0])
    facts = {"bin_directory": folder or f"/opt/pg{number}/bin", "version": version, "version_num": number * 10_000}
    return {**facts, "pgbench_version": version, "postgres_sha256": sha256(version), **fields}


def probed_host(*versions: str) -> Host:
    """Make a host of 8 cores on which a probe has found these builds."""
    host = make_host()
    host.facts, host.facts_at = {"builds": [build(version) for version in versions]}, timezone.now()
    host.hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    host.save()
    return host


def make_instance(host: Host, version: str, **fields: Any) -> Instance:
    configuration, _ = Configuration.objects.get_or_create(name="defaults", defaults={"settings": {"fsync": "on"}})
    defaults = {"address": "127.0.0.1", "database": "bench", "username": "bench", "name": f"pg {version}"}
    pg_build = PgBuild.from_facts(build(version))
    return Instance.objects.create(host=host, build=pg_build, configuration=configuration, **{**defaults, **fields})


def make_system(version: str, host: Host, hardware: Hardware, *, path: str = "socket") -> System:
    build = PgBuild.objects.create(version=version, version_num=int(version) * 10_000, binary_digest=sha256(version))
    settings = {"shared_buffers": "256MB", "fsync": "on"}
    configuration, _ = Configuration.objects.get_or_create(name="defaults", defaults={"settings": settings})
    instance = Instance.objects.create(
        name=f"pg{version}",
        host=host,
        build=build,
        configuration=configuration,
        address="/run/pg",
        database="bench",
        username="bench",
    )
    return System.objects.create(
        label=f"PostgreSQL {version}",
        instance=instance,
        driver=host,
        hardware=hardware,
        build=build,
        configuration=configuration,
        path=path,
        description={},
        digest=sha256(version + path),
    )


def make_box() -> Hardware:
    """Return a machine of one socket with four cores."""
    return Hardware.objects.create(name="Box", sockets=1, cores_per_socket=4)


def make_worker(**fields: Any) -> Worker:
    """Make a worker that has just told of itself, so that what waits is being worked on."""
    return Worker.objects.create(**{"name": "w1", "clock_ahead_s": 0.0, **fields})


def make_experiment(systems: list[System], **fields: Any) -> Experiment:
    workload, _ = Workload.objects.get_or_create(
        name="select-only", defaults={"tool": "pgbench", "parameters": PARAMETERS}
    )
    defaults = {
        "name": "Two builds",
        "workload": workload,
        "client_levels": [1, 8],
        "repeats": 2,
        "duration_s": MINUTE_S,
    }
    experiment = Experiment.objects.create(
        client_build=systems[0].build, client_bin_directory="/opt/pg/bin", **{**defaults, **fields}
    )
    for position, system in enumerate(systems):
        ExperimentSystem.objects.create(experiment=experiment, system=system, position=position)
    return experiment


def whole_spec(**changes: Any) -> dict[str, Any]:
    """Return a spec as planning writes it, whose every name of a place holds the word secret."""
    endpoint = {"path": "loopback", "address": "secret", "port": 5433, "database": "secret_db", "user": "secret_user"}
    spec = {
        "tool": "pgbench",
        "tool_version": "16.9",
        "bin_directory": "/opt/secret/bin",
        "endpoint": endpoint,
        "parameters": PARAMETERS,
        "clients": 2,
        "threads": 1,
        "duration_s": 2,
        "warmup_s": 1,
        "vacuum": True,
        "checkpoint": True,
    }
    return {**spec, **changes}


def make_run(experiment: Experiment, system: System, clients: int, repeat: int, **fields: Any) -> Run:
    defaults = {
        "protocol": Protocol.stored({"path": "socket"}),
        "position": experiment.runs.count() + 1,
        "expected_s": MINUTE_S,
        "spec": {"tool": "pgbench", "clients": clients, "parameters": PARAMETERS, "log_sampling_rate": 0.25},
    }
    return Run.objects.create(
        experiment=experiment,
        system=system,
        clients=clients,
        threads=clients,
        repeat=repeat,
        **{**defaults, **fields},
    )


def ended(run: Run, state: str, reason: str = "") -> Attempt:
    """Move the run to its end by the allowed moves, each with its event; returns its one attempt."""
    now = timezone.now()
    steps = [run.state, "reserved", "starting", "running", "collecting", state]
    events = [Event(run=run, old_state=old, new_state=new) for old, new in pairwise(steps)]
    events[-1].reason = reason
    Event.objects.bulk_create(events)
    with connection.cursor() as cursor:  # all moves by one statement: most tests have some dozen runs
        cursor.execute(
            "; ".join([f"UPDATE {Run._meta.db_table} SET state = %s WHERE id = %s"] * 5),
            [value for step in steps[1:] for value in (step, run.pk)],
        )
    run.state = state
    started_at = now - timedelta(seconds=run.expected_s)
    Run.objects.filter(pk=run.pk).update(started_at=started_at, ended_at=now, reason=reason)
    returncode = 0 if state == "succeeded" else 2
    return Attempt.objects.create(run=run, number=1, ended_at=now, outcome=state, reason=reason, returncode=returncode)


def succeeded(run: Run, tps: float, **fields: Any) -> Result:
    attempt = ended(run, "succeeded")
    measures = {"tps": {"value": tps, "unit": "TPS"}, "transactions": {"value": 123_456, "unit": "transactions"}}
    latency_ms = 1000 * run.clients / tps
    defaults = {"unit": "TPS", "latency_average_ms": latency_ms, "parser": "pgbench/1", "measures": measures}
    return Result.objects.create(run=run, attempt=attempt, throughput=tps, **{**defaults, **fields})


def make_two_curves(systems: list[System]) -> Experiment:
    """Make two curves with their peak at 8 clients: 1,000 TPS (980, 1,020) for 16, and 1,120 (1,100, 1,140) for 18."""
    experiment = make_experiment(systems)
    for system, at_8 in zip(systems, ((980.0, 1020.0), (1100.0, 1140.0)), strict=True):
        for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, at_8[0]), (8, 2, at_8[1])):
            succeeded(make_run(experiment, system, clients, repeat), tps)
    return experiment


def make_measured_run() -> Run:
    """Return the one run of an experiment, which has ended with 1,000 TPS."""
    system = make_system("18", make_host(), make_box())
    run = make_run(make_experiment([system]), system, 8, 1)
    succeeded(run, 1000.0)
    return run


def with_everything(run: Run) -> None:
    """Add series, histogram, facts and evidence to a run that has a result."""
    for metric, unit, values in (("tps", "TPS", [900.0, 1100.0]), ("latency_average", "ms", [1.5, None])):
        Series.objects.create(run=run, metric=metric, unit=unit, start_epoch_s=1.0, step_s=1.0, values=values)
    LatencyHistogram.objects.create(
        run=run,
        name="select-only",
        lower_us=[100, 200],
        upper_us=[101, 201],
        counts=[75, 25],
        sum_us=12_500,
        min_us=100,
        max_us=200,
        sampling_rate=0.25,
    )
    Found.objects.create(
        run=run,
        settings={"shared_buffers": {"setting": "16384", "unit": "8kB", "source": "default"}, "fsync": "on"},
        server={"version": "PostgreSQL 18.4"},
        host={"kernel": "6.1.0", "cpu": {"model_name": "A CPU"}},
        pooler={"version": "1.23.1", "pool_mode": "transaction", "pool_size": "20"},
        deltas={"cpu": {"steal_percent": 1.25}, "wal": {"wal_bytes": 2048}, "database": {"xact_commit": 123_456}},
        differences=[{"name": "shared_buffers", "asked": "256MB", "found": "16384 8kB"}],
        facts_digest=sha256("facts"),
    )
    attempt = run.attempts.get()
    for name, content in (("command.sh", b"exec pgbench -c 8 <&-\n"), ("out.log", b"tps = 1000\n")):
        digest = hashlib.sha256(content).hexdigest()
        Evidence.objects.create(attempt=attempt, name=name, content=content, size_bytes=len(content), sha256=digest)


def observed(run: Run, seconds: int = 30) -> None:
    """Add telemetry to a run: of the machine, of PostgreSQL, and a checkpoint in the middle."""
    rising = [100 * i / seconds for i in range(seconds)]
    middle = [float(seconds / 3 < i < seconds / 2) for i in range(seconds)]
    metrics = {
        "cpu_user": ("%", rising), "cpu_system": ("%", rising[::-1]), "cpu_steal": ("%", [0.0] * seconds),
        "data_written": ("MB/s", rising), "frequency": ("MHz", [2300.0] * (seconds - 1) + [None]),
        "wait:IO:WalSync": ("sessions", rising), "wait:CPU": ("sessions", rising),
        "checkpointing": ("0 or 1", middle), "commits": ("1/s", rising),
    }  # fmt: skip
    for metric, (unit, values) in metrics.items():
        RunTelemetry.objects.create(
            run=run, metric=metric, unit=unit, start_epoch_s=1.0, step_s=1.0, packed=compact.pack(values)
        )


BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)


def sysstat_json(first_s: int = 0, seconds: int = 30, **head: Any) -> bytes:
    """Return what sadf -j prints of so many seconds from BEGIN on, of a machine named box."""

    def sample(second: int) -> dict[str, Any]:
        end = BEGIN + timedelta(seconds=second + 1)
        time = {"date": f"{end:%Y-%m-%d}", "time": f"{end:%H:%M:%S}", "utc": 1, "interval": 1}
        cpu = {"cpu": "all", "user": 60.0 + second % 10, "nice": 0.0, "system": 20.0, "iowait": 1.0, "steal": 0.5}
        io = {"tps": 50.0, "io-reads": {"bread": 0.0}, "io-writes": {"bwrtn": 20_000.0 + 100 * second}}
        return {"timestamp": time, "cpu-load": [cpu], "io": io, "queue": {"runq-sz": 4, "blocked": 0}}

    samples = [sample(second) for second in range(first_s, first_s + seconds)]
    host = {"nodename": "box", "release": "6.1.0", "number-of-cpus": 8, **head, "statistics": samples}
    return json.dumps({"sysstat": {"hosts": [host]}}).encode()


def dated(run: Run, seconds: int = 30) -> None:
    """Give a run a throughput over time that begins at BEGIN, so that samples of sysstat can be placed."""
    Series.objects.create(
        run=run, metric="tps", unit="TPS", start_epoch_s=BEGIN.timestamp(), step_s=1.0, values=[1000.0] * seconds
    )
