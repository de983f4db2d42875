"""The collector on a server's machine: begun and ended over a real OpenSSH daemon, each as often as it is asked for."""

import os
import pwd
import signal
import subprocess
from pathlib import Path

import pytest

from runners import observer
from runners.clusters.testing import command_line
from runners.telemetry.log import parse

pytestmark = pytest.mark.target


def collectors(folder):
    processes = [path for path in Path("/proc").glob("[0-9]*") if _cwd(path) == folder]
    return [path for path in processes if b"telemetry" in command_line(path)]


def limits(folder):
    processes = [path for path in Path("/proc").glob("[0-9]*") if _cwd(path) == folder]
    return [int(path.name) for path in processes if command_line(path) == b"sleep\x00600\x00"]


def has_begun(folder):
    log_file = folder / "telemetry.log"
    return log_file.exists() and "\n@ " in log_file.read_text()


def _cwd(path):
    try:
        return (path / "cwd").readlink()
    except OSError:
        return None


async def begin(bench, **changes):
    values = {"load_s": 3, "expected_s": 60, "data_directory": "", **changes}
    await observer.begin(bench.connections, bench.target, bench.attempt, **values)


async def test_a_machine_is_observed_until_its_end_is_asked_for_and_read_twice_alike(bench):
    folder = bench.work / "observed" / f"{bench.attempt.run}-1"
    await begin(bench)
    await begin(bench)
    log_file = folder / "telemetry.log"
    await bench.until(lambda: log_file.exists() and log_file.read_text().count("\n@ ") >= 3)
    # The awk, what makes its pauses, and the shell that waits for it; what notes a second lives for a moment.
    await bench.until(lambda: len(collectors(folder)) <= 3)
    content = await observer.end(bench.connections, bench.target, bench.attempt)
    log = parse(content)
    assert log.is_whole and len(log.groups["cpu"].rows) >= 3 and "pg" not in log.groups
    await bench.until(lambda: collectors(folder) == [])  # the shell that waits for it ends a moment after it
    assert await observer.end(bench.connections, bench.target, bench.attempt) == content


async def test_what_was_never_begun_has_nothing_to_be_read(bench):
    assert await observer.end(bench.connections, bench.target, bench.attempt) == b""


async def test_an_observation_that_nobody_ends_ends_by_itself(bench, monkeypatch):
    """Its limit is a sleep of so many seconds, which ends here once the collector has begun."""
    monkeypatch.setattr(observer, "SPARE_S", 200)
    await begin(bench, expected_s=400)
    folder = bench.work / "observed" / f"{bench.attempt.run}-1"
    await bench.until(lambda: has_begun(folder))
    await bench.until(lambda: limits(folder))
    [limit] = limits(folder)
    os.kill(limit, signal.SIGKILL)
    await bench.until(lambda: parse((folder / "telemetry.log").read_bytes()).is_whole and collectors(folder) == [])


async def test_processes_that_have_the_numbers_of_a_collector_after_a_reboot_are_left_alone(bench):
    folder = bench.work / "observed" / f"{bench.attempt.run}-1"
    await begin(bench)
    await bench.until(lambda: has_begun(folder))
    await observer.end(bench.connections, bench.target, bench.attempt)
    owner = pwd.getpwnam(bench.target.username).pw_uid
    strangers = [subprocess.Popen(["sleep", "600"], cwd="/", user=owner) for _ in range(3)]
    try:
        for name, stranger in zip(("telemetry.pid", "telemetry.pause", "telemetry.psql"), strangers, strict=True):
            (folder / name).write_text(f"{stranger.pid}\n")
            os.chown(folder / name, owner, -1)
        await observer.end(bench.connections, bench.target, bench.attempt)
        assert [stranger.poll() for stranger in strangers] == [None] * 3
        assert not (folder / "telemetry.pid").exists()
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()
