"""Settings of a real server over real SSH: in force during a run, put back after it, refused where they cannot be."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from runners import counters, script
from runners.server_settings.answer import LOG_FILE, ServerValue, doubts, read_log
from runners.server_settings.testing import Driver
from runners.tools.layers import with_layer

pytestmark = pytest.mark.target
SETTINGS, IN_FORCE = {"work_mem": "5MB", "random_page_cost": "1.50"}, {"work_mem": "5120", "random_page_cost": "1.5"}


async def test_settings_are_in_force_during_a_run_and_put_back_after_it(driver):
    driver.ask("ALTER SYSTEM SET work_mem = '3MB'")
    driver.ask("SELECT pg_reload_conf()")
    lines = driver.auto_lines
    loaded = await driver.run(await driver.spec(SETTINGS, IN_FORCE, kind="load"))
    assert loaded.outputs.returncode == 0, loaded.outputs.stderr
    half = f"{driver.state}.new"  # of a keeper that was killed while it wrote down what there was
    await driver.connections.run(driver.target, f"mkdir {half} && echo > {half}/restore.sql", timeout_s=30)
    outputs = (await driver.run(await driver.spec(SETTINGS, IN_FORCE, duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr
    settings = counters.parse_snapshot(outputs.files[script.BEFORE_FILE]).settings
    assert (settings["work_mem"]["setting"], settings["random_page_cost"]["setting"]) == ("5120", "1.5")

    log = read_log(outputs.files[LOG_FILE], SETTINGS)
    assert log.values == {
        "work_mem": ServerValue("3MB", "5MB", "5MB", "3MB"),
        "random_page_cost": ServerValue("4", "1.5", "1.5", "4"),
    }
    assert list(doubts(SETTINGS, log, is_put_back=True)) == []
    assert driver.auto_lines == lines and driver.value("work_mem") == "3MB"
    assert not driver.state.exists() and not Path(half).exists()
    assert driver.cluster.password.encode() not in b"".join(outputs.files.values())


async def test_a_run_on_a_server_that_may_restart_begins_with_a_restart_and_ends_with_the_former_settings(restarting):
    before, started = restarting.value("shared_buffers"), started_at(restarting)
    request, in_force = {"shared_buffers": "20MB", "work_mem": "7MB"}, {"shared_buffers": "2560", "work_mem": "7168"}
    outputs = (await restarting.run(await restarting.spec(request, in_force, kind="load"))).outputs
    assert outputs.returncode == 0, outputs.stderr
    log = read_log(outputs.files[LOG_FILE], request)
    assert log.values["shared_buffers"] == ServerValue(before, "20MB", "20MB", before)
    assert restarting.value("shared_buffers") == before and restarting.auto_lines == []
    assert started_at(restarting) != started and not restarting.state.exists()


@pytest.mark.whole
async def test_a_configuration_without_settings_begins_with_the_same_restart(restarting):
    started = started_at(restarting)
    outputs = (await restarting.run(await restarting.spec({}, kind="load"))).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert started_at(restarting) != started and restarting.auto_lines == []
    assert not restarting.state.exists()


def started_at(driver):
    return driver.ask("SELECT pg_postmaster_start_time()")


async def refused(driver, settings, in_force=None):
    """Return what a run that is refused says, once nothing of the server is changed."""
    lines, started = driver.auto_lines, started_at(driver)
    outputs = (await driver.run(await driver.spec(settings, in_force, kind="load"))).outputs
    assert outputs.returncode == 96
    assert (driver.auto_lines, started_at(driver)) == (lines, started)
    assert not driver.state.exists()
    return outputs.stderr.decode()


@pytest.mark.parametrize(
    ("change", "undo", "words"),
    [
        (
            "ALTER ROLE benchhub SET work_mem = '9MB'",
            "ALTER ROLE benchhub RESET work_mem",
            "work_mem is set by the user of the server, which ALTER SYSTEM does not override.",
        ),
        (
            "ALTER DATABASE benchhub SET work_mem = '9MB'",
            "ALTER DATABASE benchhub RESET work_mem",
            "work_mem is set by the database of the server",
        ),
        (
            "ALTER SYSTEM SET random_page_cost = 3",
            "ALTER SYSTEM RESET ALL",
            "postgresql.auto.conf was edited since the server read it",
        ),
    ],
)
async def test_a_server_that_would_not_take_it_or_has_changes_pending_is_left_alone(driver, change, undo, words):
    driver.ask("SELECT pg_reload_conf()")
    if "SYSTEM" in change:
        time.sleep(1.1)  # files tell their times in seconds
    driver.ask(change)
    try:
        reason = await refused(driver, {"work_mem": "5MB"}, {"work_mem": "5120"})
    finally:
        driver.ask(undo)
    assert f"Server setting error: {words}" in reason.replace(str(driver.cluster.data_directory) + "/", "")
    assert with_layer(reason).startswith("The server did not take a setting.")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"work_mem": "5MB", "random_page_cost": "-7"}, "-7 is outside the valid range"),
        ({"work_mem": "5MB", "shared_buffers": "20MB"}, "shared_buffers is not in force: 20MB was asked for"),
        ({"work_mem": "5MB", "no_such_setting": "1"}, "could not be written down"),
        ({"max_connections": "20"}, "max_connections is 100 there by now, and runs only raise it."),
    ],
)
async def test_what_the_server_does_not_take_is_told_and_what_it_took_before_is_put_back(driver, settings, words):
    assert words in await refused(driver, settings)
    assert driver.value("work_mem") == "4MB"


async def test_a_role_that_is_no_superuser_is_told_so(driver):
    driver.ask(f"CREATE ROLE plain LOGIN PASSWORD '{driver.cluster.password}'")
    spec = await driver.spec({"work_mem": "5MB"}, kind="load")
    spec = replace(spec, endpoint=replace(spec.endpoint, user="plain"))
    try:
        outputs = (await driver.run(spec)).outputs
    finally:
        driver.ask("DROP OWNED BY plain")
        driver.ask("DROP ROLE plain")
    assert outputs.returncode == 96 and not driver.state.exists()
    assert "The role may not change settings of the server" in outputs.stderr.decode()


async def test_a_command_that_restarts_nothing_fails_the_run_and_the_former_settings_are_back(restarting):
    driver = Driver(restarting.connections, restarting.target, restarting.daemon, restarting.cluster, ("true",))
    reason = await refused(driver, {"work_mem": "5MB"}, {"work_mem": "5120"})
    assert "The command did not restart the server: it ended with 0." in reason
    assert driver.value("work_mem") == "4MB"


async def test_a_server_that_does_not_start_with_the_settings_gets_its_former_ones_and_starts(restarting):
    """The owner's command is this account's, and so is the file: what the start refuses is taken out of it."""
    settings = {"shared_buffers": "20MB", "huge_pages": "on", "huge_page_size": "1GB"}
    outputs = (await restarting.run(await restarting.spec(settings, kind="load"))).outputs
    assert outputs.returncode == 96
    assert b"The server does not answer after its restart" in outputs.stderr
    assert restarting.value("huge_pages") == "try" and restarting.auto_lines == []
    assert not restarting.state.exists()
