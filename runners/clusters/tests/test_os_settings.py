"""Settings of the operating system on a real host: changed for a run, read back, put back however the run ends.

The machine of the tests is that host: each test puts back what it changes, whatever happens, and one of them at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runners import job
from runners.clusters.testing import Victim, is_alive
from runners.clusters.visit import visit
from runners.job import StartOutcome
from runners.os_settings import script
from runners.os_settings.answer import OsValue, doubts, read_log
from runners.os_settings.put_back import put_back
from runners.os_settings.testing import NAMES, value
from runners.ssh import RemoteFailure
from runners.tests.patience import LONG
from runners.tests.processes import is_written
from runners.tools.layers import with_layer

pytestmark = [pytest.mark.target, pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")]


async def spec_with(driver, os_settings, **changes):
    spec = await driver.spec(**changes)
    return replace(spec, cluster=replace(spec.cluster, os_settings=os_settings))


def other(before: dict[str, str], name: str) -> str:
    return str(int(before[name]) + 7)


async def begun(driver, spec, name: str, during: str):
    """Return an attempt under way, once the setting is changed."""
    attempt = driver.attempt()
    place = (driver.connections, driver.target, attempt)
    assert await job.start(*place, spec) is StartOutcome.STARTED
    try:
        await driver.until(lambda: value(name) == during)
        await driver.until(lambda: is_written(Path(driver.work) / "runs" / attempt.run / "1" / "pid"))
    except AssertionError as error:  # its own words say why
        folder = Path(driver.work) / "runs" / attempt.run / "1"
        texts = [file.read_text() for file in (folder / "err.log", *folder.glob("os_settings.[el]*"))]
        raise AssertionError("\n".join(texts)) from error
    return place


async def test_settings_are_in_force_during_a_run_and_put_back_after_it(driver, helper, before):
    thp = "never" if before["transparent_hugepage"] != "never" else "madvise"
    requests = {"vm.dirty_expire_centisecs": other(before, "vm.dirty_expire_centisecs"), "transparent_hugepage": thp}
    spec = await spec_with(driver, requests, kind="load", deadline_s=300)
    collected = await driver.run(spec)
    assert collected.outputs.returncode == 0, collected.outputs.stderr
    log = read_log(collected.outputs.files["os_settings.log"])
    assert log.values == {
        name: OsValue(before[name], requests[name], requests[name], before[name]) for name in requests
    }
    assert list(doubts(requests, log)) == []
    assert {name: value(name) for name in NAMES} == before
    assert not (helper.state / "before").exists() and driver.servers == []


async def test_of_a_pair_the_other_setting_is_in_force_again(driver, helper, before):
    spec = await spec_with(driver, {"vm.dirty_bytes": "104857600"}, kind="load")
    collected = await driver.run(spec)
    assert read_log(collected.outputs.files["os_settings.log"]).values["vm.dirty_bytes"].end == "104857600"
    assert value("vm.dirty_ratio") == before["vm.dirty_ratio"] and value("vm.dirty_bytes") == "0"
    assert not (helper.state / "before").exists()


def test_this_kernel_takes_what_its_sizes_and_its_idle_disks_are_set_to_and_has_its_own_again(helper):
    """Loop devices serve nobody here; of the pair of overcommit only one is in force, before and after."""
    memory_kib = next(line for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line).split()[1]
    requests = {"vm.overcommit_kbytes": memory_kib}
    schedulers = Path("/sys/block/loop0/queue/scheduler")
    if schedulers.exists() and "mq-deadline" in schedulers.read_text():
        requests["io_scheduler"] = "mq-deadline"
    pairs = [f"{name}={text}" for name, text in requests.items()]
    before = [Path(f"/proc/sys/vm/overcommit_{name}").read_text() for name in ("kbytes", "ratio")]
    words = ["/bin/sh", helper.program, "hold", str(script.VERSION), "7:0", "60", *pairs]
    log = subprocess.run(words, input=b"", capture_output=True, check=True).stdout
    assert list(doubts(requests, read_log(log))) == []
    assert [Path(f"/proc/sys/vm/overcommit_{name}").read_text() for name in ("kbytes", "ratio")] == before
    assert not (helper.state / "before").exists()


@pytest.mark.parametrize("victim", ["command", "job"])
async def test_a_run_whose_shell_is_killed_leaves_no_setting_changed(driver, helper, before, victim):
    name = "vm.dirty_expire_centisecs"
    during = other(before, name)
    spec = await spec_with(driver, {name: during}, kind="load", parameters=LONG)
    place = await begun(driver, spec, name, during)
    folder = Path(driver.work) / "runs" / place[2].run / "1"
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    if victim == "job":
        os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)
    await driver.until(lambda: value(name) == before[name])
    await driver.until(lambda: not (helper.state / "before").exists())
    assert {name: value(name) for name in NAMES} == before


@pytest.mark.parametrize("victim", ["nobody", "command", "everything"])
async def test_settings_of_a_run_whose_helper_is_killed_are_back_when_it_has_ended(driver, helper, before, victim):
    name = "vm.dirty_expire_centisecs"
    during = other(before, name)
    spec = await spec_with(driver, {name: during}, kind="load", parameters=LONG)
    place = await begun(driver, spec, name, during)
    helper.kill()
    assert value(name) == during
    running = Victim(driver, place[2])
    if victim == "nobody":
        os.killpg(running.numbers()[1], signal.SIGTERM)
    else:
        getattr(running, victim)()
    await driver.until(lambda: (running.folder / "rc").exists() or not is_alive(running))
    if victim == "everything":
        await job.cancel(*place)  # as a worker does, which finds it lost
    await driver.until(lambda: value(name) == before[name])
    assert not (helper.state / "before").exists()
    log = (running.folder / "os_settings.log").read_bytes()
    assert {doubt.code for doubt in doubts({name: during}, read_log(log))} == {"os-settings-changed"}


async def test_a_worker_puts_back_what_neither_helper_nor_attempt_could(driver, helper, before):
    name = "vm.dirty_expire_centisecs"
    helper.state.mkdir()
    (helper.state / "before").write_text(f"/proc/sys/vm/dirty_expire_centisecs {before[name]}\n")
    Path("/proc/sys/vm/dirty_expire_centisecs").write_text(other(before, name))
    assert await put_back(driver.connections, driver.target) == ""
    assert value(name) == before[name] and not (helper.state / "before").exists()
    (helper.state / "before").write_text("/proc/sys/kernel/ostype Minix\n")
    assert (await put_back(driver.connections, driver.target)).endswith("could not be put back: left ostype")
    (helper.state / "before").unlink()


async def test_a_cancelled_run_leaves_no_setting_changed(driver, helper, before):
    name = "vm.dirty_expire_centisecs"
    during = other(before, name)
    spec = await spec_with(driver, {name: during}, kind="load", parameters=LONG)
    place = await begun(driver, spec, name, during)
    await job.cancel(*place)
    assert value(name) == before[name] and not (helper.state / "before").exists()
    assert driver.servers == []


@pytest.mark.parametrize("by", ["start", "visit"])
async def test_what_a_killed_helper_left_is_put_back_before_anything_else(driver, helper, before, by):
    name = "vm.dirty_expire_centisecs"
    helper.state.mkdir()
    (helper.state / "before").write_text(f"/proc/sys/vm/dirty_expire_centisecs {before[name]}\n")
    Path("/proc/sys/vm/dirty_expire_centisecs").write_text(other(before, name))
    if by == "start":
        await driver.run(await driver.spec(kind="load"))
    else:
        await visit(driver.connections, driver.target, driver.cluster, driver.work, "stop", 5432)
    assert value(name) == before[name] and not (helper.state / "before").exists()


async def test_nothing_starts_while_an_earlier_setting_cannot_be_put_back(driver, helper, before):
    assert before
    helper.state.mkdir()
    (helper.state / "before").write_text("/proc/sys/kernel/ostype Minix\n")
    place = (driver.connections, driver.target, driver.attempt())
    with pytest.raises(RemoteFailure, match="left ostype"):
        await job.start(*place, await driver.spec(kind="load"))
    assert (await job.look(*place)).started is False
    (helper.state / "before").unlink()


async def test_a_value_that_the_kernel_does_not_take_fails_the_run_with_its_layer(driver, helper, before):
    requests = {"vm.dirty_expire_centisecs": other(before, "vm.dirty_expire_centisecs"), "read_ahead_kb": "63"}
    collected = await driver.run(await spec_with(driver, requests, kind="load"))
    assert collected.outputs.returncode == 96
    assert with_layer(collected.outputs.stderr.decode()).startswith("The operating system did not take a setting.")
    assert b"read_ahead_kb" in collected.outputs.stderr
    assert {name: value(name) for name in NAMES} == before
    assert not driver.folder.exists() and not (helper.state / "before").exists()


async def test_an_account_without_the_rule_is_told_what_is_missing_and_nothing_is_changed(
    driver, helper, before, monkeypatch
):
    monkeypatch.setattr(script, "COMMAND", f"{helper.folder}/no-such-sudo -n helper")
    requests = {"vm.dirty_expire_centisecs": other(before, "vm.dirty_expire_centisecs")}
    collected = await driver.run(await spec_with(driver, requests, kind="load"))
    assert collected.outputs.returncode == 96
    assert with_layer(collected.outputs.stderr.decode()).startswith("BenchHub may not change settings of the operating")
    assert {name: value(name) for name in NAMES} == before
    assert not driver.folder.exists()
