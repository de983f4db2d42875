"""The collector beside a load on a real target: it ends with the load, whatever ends that, and fails no run."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from runners.conftest import HELD, PATIENCE_S, fake_spec
from runners.telemetry import collector, series

pytestmark = pytest.mark.target

SPEC = fake_spec(telemetry="here", duration_s=3)


def processes_in(folder):
    """Return the numbers of the processes that work in this folder, but for the witness that stays and its pause."""
    witness = (folder / "witness").read_text().strip() if (folder / "witness").exists() else ""
    numbers = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (process / "stat").read_text().rpartition(") ")[2].split()[:2]
            if (process / "cwd").readlink() == folder and state != "Z" and witness not in (process.name, parent):
                numbers.append(int(process.name))
        except OSError:
            continue
    return numbers


def is_collector(number):
    try:
        return b"telemetry" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


async def begun(bench):
    await bench.until((bench.folder / collector.LOG_FILE).is_file)
    await bench.until(lambda: "\n@ " in (bench.folder / collector.LOG_FILE).read_text())


async def test_three_seconds_of_this_machine_are_noted_and_nothing_stays_behind(bench):
    await bench.start("sleep 3", spec=SPEC)
    assert await bench.ended()
    collected = await bench.collect()
    files = collected.outputs.files
    assert (collected.outputs.returncode, collected.outputs.stderr, collected.remarks) == (0, b"", {})
    telemetry = series.read(files[collector.LOG_FILE], files["step"], 3)
    values = {item.metric: item.values for item in telemetry.observations}
    load = series.load_of(files["step"])
    assert 3 <= len(values["cpu_user"]) <= load.over_s - load.begin_s + 1
    assert all(value is not None for value in values["context_switches"][:3])
    assert telemetry.remarks == (series.NO_SERVER,)  # its server is nowhere
    assert b"/nonexistent/bin/psql" in files[collector.ERROR_FILE]
    await bench.until(lambda: processes_in(bench.folder) == [])
    assert not {"telemetry.pid", "telemetry.pause", "telemetry.clock", "telemetry.end", "telemetry.psql"} & files.keys()


async def test_a_run_without_telemetry_has_no_file_of_it(bench):
    await bench.start("true", spec=fake_spec())
    assert await bench.ended()
    assert not [name for name in (await bench.collect()).outputs.files if name.startswith("telemetry")]


async def test_a_load_that_is_killed_leaves_no_collector(bench):
    await bench.start("sh -c 'sleep 1; kill -9 $$'; (exit 137)", spec=SPEC)
    assert await bench.ended()
    assert (await bench.look()).returncode == 137
    await bench.until(lambda: processes_in(bench.folder) == [])


async def test_when_the_whole_command_is_killed_its_collector_is_ended(bench):
    await bench.start(HELD, spec=SPEC)
    await begun(bench)
    os.kill(int((bench.folder / "pid").read_text().split()[3]), signal.SIGKILL)
    bench.release()
    assert await bench.ended()
    await bench.until(lambda: processes_in(bench.folder) == [])


async def test_when_all_but_the_collector_is_killed_it_notices_and_ends(bench):
    await bench.start(HELD, spec=SPEC)
    await begun(bench)
    _, wrapper, _, command, _ = (bench.folder / "pid").read_text().split()
    for process in (wrapper, command):
        os.kill(int(process), signal.SIGKILL)
    bench.release()
    await bench.until(lambda: not any(map(is_collector, processes_in(bench.folder))))
    async with asyncio.timeout(PATIENCE_S):  # what the collector had begun may end a moment after it
        while (await bench.look()).lock_held:
            await asyncio.sleep(0.05)
    assert not any(map(is_collector, processes_in(bench.folder)))


async def test_a_cancelled_load_leaves_no_collector(bench):
    await bench.start("sleep 300", spec=SPEC)
    await begun(bench)
    await bench.cancel(grace_s=2)
    await bench.until(lambda: processes_in(bench.folder) == [])
    assert not (await bench.look()).lock_held


async def test_a_load_ended_at_its_deadline_leaves_no_collector(bench):
    await bench.start("sleep 300", spec=fake_spec(telemetry="here", duration_s=60, deadline_s=3))
    assert await bench.ended()
    assert "overdue" in (await bench.collect()).outputs.files
    await bench.until(lambda: processes_in(bench.folder) == [])


async def test_a_collector_that_fails_fails_no_run(bench):
    awk = "echo 'echo no awk >&2; exit 1' > telemetry.sh"
    spec = fake_spec(telemetry="here", duration_s=1)
    await bench.start("sleep 1; echo result", spec=spec)
    assert await bench.ended()
    assert (await bench.collect()).outputs.returncode == 0
    second = bench.of(2)
    (second.folder / "telemetry.log").mkdir(parents=True)
    second.folder.chmod(0o777)
    await second.start(f"{awk}; echo result", spec=spec)
    assert await second.ended()
    outputs = (await second.collect()).outputs
    assert (outputs.returncode, outputs.stdout) == (0, b"result\n")
    assert series.read(outputs.files.get(collector.LOG_FILE, b""), outputs.files["step"], 1).remarks == (
        series.NOTHING,
    )
