"""The collector pauses by one bash, or by a `sleep` each where there is none; the end of a load cuts its pause."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from runners.telemetry import collector
from runners.telemetry.log import parse
from runners.tests.patience import PATIENCE_S

TOOLS = ("sh", "awk", "date", "getconf", "stat", "sleep", "mkfifo", "rm", "nice", "cat")
SCRIPT = """\
{functions}
begin_telemetry
tries=0
while [ "$(grep -c '^@ ' telemetry.log)" -lt 4 ] && [ "$tries" -lt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
for process in /proc/[0-9]*; do
    [ "$process/cwd" -ef . ] && tr '\\0' ' ' < "$process/cmdline" && echo
done > processes 2> /dev/null
end_telemetry
for process in /proc/[0-9]*; do
    [ "$process" != "/proc/$$" ] && [ "$process/cwd" -ef . ] && tr '\\0' ' ' < "$process/cmdline" && echo
done > left 2> /dev/null
"""


@pytest.fixture(params=["bash", ""])
def path(request, tmp_path):
    """Return a folder of programs, with and without bash."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in (*TOOLS, "grep", "tr", *filter(None, [request.param])):
        (folder / name).symlink_to(shutil.which(name) or pytest.skip(f"{name} is not installed"))
    return folder


def observed(folder: Path, path: Path, step_s: int = 1) -> list[str]:
    """Observe this machine for some steps; return the command lines that were there meanwhile."""
    folder.mkdir()
    for name, text in collector.files("").items():
        (folder / name).write_text(text)
    functions = collector.functions("here", step_s * collector.MOST_SAMPLES)
    words = ["/bin/sh", "-c", SCRIPT.format(functions=functions)]
    subprocess.run(words, cwd=folder, env={**os.environ, "PATH": str(path)}, check=False)
    return (folder / "processes").read_text().splitlines()


def test_a_second_is_noted_after_the_other_and_the_last_moment_too_and_nothing_is_left(path, tmp_path):
    folder = tmp_path / "run"
    lines = observed(folder, path)
    log = parse((folder / collector.LOG_FILE).read_bytes())
    assert log.is_whole and len(log.groups["cpu"].rows) >= 4 and log.ended_s is not None
    assert log.groups["cpu"].times_s[-1] >= log.ended_s
    steps = zip(log.groups["cpu"].times_s, log.groups["cpu"].times_s[1:], strict=False)
    assert all(before < after for before, after in steps)
    sleeps, clocks = ([line for line in lines if line.startswith(name)] for name in ("sleep 1 ", "bash "))
    assert (sleeps, len(clocks)) == ([], 1) if (path / "bash").exists() else clocks == []
    assert not [line for line in (folder / "left").read_text().splitlines() if "telemetry" in line]
    assert not [name for name in ("telemetry.pid", "telemetry.clock", "telemetry.tick") if (folder / name).exists()]
    assert (folder / collector.ERROR_FILE).read_text() == ""


def test_the_clock_ends_after_a_collector_that_was_killed_and_that_nobody_reaps(tmp_path):
    """In a container that may be never; so may be the end of a process that has its number by then."""
    bash = shutil.which("bash") or pytest.skip("bash is not installed")
    (tmp_path / "telemetry.clock.sh").write_text(collector.files("")["telemetry.clock.sh"])
    for name in ("telemetry.tick", "telemetry.wait"):
        os.mkfifo(tmp_path / name)
    killed = subprocess.Popen(["sleep", "600"], cwd=tmp_path)
    clock = subprocess.Popen([bash, "./telemetry.clock.sh", str(killed.pid), "1"], cwd=tmp_path)
    try:
        assert (tmp_path / "telemetry.tick").open().read(1) == "\n" and clock.poll() is None
        killed.kill()
        assert clock.wait(PATIENCE_S) == 0
        assert Path(f"/proc/{killed.pid}").exists()  # a zombie still
    finally:
        killed.wait()
        clock.kill()
        clock.wait()
