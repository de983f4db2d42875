"""A supervisor that is killed stops nothing; its guard does, and the next supervisor ends the guard first."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchhub.embedded import proc
from benchhub.embedded.guard import VARIABLE
from benchhub.embedded.processes import Processes, stop_leftovers
from conftest import CLONE
from tests import places

PATIENCE_S = 120
SUPERVISOR = """
import sys, time
from pathlib import Path
from benchhub.embedded.processes import Processes
processes = Processes(Path(sys.argv[1]), marker=sys.argv[2])
child = processes.start("ours", ["sleep", "600"], folder=Path("/"))
job = processes.start("job", ["sleep", "600"], folder=Path("/"))
(processes.notes / "job.child.json").unlink()
print(child.identity.pid, job.identity.pid, processes._guard.process.pid, flush=True)
if sys.argv[3] == "stop":
    processes.stop(job)
    processes.stop_all()
time.sleep(600 if sys.argv[3] == "wait" else 0)
"""


@contextlib.contextmanager
def supervisor(folder: Path, then: str) -> Iterator[tuple[subprocess.Popen[str], list[proc.Identity | None]]]:
    """A supervisor in a process of its own, with its two children and its guard."""
    command = [sys.executable, "-c", SUPERVISOR, str(folder), folder.name, then]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CLONE) as process:
        assert process.stdout is not None
        yield process, [proc.identify(int(word)) for word in process.stdout.readline().split()]


def test_the_children_of_a_supervisor_that_is_killed_end_by_themselves(
    server_folder: Path, own_processes: Processes
) -> None:
    stranger = own_processes.start("stranger", ["sleep", "60"], folder=Path("/"))
    with supervisor(server_folder / f"killed-{secrets.token_hex(4)}", "wait") as (process, family):
        present = [identity for identity in family if identity]
        assert len(present) == 3
        process.kill()
        assert proc.wait_for_end(present, PATIENCE_S) == []
    assert proc.is_alive(stranger.identity)


def test_the_next_supervisor_ends_the_guard_of_the_one_before(server_folder: Path) -> None:
    folder = server_folder / f"guarded-{secrets.token_hex(4)}"
    with supervisor(folder, "wait") as (process, family):
        present = [identity for identity in family if identity]
        assert stop_leftovers(folder, [folder.name]) == 2
        assert proc.wait_for_end(present, PATIENCE_S) == []
        assert process.poll() is None
        process.kill()


def test_a_supervisor_that_ends_in_order_leaves_no_guard(server_folder: Path) -> None:
    folder = server_folder / f"ordered-{secrets.token_hex(4)}"
    with supervisor(folder, "stop") as (process, _family):
        assert process.wait(PATIENCE_S) == 0
    assert proc.marked(VARIABLE, str(folder)) == []


def test_make_clean_finds_what_interrupted_tests_left_and_needs_no_packages(tmp_path: Path) -> None:
    left, other = tmp_path / "benchhub-test-left", tmp_path / "benchhub-test-without-a-lock"
    for folder in (left, other):
        folder.mkdir()
    (left / places.LOCK).touch()
    child = Processes(left, marker=left.name).start("left", ["sleep", "60"], folder=Path("/"))
    with places.held(places.SERVERS) as held:
        done = run_without_packages("tests.places", TMPDIR=str(tmp_path))
        assert held.exists()
    assert done.stdout == f"Removed {left}, which tests that were ended had left.\n"
    assert not left.exists() and other.exists()
    assert child.process.wait(PATIENCE_S) < 0


def test_make_clean_finds_the_temporary_files_of_a_session_and_what_it_started(tmp_path: Path) -> None:
    left = tmp_path / f"{places.SESSIONS}left"
    closed = left / "t" / "pymp-left"
    closed.mkdir(parents=True)
    (closed / "socket").touch()
    closed.chmod(0o500)
    (left / places.LOCK).touch()
    started = subprocess.Popen(["sleep", "600"], env={**os.environ, "TMPDIR": str(left / "t")})
    other = subprocess.Popen(["sleep", "600"], env={**os.environ, "TMPDIR": str(tmp_path)})
    done = run_without_packages("tests.places", TMPDIR=str(tmp_path))
    assert done.stdout == f"Removed {left}, which tests that were ended had left.\n"
    assert started.wait(PATIENCE_S) < 0 and not left.exists()
    assert other.poll() is None
    other.kill()
    other.wait()


def test_what_tests_write_among_temporary_files_lies_in_the_folder_of_their_session(tmp_path: Path) -> None:
    [session] = [folder for folder in tmp_path.parents if folder.name.startswith(places.SESSIONS)]
    assert Path(tempfile.gettempdir()) == session / "t"
    assert Path(os.environ["TMPDIR"]) == session / "t"
    assert places.root() == session.parent
    assert (session / places.LOCK).exists()


def test_make_stop_and_make_clean_need_no_packages() -> None:
    assert "clean" in run_without_packages("benchhub.demo", "--help").stdout


def run_without_packages(module: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module with the standard library alone."""
    command = [sys.executable, "-S", "-m", module, *words]
    return subprocess.run(
        command, cwd=CLONE, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
