"""Children of a supervisor, for real: they are started, stopped, killed, named when they fail, and found again."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchhub.embedded import EmbeddedError, proc
from benchhub.embedded.processes import ChildError, InterruptError, Processes, last_words, stop_leftovers
from tests import places

pytestmark = pytest.mark.target


def test_stopping_ends_the_child_and_what_it_started(own_processes: Processes) -> None:
    child = own_processes.start("family", ["sh", "-c", "setsid sleep 600 & sleep 600"], folder=Path("/"))
    own_processes.wait_until(lambda: len(proc.family(child.identity.pid)) == 2, child, patience_s=60)
    family = proc.family(child.identity.pid)
    own_processes.stop(child)
    assert not any(proc.is_alive(process) for process in family)
    assert not list(own_processes.notes.iterdir())


def test_orphans_of_a_child_that_was_killed_are_stopped_with_it(own_processes: Processes) -> None:
    child = own_processes.start("parent", ["sh", "-c", "sleep 600 & wait"], folder=Path("/"))
    own_processes.wait_until(lambda: len(proc.family(child.identity.pid)) == 1, child, patience_s=60)
    (orphan,) = proc.family(child.identity.pid)
    proc.kill([child.identity])
    assert proc.is_alive(orphan)
    own_processes.stop(child)
    assert not proc.is_alive(orphan)


def test_a_child_that_ignores_term_is_killed(own_processes: Processes) -> None:
    command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]
    stop_signals = ((signal.SIGTERM, 0.2),)
    child = own_processes.start("deaf", command, folder=Path("/"), stop_signals=stop_signals)
    own_processes.wait_until(lambda: "ready" in child.log.read_text(), child, patience_s=60)
    own_processes.stop(child)
    assert child.exit_code == -signal.SIGKILL


def test_a_failing_child_is_reported_by_its_last_line(own_processes: Processes) -> None:
    child = own_processes.start("broken", ["sh", "-c", "echo why >&2; exit 3"], folder=Path("/"))
    with pytest.raises(ChildError, match="broken failed: why"):
        own_processes.run(child)


def test_a_child_that_a_signal_ended_is_reported_by_the_signal(own_processes: Processes) -> None:
    child = own_processes.start("shot", ["sh", "-c", "echo all went well; kill -9 $$"], folder=Path("/"))
    with pytest.raises(ChildError, match=r"shot failed: it was ended by signal 9 \(Killed; was memory short\?; see /"):
        own_processes.run(child)


def test_the_line_that_tells_of_the_error_is_reported_even_if_others_follow(own_processes: Processes) -> None:
    script = "echo 'initdb: error: could not write'; echo 'removing data directory'; exit 1"
    child = own_processes.start("initdb", ["sh", "-c", script], folder=Path("/"))
    with pytest.raises(ChildError, match="initdb failed: initdb: error: could not write"):
        own_processes.run(child)


def test_the_log_of_the_supervisor_before_is_kept_and_not_taken_for_ours(own_processes: Processes) -> None:
    log = own_processes.logs / "late.log"
    log.write_text("error of yesterday\n")
    child = own_processes.start("late", ["sh", "-c", "exit 1"], folder=Path("/"))
    with pytest.raises(ChildError, match="late failed: it said nothing"):
        own_processes.run(child)
    assert log.with_suffix(".log.before").read_text() == "error of yesterday\n"


def test_a_full_disk_is_named(own_processes: Processes) -> None:
    script = "echo 'could not write: No space left on device'; echo 'child exited'; exit 1"
    child = own_processes.start("full", ["sh", "-c", script], folder=Path("/"))
    with pytest.raises(ChildError, match="the disk is full"):
        own_processes.run(child)


def test_a_disk_so_full_that_a_child_could_say_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=4096))
    log = tmp_path / "migrate.log"
    log.touch()
    assert last_words(log) == f"the disk is full (see {log})."


def test_a_missing_program_is_named(own_processes: Processes) -> None:
    with pytest.raises(EmbeddedError, match="/no/such cannot be started: No such file or directory"):
        own_processes.start("missing", ["/no/such"], folder=Path("/"))


def test_nothing_is_started_once_everything_was_stopped(own_processes: Processes) -> None:
    own_processes.stop_all()
    with pytest.raises(InterruptError):
        own_processes.start("late", ["sleep", "60"], folder=Path("/"))


def test_leftovers_of_a_killed_supervisor_are_stopped_and_nothing_else(own_processes: Processes) -> None:
    ours = own_processes.start("ours", ["sleep", "60"], folder=Path("/"))
    stranger = own_processes.start("stranger", ["sleep", "60"], folder=Path("/"))
    note = own_processes.notes / "stranger.child.json"
    start = f'"started_ticks": {stranger.identity.started_ticks}'
    note.write_text(note.read_text().replace(start, '"started_ticks": 1'))
    assert stop_leftovers(own_processes.notes.parent, []) == 1
    assert not proc.is_alive(ours.identity)
    assert proc.is_alive(stranger.identity), "its number is that of the note, but it is another process"


def test_marked_processes_are_found_without_a_note(own_processes: Processes) -> None:
    child = own_processes.start("unnoted", ["sleep", "60"], folder=Path("/"))
    (own_processes.notes / "unnoted.child.json").unlink()
    assert stop_leftovers(own_processes.notes.parent, [own_processes.marker]) == 1
    assert not proc.is_alive(child.identity)


def test_the_last_words_of_a_process_are_a_sentence_and_no_class_of_python(tmp_path: Path) -> None:
    log = tmp_path / "migrate.log"
    log.write_text("Traceback (most recent call last):\ndjango.db.utils.OperationalError: connection failed: refused\n")
    assert last_words(log) == f"connection failed: refused (see {log})"
    log.write_text("CommandError: It cannot be used.\n")
    assert last_words(log) == f"It cannot be used. (see {log})"


def test_a_second_child_of_a_name_is_refused_while_the_first_runs(own_processes: Processes) -> None:
    first = own_processes.start("broker", ["sleep", "60"], folder=Path("/"))
    with pytest.raises(EmbeddedError, match="broker runs already"):
        own_processes.start("broker", ["sleep", "60"], folder=Path("/"))
    assert proc.is_alive(first.identity)
    own_processes.stop_all()
    assert not proc.is_alive(first.identity)


def test_a_child_inherits_the_open_files_that_it_is_given_and_no_other(own_processes: Processes) -> None:
    (their_end, theirs), (our_end, ours) = os.pipe(), os.pipe()
    script = f"import os; os.write({theirs}, b'given'); os.write({ours}, b'kept')"
    heir = own_processes.start("heir", [sys.executable, "-c", script], folder=Path("/"), inherits=(theirs,))
    with pytest.raises(ChildError, match="Bad file descriptor"):
        own_processes.run(heir)
    os.close(theirs)
    os.close(ours)
    with os.fdopen(their_end) as first, os.fdopen(our_end) as second:
        assert (first.read(), second.read()) == ("given", "")


def test_what_a_killed_test_session_left_running_is_ended_by_the_next_and_nothing_that_is_held() -> None:
    prefix = f"benchhub-left-{secrets.token_hex(4)}-"
    with places.held(prefix) as held:
        alive = Processes(held, marker=held.name)
        ours = alive.start("ours", ["sleep", "60"], folder=Path("/"))
        left = Path(tempfile.mkdtemp(prefix=prefix, dir=places.root()))
        (left / places.LOCK).touch()
        children = [
            Processes(folder, marker=folder.name).start("left", ["sleep", "60"], folder=Path("/"))
            for folder in (left, left / "below")
        ]
        job = Processes(left / "job", marker=f"{left.name}-target").start("job", ["sleep", "60"], folder=Path("/"))
        (left / "job" / "run" / "job.child.json").unlink()
        assert places.reap(prefix, places.end_servers) == [left]
        assert not any(proc.is_alive(child.identity) for child in (*children, job))
        assert not left.exists()
        assert proc.is_alive(ours.identity) and held.exists()
        alive.stop_all()
    assert not held.exists()
    for child in (*children, job):
        child.process.wait(60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users and helpers")
def test_a_helper_that_a_killed_session_left_puts_back_what_it_changed_and_is_gone() -> None:
    left = Path(tempfile.mkdtemp(prefix=f"benchhub-left-{secrets.token_hex(4)}-", dir=places.root()))
    (left / places.LOCK).touch()
    helper = left / "bhos"
    helper.mkdir()
    (helper / "helper").write_text(f'version=7\n[ "$1 $2" = "restore $version" ] && touch {left}.restored\n')
    assert places.reap(left.name, places.end_helper) == [left]
    restored = Path(f"{left}.restored")
    assert restored.exists() and not left.exists()
    restored.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users and helpers")
def test_a_user_that_a_killed_session_left_is_removed_with_what_it_runs() -> None:
    username = f"bhtest{secrets.token_hex(3)}"
    home = Path("/tmp") / username
    subprocess.run(["useradd", "--system", "--create-home", "--home-dir", str(home), username], check=True)
    left = Path(tempfile.mkdtemp(prefix=f"benchhub-left-{secrets.token_hex(4)}-", dir=places.root()))
    (left / places.LOCK).touch()
    (left / places.USERNAME).write_text(username)
    running = subprocess.Popen(["sleep", "600"], user=username)
    assert places.reap(left.name, places.end_user) == [left]
    assert running.wait(60) == -signal.SIGKILL
    assert not home.exists() and not left.exists()
    with pytest.raises(KeyError):
        pwd.getpwnam(username)


def test_what_others_may_have_written_is_left_alone() -> None:
    left = Path(tempfile.mkdtemp(prefix=f"benchhub-left-{secrets.token_hex(4)}-", dir=places.root()))
    (left / places.LOCK).touch()
    left.chmod(0o777)
    ended: list[Path] = []
    assert places.reap(left.name, ended.append) == [] and left.exists()
    left.chmod(0o755)
    assert places.reap(left.name, ended.append) == [left] == ended


def test_a_daemon_that_a_killed_session_left_is_ended() -> None:
    left = Path(tempfile.mkdtemp(prefix=f"benchhub-left-{secrets.token_hex(4)}-", dir=places.root()))
    (left / places.LOCK).touch()
    words = [sys.executable, "-c", "import time; time.sleep(600)", f"{left}/sshd_config"]
    ended, other = subprocess.Popen(words), subprocess.Popen([*words[:3], f"{left}x/sshd_config"])
    assert places.reap(left.name, places.end_daemon) == [left]
    assert ended.wait(60) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()
