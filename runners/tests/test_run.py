"""A whole run over SSH: pgbench against real PostgreSQL 15, 16 and 18, with its counters before and after."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from pathlib import Path

import psycopg
import pytest

from benchhub.embedded import ports
from benchhub.embedded.sshd import SshTarget
from runners import counters, job, script, tools
from runners.collection import Collected
from runners.conftest import PATIENCE_S
from runners.contract import PREPARATION_FAILED, Endpoint, RunSpec
from runners.job import Attempt, StartOutcome
from runners.keys import make_key_pair
from runners.probe import builds
from runners.ssh import Target
from runners.telemetry import collector, series
from runners.telemetry.log import parse
from runners.tests.patience import LOAD_S
from runners.tests.processes import until_wrapper_ended
from tests.servers import new_cluster

pytestmark = pytest.mark.target


@pytest.fixture(scope="session")
def daemon(processes, server_folder, account):
    """Logs in who owns the programs and the clusters, and nobody else."""
    daemon = SshTarget(server_folder / "runs", ports.free_port(), account, f"{processes.marker}-target", "sshd-runs")
    daemon.create()
    return daemon


@pytest.fixture(scope="session")
def target(daemon, processes):
    pair = make_key_pair("runs")
    daemon.authorize(pair.public_key)
    daemon.start(processes)
    return Target("127.0.0.1", daemon.port, daemon.username, pair.private_key, daemon.host_key)


class Driver:
    """One build's pgbench against its own cluster, on one target."""

    def __init__(self, connections, target, daemon, cluster):
        self.connections, self.target, self.cluster = connections, target, cluster
        self.work = str(daemon.work_directory / secrets.token_hex(4))

    async def spec(self, **changes) -> RunSpec:
        cluster = self.cluster
        [build] = await builds(self.connections, self.target, [str(cluster.bin_directory)])
        endpoint = Endpoint("loopback", "127.0.0.1", cluster.port, cluster.database, cluster.username)
        plan = {"parameters": {"script": "tpcb-like", "scale": 1}, "application_name": "bh-test", **changes}
        return RunSpec("pgbench", build["pgbench_version"], build["bin_directory"], endpoint, **plan)

    async def run(self, spec: RunSpec) -> Collected:
        attempt = Attempt(f"run-{secrets.token_hex(4)}", 1, self.work)
        place = (self.connections, self.target, attempt)
        assert await job.start(*place, spec, password=self.cluster.password) is StartOutcome.STARTED
        assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
        await until_wrapper_ended(Path(self.work) / "runs" / attempt.run / "1")
        return await job.collect(*place, cap_bytes=1 << 24)


@pytest.fixture(scope="module")
def restarted_cluster(request):
    """A server that its account starts anew, as a run asks for it; stopped by its own number at the end."""
    cluster = new_cluster("restarted", 18, request)
    yield cluster
    [number, *_] = (cluster.data_directory / "postmaster.pid").read_text().split()
    os.kill(int(number), signal.SIGQUIT)


@pytest.mark.parametrize("major", [*(pytest.param(major, marks=pytest.mark.whole) for major in (15, 16)), 18])
async def test_a_run_of_pgbench_is_counted_by_the_server_as_it_was_counted_by_pgbench(
    connections, target, daemon, request, major
):
    driver = Driver(connections, target, daemon, request.getfixturevalue(f"cluster{major}"))
    loaded = (await driver.run(await driver.spec(kind="load"))).outputs
    assert loaded.returncode == 0, loaded.stderr
    assert len(loaded.files[script.FINGERPRINT_FILE].strip()) == 32
    assert int(loaded.files[script.SIZE_FILE]) > 10_000_000

    spec = await driver.spec(clients=2, duration_s=LOAD_S, warmup_s=1, vacuum=True, checkpoint=True)
    collected = await driver.run(spec)
    outputs = collected.outputs
    result = tools.get("pgbench").parse(spec, outputs)
    assert (result.outcome, collected.remarks) == ("succeeded", {}), outputs.stderr
    assert [line.split()[0] for line in outputs.files["step"].splitlines()] == [
        *(b"verify", b"vacuum", b"checkpoint", b"pause", b"warmup", b"before", b"measure", b"after", b"reduce")
    ]
    before, after = (counters.parse_snapshot(outputs.files[name]) for name in (script.BEFORE_FILE, script.AFTER_FILE))
    _assert_plausible(before, counters.deltas(before, after), major, result)
    assert int(outputs.files[script.AGE_FILE]) > 0
    assert driver.cluster.password.encode() not in b"".join((outputs.stdout, outputs.stderr, *outputs.files.values()))


