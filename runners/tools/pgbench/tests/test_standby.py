"""A real standby, by streaming replication: what only reads is measured there, and what writes ends before it began."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded import ports
from benchhub.embedded.postgres import Cluster
from runners.contract import VERIFY_FAILED, Endpoint, Outputs, RunSpec
from runners.counters import STANDBY as STANDBY_REMARK
from runners.counters import parse_snapshot
from runners.password_file import PASSWORD_FILE, password_lines
from runners.script import command_script
from runners.telemetry import collector, series
from runners.tests.patience import LOAD_S
from runners.tools.pgbench.testing import PGBENCH, ask, load, run
from runners.tools.shell import NOT_LOADED, NOT_THERE, STANDBY

pytestmark = pytest.mark.target
WRITES = {"script": "tpcb-like", "scale": 1}


@pytest.fixture(scope="module")
def primary(cluster18: Cluster) -> Cluster:
    return cluster18


@pytest.fixture(scope="module")
def standby(primary: Cluster, processes, server_folder: Path, account) -> Iterator[Cluster]:
    """A standby of the primary, of a copy that is taken while it runs."""
    made = Cluster("standby", server_folder / "standby", primary.bin_directory, ports.free_port(), account)
    account.make_folder(made.folder)
    account.write(made.folder / "password", f"{primary.password}\n")
    copy = [f"{primary.bin_directory}/pg_basebackup", "-d", primary.url, "-D", str(made.data_directory), "-R"]
    command = [*copy, "--checkpoint=fast", "--no-sync"]
    processes.run(processes.start("basebackup", command, folder=made.folder, account=account))
    child = made.start(processes)
    yield made
    processes.stop(child)


@pytest.fixture
def spec(standby: Cluster) -> RunSpec:
    endpoint = Endpoint("loopback", "127.0.0.1", standby.port, standby.database, standby.username)
    reads = {"script": "select-only", "scale": 1}
    return RunSpec(
        "pgbench", "18.4", str(standby.bin_directory), endpoint, parameters=reads, clients=2, duration_s=LOAD_S
    )


def carried_out(cluster: Cluster, folder: Path, spec: RunSpec) -> Outputs:
    (folder / "command.sh").write_text(command_script(spec, PGBENCH))
    (folder / PASSWORD_FILE).write_text(password_lines(spec.endpoint, cluster.password))
    (folder / PASSWORD_FILE).chmod(0o600)
    return run(cluster, folder, "exec sh ./command.sh")


def load_both(primary: Cluster, standby: Cluster, folder: Path, spec: RunSpec) -> None:
    """Load a data set on the primary, and wait until the standby has it."""
    load(primary, folder, spec)
    for _ in range(1200):
        query = "SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication"
        if ask(primary, folder, query) == "t":
            break
        ask(primary, folder, "SELECT pg_sleep(0.1)")
    assert ask(standby, folder, "SELECT count(*) FROM pgbench_branches") == "1"


def test_a_load_checks_what_the_primary_has_sent_and_reads_are_measured_and_said_to_be(
    primary: Cluster, standby: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    run(primary, tmp_path, f"{primary.bin_directory}/pgbench -i -I d -q")
    absent = carried_out(
        standby, tmp_path, replace(spec, kind="load", parameters={"script": "select-only", "scale": 7})
    )
    assert absent.returncode == 1 and NOT_THERE.encode() in absent.stderr and b"fingerprint" not in absent.stderr
    load_both(primary, standby, tmp_path, spec)
    loaded = carried_out(standby, tmp_path, replace(spec, kind="load"))
    assert (loaded.returncode, NOT_LOADED.encode() in loaded.stderr) == (0, True), loaded.stderr
    assert len(loaded.files["fingerprint.txt"].strip()) == 32
    measured = carried_out(standby, tmp_path, spec)
    result = PGBENCH.parse(spec, measured)
    assert result.outcome == "succeeded" and result.measures["tps"].value > 0
    assert STANDBY_REMARK in parse_snapshot(measured.files["after.snapshot"]).remarks


@pytest.mark.parametrize("kind", ["load", "measure"])
def test_what_writes_ends_before_anything_ran(
    primary: Cluster, standby: Cluster, spec: RunSpec, tmp_path: Path, kind: str
) -> None:
    if kind == "measure":
        load_both(primary, standby, tmp_path, spec)
    outputs = carried_out(standby, tmp_path, replace(spec, kind=kind, parameters=WRITES, warmup_s=1))
    assert outputs.returncode == VERIFY_FAILED and outputs.stderr.decode().splitlines()[-1] == STANDBY
    assert outputs.files["step"].split()[0::2] == [b"verify"]


def test_the_lag_of_a_standby_that_stands_still_is_told_in_its_units(
    primary: Cluster, standby: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    """Replay is paused under a load that writes: what the standby has not replayed grows, in MB and in seconds."""
    load_both(primary, standby, tmp_path, spec)
    for name, text in collector.files(str(primary.bin_directory)).items():
        (tmp_path / name).write_text(text)
    on_primary = replace(spec.endpoint, port=primary.port)
    spec = replace(spec, endpoint=on_primary, parameters=WRITES, telemetry="here", duration_s=2 * LOAD_S)
    before = int(ask(primary, tmp_path, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"))
    ask(standby, tmp_path, "SELECT pg_wal_replay_pause()")
    try:
        outputs = carried_out(primary, tmp_path, spec)
    finally:
        ask(standby, tmp_path, "SELECT pg_wal_replay_resume()")
    assert outputs.returncode == 0, outputs.stderr
    after = int(ask(primary, tmp_path, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"))
    telemetry = series.read(outputs.files[collector.LOG_FILE], outputs.files["step"], spec.duration_s)
    values = {item.metric: [value for value in item.values if value is not None] for item in telemetry.observations}
    assert set(values["replicas"]) == {1}
    lag_mb = values["replication_lag_bytes"]
    assert lag_mb == sorted(lag_mb) and 0 < lag_mb[-1] <= (after - before) / 1e6
    assert max(values["replication_lag_s"]) < 600  # seconds, and no milliseconds
