"""What TATP's commands do on a driver beside the load, run by sh."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from runners.tools.tatp import command


@pytest.mark.parametrize("threads", [1, 2])
def test_meanwhile_the_whole_lines_that_the_logs_end_with_tell_about_how_fast_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Of 4 clients those that were seen had ended 1,000 transactions each, after a second."""
    monkeypatch.setattr(command, "LIVE_FIRST_S", 1)
    (tmp_path / "log").mkdir()
    for name in ("pgbench_log.7", "pgbench_log.7.1")[:threads]:
        (tmp_path / "log" / name).write_text("0 900 45 0 1700000000 12\n0 1000 45 0 1700000000 99\n0 1100 4")
    ended = "live 2> said & teller=$!\nuntil [ -s said ]; do sleep 0.05; done\nkill $teller\n"
    subprocess.run(["sh", "-c", command.live(4) + ended], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "said").read_text().splitlines()[0] == "progress: 1 s, about 4000 tps"


def test_later_looks_at_a_running_load_come_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 1, 2 and 4 s more; a sleep that takes no time stands for them."""
    monkeypatch.setattr(command, "LIVE_FIRST_S", 1)
    monkeypatch.setattr(command, "LIVE_EVERY_S", 4)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.7").write_text("0 1000 45 0 1700000000 99\n0 1100 4")
    pauses = 'sleep() { echo "$1" >> pauses; [ "$(wc -l < pauses)" -lt 5 ] || kill $$; }\n'
    subprocess.run(["sh", "-c", f"{pauses}{command.live(1)}live 2> said"], cwd=tmp_path, timeout=120)
    assert (tmp_path / "pauses").read_text().split() == ["1", "2", "4", "4", "4"]
    assert re.findall(r"^progress: (\d+) s, about", (tmp_path / "said").read_text(), re.M) == ["1", "3", "7", "11"]


def test_meanwhile_nothing_is_said_of_logs_without_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LIVE_FIRST_S", 1)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.7").touch()
    ended = "live & teller=$!\nsleep 1.5\nkill $teller\n"
    done = subprocess.run(["sh", "-c", command.live(4) + ended], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0 and done.stdout == done.stderr == b""