def _assert_plausible(before, changes, major, result):
    transactions = result.measures["transactions"].value
    assert changes["remarks"] == []
    assert changes["restarted"] is False and changes["settings_changed"] == []
    # Beside the load itself: what pgbench asks at its start and what the snapshots ask.
    assert 0 <= changes["pg_stat_database"]["xact_commit"] - transactions < 60
    assert changes["wal_bytes"] > 100 * transactions
    assert changes["pg_stat_wal"]["wal_bytes"] == pytest.approx(changes["wal_bytes"], rel=0.05)
    assert LOAD_S <= changes["elapsed_s"] < PATIENCE_S
    assert sum(value for name, value in changes["cpu"].items() if name.endswith("_share")) == pytest.approx(1, abs=0.01)
    assert changes["cpu"]["user_s"] > 0
    # Of 2 clients on at most 2 threads, which on a busy machine get next to nothing: each transaction costs pgbench
    # more than 5 us, and a clock counts hundredths of a second.
    assert 0 < changes["load_cpu_s"] < 2 * changes["elapsed_s"]
    assert changes["load_cpu_s"] > 5e-6 * transactions - 0.01
    assert ("pg_stat_checkpointer" in changes) == (major >= 17)
    assert before.server["server_version_num"] // 10000 == major
    assert before.settings["shared_buffers"]["unit"] == "8kB"
    assert before.settings["data_checksums"]["setting"] == "on"
    assert before.system_identifier.isdigit()


@contextlib.asynccontextmanager
async def waiting(cluster):
    """Keep one session asleep: those of the load wait too shortly to be met at each look, or at any."""
    async with await psycopg.AsyncConnection.connect(cluster.url, autocommit=True) as connection:
        sleep = asyncio.ensure_future(connection.execute("SELECT pg_sleep(600)"))
        yield
        connection.cancel()
        with pytest.raises(psycopg.errors.QueryCanceled):
            await sleep


@pytest.mark.parametrize("major", [*(pytest.param(major, marks=pytest.mark.whole) for major in (15, 16)), 18])
async def test_the_telemetry_of_a_run_sees_machine_and_server_second_by_second(
    connections, target, daemon, request, major
):
    driver = Driver(connections, target, daemon, request.getfixturevalue(f"cluster{major}"))
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    spec = await driver.spec(clients=2, duration_s=2 * LOAD_S, telemetry="here")
    async with waiting(driver.cluster):
        collected = await driver.run(spec)
    outputs = collected.outputs
    result = tools.get("pgbench").parse(spec, outputs)
    assert (result.outcome, collected.remarks) == ("succeeded", {}), outputs.stderr
    assert outputs.files[collector.ERROR_FILE] == b""
    log = parse(outputs.files[collector.LOG_FILE])
    assert log.is_whole and not log.is_full and log.server_version // 10000 == major
    telemetry = series.read(outputs.files[collector.LOG_FILE], outputs.files["step"], spec.duration_s)
    values = {item.metric: item.values for item in telemetry.observations}

    assert "cut short" not in " ".join(telemetry.remarks)
    load = series.load_of(outputs.files["step"])
    assert spec.duration_s <= len(values["cpu_user"]) <= load.over_s - load.begin_s + 1
    transactions = result.measures["transactions"].value
    assert sum(filter(None, values["commits"])) == pytest.approx(transactions, rel=0.5)
    assert sum(filter(None, values["wal"])) > 100 * transactions / 1e6
    assert max(filter(None, values["sessions_active"]), default=0) <= 4
    assert set(filter(None, values["wait:Timeout:PgSleep"])) == {1}
    assert ("io_writes" in values) == (major >= 16)
    assert ("wal_records" in values) == (major >= 14)
    # pg_stat_io tells them where pg_stat_bgwriter (from 17 on) and pg_stat_wal (from 18 on) do not any more.
    assert {"backend_written", "wal_writes", "wal_syncs"} <= values.keys()
    assert sum(filter(None, values["wal_writes"])) > 0
    collector_shares = [share for share in values["collector_cpu"] if share is not None]
    assert collector_shares and max(collector_shares) < 0.5  # 0 where it took less than the clock tells
    assert not [name for name in outputs.files if name in ("telemetry.pid", "telemetry.psql", "telemetry.now")]
    assert driver.cluster.password.encode() not in b"".join(outputs.files.values())


