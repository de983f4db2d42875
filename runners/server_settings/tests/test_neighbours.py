"""Two work directories of one machine, as two BenchHubs have them, and one server: only one of them changes it."""

from __future__ import annotations

import asyncio
import fcntl
import shlex
from pathlib import Path

import psycopg
import pytest

from runners import job
from runners.conftest import PATIENCE_S
from runners.counters import parse_snapshot
from runners.password_file import PASSWORD_FILE
from runners.server_settings.answer import is_held
from runners.server_settings.put_back import UNDER_WAY, put_back
from runners.server_settings.testing import Driver, Victim, kill_keeper
from runners.tests.patience import patient_text

pytestmark = pytest.mark.target


@pytest.fixture
def neighbour(driver):
    """Another BenchHub on the same machine, for the same server."""
    return Driver(driver.connections, driver.target, driver.daemon, driver.cluster)


@pytest.fixture
def lock(driver):
    """Keep loads waiting until this connection is closed: they replace the table that it has locked."""
    with psycopg.connect(driver.cluster.url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS pgbench_accounts ()")
        connection.commit()
        connection.execute("LOCK TABLE pgbench_accounts")
        yield connection


async def started(driver, **settings):
    """Ask for the start of a run with these settings; return its place and what the host answered."""
    place = driver.place()
    spec = await driver.spec(settings, kind="load")
    return place, await job.start(*place, spec, password=driver.cluster.password)


async def held(driver):
    place, outcome = await started(driver, jit="off")
    assert outcome is job.StartOutcome.STARTED
    await driver.until(lambda: b"held" in driver.log(place[2]).splitlines())
    return place


async def test_the_second_waits_until_the_first_has_put_back_and_changes_nothing_meanwhile(driver, neighbour, lock):
    place = await held(driver)
    assert driver.holder.endswith(f":{driver.work}")
    second, outcome = await started(neighbour, jit="off", work_mem="7MB")
    assert outcome is job.StartOutcome.HELD
    assert (driver.value("jit"), driver.value("work_mem")) == ("off", "4MB")
    unchanged = await neighbour.spec(kind="load")
    assert await job.start(*neighbour.place(), unchanged, password=driver.cluster.password) is job.StartOutcome.HELD
    folder = neighbour.folder(second[2])
    assert not (folder / PASSWORD_FILE).exists() and not (folder / "started").exists()

    password = shlex.quote(str(driver.folder(place[2]) / PASSWORD_FILE))
    keeper = await by_account(driver, f"cd {folder} && cp {password} . && sh ./server_settings.sh hold || :")
    assert keeper.startswith("refused ") and is_held(keeper) and f":{driver.work} " in keeper
    assert driver.value("work_mem") == "4MB" and not neighbour.state.exists()
    assert driver.holder.endswith(f":{driver.work}")

    lock.close()
    assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    assert (driver.holder, driver.value("jit")) == (None, "on")
    outputs = (
        await neighbour.run(await neighbour.spec({"work_mem": "7MB"}, {"work_mem": "7168"}, kind="load"))
    ).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert driver.holder is None and driver.value("work_mem") == "4MB"
    files = (await neighbour.run(unchanged)).outputs.files
    assert not any(parse_snapshot(files[name]).is_held for name in ("before.snapshot", "after.snapshot"))


async def test_a_run_that_changes_nothing_tells_that_somebody_changed_its_server_meanwhile(driver, lock):
    place = await driver.begun(await driver.spec(kind="load"))
    driver.ask("CREATE ROLE benchhub_keeper")
    try:
        lock.close()
        assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    finally:
        driver.ask("DROP ROLE benchhub_keeper")
    files = (await job.collect(*place, cap_bytes=1 << 24)).outputs.files
    assert parse_snapshot(files["after.snapshot"]).is_held


async def test_a_start_while_the_other_restarts_the_server_waits_for_it_and_is_told_who_changes_it(
    restarting, monkeypatch
):
    def text(name):
        return patient_text(name).replace("server_answers 20", "server_answers 240")

    monkeypatch.setattr("runners.server_settings.script._text", text)  # a busy machine is long about a restart
    *words, _ = restarting.restart
    restarting.ask("CREATE ROLE benchhub_keeper")
    restarting.ask("COMMENT ON ROLE benchhub_keeper IS 'elsewhere:/work'")
    try:
        await by_account(restarting, f"{shlex.join([*words, 'stop'])} > /dev/null")
        try:
            place, outcome = await started(restarting, jit="off")
        finally:
            await by_account(restarting, f"{shlex.join([*words, 'start'])} > /dev/null")
        assert outcome is job.StartOutcome.STARTED  # nobody could tell whether the server is held
        assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
        outputs = (await job.collect(*place, cap_bytes=1 << 24)).outputs
        assert outputs.returncode == 96 and is_held(outputs.stderr.decode()), outputs.stderr
        assert b"elsewhere:/work" in outputs.stderr and restarting.auto_lines == []
        assert not restarting.state.exists() and restarting.holder == "elsewhere:/work"
    finally:
        restarting.ask("DROP ROLE benchhub_keeper")


async def by_account(driver, command):
    """Return what a command of the host's account prints, such as a keeper that begins although a start was refused."""
    return (await driver.connections.run(driver.target, command, timeout_s=PATIENCE_S)).decode()


@pytest.mark.whole
async def test_what_a_killed_run_left_keeps_the_other_away_until_it_is_put_back(driver, neighbour, lock):
    place = await held(driver)
    Victim(driver, place[2]).everything()
    await job.cancel(*place)
    assert (await started(neighbour, work_mem="7MB"))[1] is job.StartOutcome.HELD
    with Path(f"{driver.state}.lock").open("a") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # somebody is at it, such as the keeper itself
        assert await put_back(driver.connections, driver.target, driver.work) == UNDER_WAY
    assert driver.value("jit") == "off"
    assert await put_back(driver.connections, driver.target, driver.work) == ""
    assert driver.value("jit") == "on" and driver.holder is None
    place, outcome = await started(neighbour, work_mem="7MB")
    assert outcome is job.StartOutcome.STARTED
    await job.cancel(*place)
    await driver.until(lambda: driver.holder is None)


@pytest.mark.parametrize("is_marked", [False, True])
async def test_what_was_written_down_is_put_back_only_where_the_server_was_changed_and_nobody_else_has_it(
    driver, lock, is_marked
):
    """A crash between the mark and the first change, or an owner who took the mark away from a run."""
    place = await held(driver)
    kill_keeper(driver.folder(place[2]))
    await by_account(driver, f"cp -a {driver.state} {driver.state}-kept")
    await job.cancel(*place)
    while await put_back(driver.connections, driver.target, driver.work) == UNDER_WAY:
        pass  # the shell of the run is at it, or was killed before it came to that
    assert not driver.state.exists()
    await by_account(driver, f"mv {driver.state}-kept {driver.state}")
    if not is_marked:
        (driver.state / "marked").unlink()
    driver.ask("ALTER SYSTEM SET jit = off")
    driver.ask("SELECT pg_reload_conf()")
    driver.ask("CREATE ROLE benchhub_keeper")
    driver.ask("COMMENT ON ROLE benchhub_keeper IS 'elsewhere:/work'")
    try:
        reason = await put_back(driver.connections, driver.target, driver.work)
        assert is_held(reason) is is_marked and driver.state.exists() is is_marked
        assert driver.holder == "elsewhere:/work" and driver.auto_lines == ["jit = 'off'"]
    finally:
        driver.ask("DROP ROLE benchhub_keeper")
    assert await put_back(driver.connections, driver.target, driver.work) == ""
    assert driver.auto_lines == ([] if is_marked else ["jit = 'off'"])


async def test_a_mark_that_its_server_commits_after_its_keeper_was_killed_is_removed(driver, lock):
    place = await held(driver)
    kill_keeper(driver.folder(place[2]))
    await by_account(driver, f"cp -a {driver.state} {driver.state}-kept")
    await job.cancel(*place)
    while await put_back(driver.connections, driver.target, driver.work) == UNDER_WAY:
        pass  # as above
    await by_account(driver, f"mv {driver.state}-kept {driver.state}")
    (driver.state / "marked").unlink()
    mark = (driver.state / "mark").read_text().strip()
    with psycopg.connect(driver.cluster.url) as late:
        late.execute("CREATE ROLE benchhub_keeper NOLOGIN")
        late.execute(f"COMMENT ON ROLE benchhub_keeper IS '{mark}'")
        reason = asyncio.create_task(put_back(driver.connections, driver.target, driver.work))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ILIKE 'create role%'"
        await driver.until(lambda: driver.ask(waiting) == [(1,)])
    assert await reason == ""
    assert driver.holder is None and not driver.state.exists()
