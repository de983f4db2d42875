"""Folders for servers of tests, and the end of what tests that were killed have left running in theirs.

A session that is ended by signal 9 cleans nothing up: its servers, and demonstrations that it started, would run on.
Each folder is held by a lock that the kernel frees with the process, so that the next session can tell.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchhub.embedded import proc
from benchhub.embedded.processes import stop_leftovers

LOCK = "held.lock"
SERVERS, CLONES = "benchhub-test-", "benchhub-clone-"
# All else that a session writes among temporary files, whoever makes it: pytest, forked servers, browsers.
SESSIONS = "benchhub-temp-"
# What root's tests make on the machine: helpers that may change its settings, daemons, users.
HELPERS, DAEMONS, USERS = "benchhub-helper-", "benchhub-sshd-", "benchhub-user-"
USERNAME = "username"
PATIENCE_S = 120


def root() -> Path:
    """Return the folder of temporary files in which the folders of all sessions lie, also within a session."""
    folder = Path(tempfile.gettempdir())
    return folder.parent.parent if folder.parent.name.startswith(SESSIONS) else folder


@contextlib.contextmanager
def session() -> Iterator[Path]:
    """A folder for all that this process and those that it starts write among temporary files.

    Whoever the tests run as may write there, as in the machine's own; paths are no longer than pytest's would be.
    """
    reap(SESSIONS, end_session)
    with held(SESSIONS) as folder, contextlib.ExitStack() as stack:
        folder.chmod(0o711)
        temporary = folder / "t"
        temporary.mkdir()
        temporary.chmod(0o1777)
        stack.callback(_use_temporary, os.environ.get("TMPDIR"))
        _use_temporary(str(temporary))
        yield folder
    reap_all()  # what a process of ours has left that was killed alone


def _use_temporary(folder: str | None) -> None:
    if folder is None:
        os.environ.pop("TMPDIR", None)
    else:
        os.environ["TMPDIR"] = folder
    tempfile.tempdir = None  # it looks again


@contextlib.contextmanager
def held(prefix: str) -> Iterator[Path]:
    """A new folder among the temporary ones that is ours as long as this process lives; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root()))
    fresh = folder / f".{LOCK}"
    with fresh.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh.rename(folder / LOCK)  # nobody finds it before it is locked
        yield folder
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, also where a test took away the right to look into a part of it."""
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


def reap(prefix: str, end: Callable[[Path], None]) -> list[Path]:
    """End and remove what nobody holds any more; returns the folders. Several sessions may do this at once."""
    folders = []
    for lock in root().glob(f"{prefix}*/{LOCK}"):
        # Somebody holds it, another user's it is, or another session was quicker.
        with contextlib.suppress(OSError), lock.open() as ours:
            if not _is_ours(lock.parent):
                continue
            fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end(lock.parent)
            _remove(lock.parent)
            folders.append(lock.parent)
    return folders


def _is_ours(folder: Path) -> bool:
    """Tell whether nobody else can have written what is there: it says what is ended and removed."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def main() -> None:
    """Remove what sessions that were killed have left on this machine, for `make clean`."""
    for folder in reap_all():
        print(f"Removed {folder}, which tests that were ended had left.")


def reap_all() -> list[Path]:
    """End and remove all of it; sessions first, as their processes may hold the other folders."""
    sessions = reap(SESSIONS, end_session)
    return [*sessions, *reap(SERVERS, end_servers), *reap(CLONES, end_demonstration), *reap_machine()]


def reap_machine() -> list[Path]:
    """End what root's tests have left; users last, as the others run as them."""
    return [*reap(HELPERS, end_helper), *reap(DAEMONS, end_daemon), *reap(USERS, end_user)]


def end_session(folder: Path) -> None:
    """End what the session has started: all of it knows where its temporary files go."""
    proc.kill_marked("TMPDIR", str(folder / "t"))


def end_helper(folder: Path) -> None:
    """Put settings of the machine back, and take away what may change them."""
    for program in folder.glob("*/helper"):
        version = re.search(r"^version=(\d+)$", program.read_text(), re.MULTILINE)
        words = ["/bin/sh", str(program), "restore", version[1] if version else ""]
        subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=False)
        Path("/etc/sudoers.d", program.parent.name).unlink(missing_ok=True)


def end_daemon(folder: Path) -> None:
    """End the daemon whose configuration lies there."""
    for pid in proc.pids():
        if any(word.startswith(f"{folder}/") for word in proc.command_line(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def end_user(folder: Path) -> None:
    """Remove the user whose name stands there, with all that it runs and owns in its home directory."""
    username = (folder / USERNAME).read_text()
    with contextlib.suppress(KeyError):
        entry = pwd.getpwnam(username)
        subprocess.run(["pkill", "-KILL", "-U", str(entry.pw_uid)], check=False)
        subprocess.run(["userdel", "--force", username], capture_output=True, check=False)
        shutil.rmtree(entry.pw_dir, ignore_errors=True)


def end_servers(folder: Path) -> None:
    """End those of the folder and of the supervisors below it, whose marks are the names of their folders."""
    for place in (folder, *(notes.parent for notes in folder.glob("*/run"))):
        stop_leftovers(place, [f"{place.name}-target", place.name])


def end_demonstration(clone: Path) -> None:
    """By the clone's own command: its supervisor is alive, as nobody told it that the tests are over."""
    command = [sys.executable, "-m", "benchhub.demo", "clean"]
    try:
        subprocess.run(command, cwd=clone, capture_output=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        print(f"The demonstration in {clone} did not end within {PATIENCE_S} s: its processes may go on.")


if __name__ == "__main__":
    main()
