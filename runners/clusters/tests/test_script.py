"""A run's own cluster on real parts: SSH, initdb, PostgreSQL, pgbench; what must not be touched lies beside it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from runners import counters, job, script, tools
from runners.clusters import script as cluster_script
from runners.clusters.testing import working_in
from runners.contract import PREPARATION_FAILED
from runners.job import Attempt
from runners.tests.patience import LOAD_S

pytestmark = pytest.mark.target


async def test_a_run_makes_its_cluster_applies_its_settings_and_stops_it(driver):
    settings = {"work_mem": "8MB", "shared_buffers": "24MB", "log_line_prefix": "it's \\ %p "}
    in_force = {"work_mem": "8192", "shared_buffers": "3072", "log_line_prefix": "it's \\ %p "}
    settings |= {"TimeZone": "europe/berlin", "DateStyle": "german", "IntervalStyle": "ISO_8601"}
    in_force |= {"TimeZone": "europe/berlin", "DateStyle": "German, DMY", "IntervalStyle": "iso_8601"}
    loaded = await driver.run(await driver.spec(settings, in_force, kind="load"))
    assert loaded.outputs.returncode == 0, loaded.outputs.stderr
    assert driver.servers == []
    spec = await driver.spec({**settings, "work_mem": "4MB"}, {**in_force, "work_mem": "4096"}, duration_s=LOAD_S)
    collected = await driver.run(spec)
    outputs = collected.outputs
    assert (outputs.returncode, collected.remarks) == (0, {}), outputs.stderr
    assert tools.get("pgbench").parse(spec, outputs).outcome == "succeeded"  # on the data that were loaded before
    assert outputs.files["step"].split()[0] == b"cluster"
    before, after = (counters.parse_snapshot(outputs.files[name]) for name in (script.BEFORE_FILE, script.AFTER_FILE))
    assert before.settings["work_mem"]["setting"] == "4096"  # nothing is left of the run before
    assert before.settings["listen_addresses"]["setting"] == ""
    assert counters.deltas(before, after)["restarted"] is False
    assert b"ready to accept connections" in outputs.files["server.log"]
    assert driver.servers == []
    assert not list(driver.folder.glob(".s.PGSQL*"))
    conf = (driver.folder / "data" / "postgresql.conf").read_text()
    assert conf.count("benchhub.conf") == 1 and "work_mem = 4MB" not in conf.replace("#work_mem = 4MB", "")
    assert working_in(driver.foreign.data_directory) != []


async def test_what_is_not_in_force_fails_the_run_before_its_load_with_what_was_asked_for(driver):
    spec = await driver.spec({"work_mem": "8MB"}, {"work_mem": "8193"}, kind="load")
    outputs = (await driver.run(spec)).outputs
    assert outputs.returncode == PREPARATION_FAILED
    sentence = "work_mem is not in force: 8MB was asked for, and the server has 8192 kB."
    assert outputs.stderr.decode().splitlines() == [sentence, cluster_script.NOT_READY]
    assert b"load" not in outputs.files["step"]
    assert driver.servers == []


async def test_a_server_that_does_not_start_says_why_and_leaves_nothing(driver):
    spec = await driver.spec({"shared_preload_libraries": "no_such_library"}, {}, kind="load")
    outputs = (await driver.run(spec)).outputs
    assert outputs.returncode == PREPARATION_FAILED
    assert b'could not access file "no_such_library"' in outputs.stderr
    assert driver.servers == []


@pytest.mark.whole
async def test_what_an_earlier_run_set_by_sql_is_not_in_force_or_fails_the_next(driver):
    sql = {"script": "custom", "scale": 1, "scripts": [{"text": "ALTER SYSTEM SET work_mem = '9MB';"}]}
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    await driver.run(await driver.spec(duration_s=1, parameters=sql))
    outputs = (await driver.run(await driver.spec(duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr
    settings = counters.parse_snapshot(outputs.files[script.AFTER_FILE]).settings
    assert settings["work_mem"]["setting"] == "4096"
    sql = {"script": "custom", "scale": 1, "scripts": [{"text": "ALTER DATABASE bench SET work_mem = '9MB';"}]}
    await driver.run(await driver.spec(duration_s=1, parameters=sql))
    outputs = (await driver.run(await driver.spec(duration_s=1))).outputs
    assert outputs.returncode == PREPARATION_FAILED
    assert b"work_mem is set to 9216 by the database, which nobody asked for." in outputs.stderr
    assert driver.servers == []


async def test_a_folder_without_the_mark_is_never_touched(driver):
    driver.folder.mkdir(parents=True)
    (driver.folder / "precious").write_text("data of somebody")
    for path in (driver.folder.parent, driver.folder, driver.folder / "precious"):
        os.chown(path, *owner(driver)) if os.geteuid() == 0 else None
    outputs = (await driver.run(await driver.spec(kind="load"))).outputs
    assert outputs.returncode == PREPARATION_FAILED
    assert b"has files in it that BenchHub did not write. Nothing was touched." in outputs.stderr
    assert [path.name for path in driver.folder.iterdir()] == ["precious"]


def owner(driver) -> tuple[int, int]:
    status = driver.foreign.data_directory.stat()
    return status.st_uid, status.st_gid


@pytest.mark.whole
async def test_an_initdb_that_was_broken_off_is_started_over(driver):
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    (driver.folder / "data").rename(driver.folder / "data.making")
    (driver.folder / "data.making" / "PG_VERSION").unlink()
    outputs = (await driver.run(await driver.spec(kind="load"))).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert not (driver.folder / "data.making").exists()


async def start_and_wait_for(driver, step: bytes, **changes) -> Attempt:
    """Start a run that takes ten minutes, and wait until it is at a step with its server up."""
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    attempt = driver.attempt()
    await job.start(driver.connections, driver.target, attempt, await driver.spec(duration_s=600, **changes))
    path = Path(driver.work) / "runs" / attempt.run / "1" / "step"
    await driver.until(lambda: path.exists() and step in path.read_bytes() and driver.servers)
    return attempt


@pytest.mark.whole
async def test_a_cancelled_run_stops_its_cluster(driver):
    attempt = await start_and_wait_for(driver, b"measure")
    await job.cancel(driver.connections, driver.target, attempt)
    assert driver.servers == []
    assert working_in(driver.foreign.data_directory) != []


@pytest.mark.whole
async def test_a_run_past_its_deadline_stops_its_cluster(driver):
    attempt = await start_and_wait_for(driver, b"cluster", deadline_s=30)
    assert await job.wait_for_end(driver.connections, driver.target, attempt, timeout_s=120)
    assert driver.servers == []


async def test_a_job_that_is_killed_whole_leaves_no_server(driver):
    attempt = await start_and_wait_for(driver, b"measure")
    folder = Path(driver.work) / "runs" / attempt.run / "1"
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)
    await driver.until(lambda: driver.servers == [])
    assert working_in(driver.foreign.data_directory) != []


@pytest.mark.whole
async def test_a_server_that_crashed_under_its_load_is_whole_for_the_next_run(driver):
    attempt = await start_and_wait_for(driver, b"measure")
    [number, *_] = (driver.folder / "data" / "postmaster.pid").read_text().split()
    os.kill(int(number), signal.SIGKILL)
    assert await job.wait_for_end(driver.connections, driver.target, attempt, timeout_s=120)
    await driver.until(lambda: driver.servers == [])
    outputs = (await driver.run(await driver.spec(duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr


@pytest.mark.whole
async def test_a_process_number_given_out_again_is_no_server(driver):
    """A reboot leaves a number that may be anybody's by then; here it is this test's."""
    assert (await driver.run(await driver.spec(kind="load"))).outputs.returncode == 0
    (driver.folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n/x\n1\n5432\n/x\n\n1 1\nready\n")
    outputs = (await driver.run(await driver.spec(duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert driver.servers == []