async def test_a_run_restarts_its_server_and_the_server_outlives_the_run(
    connections, target, daemon, restarted_cluster
):
    driver = Driver(connections, target, daemon, restarted_cluster)
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    directories = {
        "restart_directory": str(restarted_cluster.data_directory),
        "restart_bin_directory": str(restarted_cluster.bin_directory),
    }
    starts = []
    for restart in ({}, directories, directories, {}):
        spec = await driver.spec(duration_s=LOAD_S, **restart)
        outputs = (await driver.run(spec)).outputs
        assert tools.get("pgbench").parse(spec, outputs).outcome == "succeeded", outputs.stderr
        assert (b"restart" in outputs.files["step"]) == bool(restart)
        before, after = (counters.parse_snapshot(outputs.files[n]) for n in (script.BEFORE_FILE, script.AFTER_FILE))
        assert counters.deltas(before, after)["restarted"] is False  # it was before the load, not during it
        starts.append(before.server["postmaster_start_epoch_s"])
    assert starts[0] < starts[1] < starts[2] == starts[3]
    with psycopg.connect(restarted_cluster.url) as connection:
        query = "SELECT extract(epoch FROM pg_postmaster_start_time())::float8"
        assert connection.execute(query).fetchone() == (pytest.approx(starts[2]),)


async def test_a_restart_is_refused_where_the_data_directory_is_another_accounts(
    connections, target, daemon, restarted_cluster
):
    driver = Driver(connections, target, daemon, restarted_cluster)
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    bin_directory = str(restarted_cluster.bin_directory)
    spec = await driver.spec(duration_s=1, restart_directory="/proc/1", restart_bin_directory=bin_directory)
    outputs = (await driver.run(spec)).outputs
    assert outputs.returncode == PREPARATION_FAILED
    assert b"The data directory is not of the account that drives the load." in outputs.stderr
    assert tools.get("pgbench").parse(spec, outputs).outcome == "failed"
    with psycopg.connect(restarted_cluster.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def dropped() -> int:
    """How often the kernel has dropped its page cache since it started."""
    [line] = [line for line in Path("/proc/vmstat").read_text().splitlines() if line.startswith("drop_pagecache")]
    return int(line.split()[1])


async def test_caches_are_dropped_before_a_run_where_the_account_may_and_the_run_fails_plainly_where_not(
    connections, target, daemon, cluster18
):
    driver = Driver(connections, target, daemon, cluster18)
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    spec, before = await driver.spec(duration_s=LOAD_S, drop_caches=True), dropped()
    outputs = (await driver.run(spec)).outputs
    result = tools.get("pgbench").parse(spec, outputs)
    if outputs.returncode:
        assert outputs.returncode == PREPARATION_FAILED
        assert outputs.stderr.endswith(b"The caches could not be dropped.\n")
        assert result.outcome == "failed"  # the count is the kernel's, and other guests of the machine raise it too
        assert "caches could not be dropped" in result.reason
    else:
        assert (result.outcome, dropped() > before) == ("succeeded", True)


async def test_cancelling_ends_the_backends_of_the_load(connections, target, daemon, cluster16):
    """They would sleep on for most of a minute: a server does not notice that its client was killed."""
    driver = Driver(connections, target, daemon, cluster16)
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    scripts = [{"text": "SELECT pg_sleep(50);"}]
    sleepy = {"script": "custom", "scale": 1, "scripts": scripts}
    spec = await driver.spec(duration_s=600, parameters=sleepy, application_name="bh-cancelled")
    place = (connections, target, Attempt("run-cancelled", 1, driver.work))
    await job.start(*place, spec, password=cluster16.password)
    await _until_backends(cluster16, 1)
    await job.cancel(*place)
    await _until_backends(cluster16, 0)
    look = await job.look(*place)
    assert look.cancelled and not look.lock_held


async def _until_backends(cluster, expected_count: int) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bh-cancelled' AND state = 'active'"
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if connection.execute(query).fetchone() == (expected_count,):
                return
            await asyncio.sleep(0.1)
    raise AssertionError(f"there were never {expected_count} backends of the load")
