"""The user who runs the servers, and the folder where their files lie.

An ordinary user runs them as himself, with the files in var/ of the clone. PostgreSQL refuses to run as root,
and a clone of root's may lie where no other user can look: there a user of its own runs them, from a private
folder outside the clone that also holds copies of the programs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchhub.embedded import EmbeddedError, proc

SYSTEM_USER = "benchhub-demo"
SYSTEM_USER_COMMENT = "Made by BenchHub; make clean removes it"
PRIVATE_PARENT = Path("/var/lib/benchhub-demo")
CLONE_FILE = "clone"


@dataclass(frozen=True)
class Account:
    """An operating-system user and the folder `home` that holds what its servers need and write."""

    username: str
    uid: int
    gid: int
    home: Path

    @property
    def is_another_user(self) -> bool:
        return self.uid != os.geteuid()

    def popen_options(self) -> Mapping[str, Any]:
        """Return keyword arguments for subprocess.Popen that make the child run as this user."""
        if not self.is_another_user:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def make_folder(self, folder: Path) -> Path:
        """Make `folder` (its parent exists) readable by this user alone."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.own(folder)
        return folder

    def write(self, file: Path, text: str) -> Path:
        """Write a file of mode 0600 that belongs to this user; whoever reads it meanwhile sees old or new, whole."""
        fresh = file.with_name(f".{file.name}.new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(text)
        self.own(fresh)
        return fresh.rename(file)

    def own(self, path: Path) -> None:
        if self.is_another_user:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def clone_id(clone: Path) -> str:
    """Return a short name for this clone on this machine: the same as long as it stays where it is."""
    return hashlib.sha256(os.fsencode(clone.resolve())).hexdigest()[:12]


def private_folder(clone: Path) -> Path:
    return PRIVATE_PARENT / clone_id(clone)


def for_clone(clone: Path) -> Account:
    """Return the account of a clone, made on the machine if it has to be. Raises EmbeddedError."""
    if os.geteuid() == 0:
        return _for_root(clone)
    if sentence := nameless_text(os.geteuid()):
        raise EmbeddedError(sentence)
    home = clone / "var"
    if re.search(r"[\s*?\[\]\"'\\]", str(home)):
        raise EmbeddedError(f"{clone} has a space, quote or wildcard in its path: move it where the path has none.")
    home.mkdir(mode=0o700, exist_ok=True)
    return Account(pwd.getpwuid(os.geteuid()).pw_name, os.geteuid(), os.getegid(), home)


def nameless_text(uid: int) -> str:
    """Return what is to be done where this user has no name; empty where it has."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        without = "has no entry in /etc/passwd, and PostgreSQL does not start without one"
        return f"User id {uid} {without}: run as a user who has."
    return ""


def remove_private(clone: Path) -> list[str]:
    """Remove what root's account left on the machine for this clone, and return its names for people."""
    removed = []
    for folder in (private_folder(clone), *_abandoned()):
        if folder.exists():
            shutil.rmtree(folder)
            removed.append(str(folder))
    if PRIVATE_PARENT.exists() and not any(PRIVATE_PARENT.iterdir()):
        PRIVATE_PARENT.rmdir()
    if not PRIVATE_PARENT.exists() and _is_ours(SYSTEM_USER):
        _run("userdel", SYSTEM_USER)
        removed.append(f"user {SYSTEM_USER}")
    return removed


def _abandoned() -> list[Path]:
    """Return the folders whose clone was removed without `make clean`, and in which nothing works any more."""
    notes = PRIVATE_PARENT.glob(f"*/{CLONE_FILE}")
    gone = [note.parent for note in notes if not Path(os.fsdecode(note.read_bytes())).exists()]
    return [folder for folder in gone if not any(_works_in(folder, pid) for pid in proc.pids())]


def _works_in(folder: Path, pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder)
    except OSError:  # it has ended
        return False


def _for_root(clone: Path) -> Account:
    entry = _system_user()
    home = private_folder(clone)
    for folder, mode in ((PRIVATE_PARENT, 0o755), (home, 0o710)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)  # whatever root's umask is
    os.chown(home, 0, entry.pw_gid)
    (home / CLONE_FILE).write_bytes(os.fsencode(clone.resolve()))
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, home)


def _system_user() -> pwd.struct_passwd:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    options = ["--system", "--user-group", "--no-create-home", "--shell", "/bin/sh"]
    _run("useradd", *options, "--home-dir", str(PRIVATE_PARENT), "--comment", SYSTEM_USER_COMMENT, SYSTEM_USER)
    return pwd.getpwnam(SYSTEM_USER)


def _is_ours(username: str) -> bool:
    try:
        return pwd.getpwnam(username).pw_gecos == SYSTEM_USER_COMMENT
    except KeyError:
        return False


def _run(program: str, *arguments: str) -> None:
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise EmbeddedError(f"{program} is not installed, and as root the servers need a user of their own.")
    process = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    already_there = program == "useradd" and process.returncode == 9
    if process.returncode and not already_there:
        raise EmbeddedError(f"{program} {SYSTEM_USER} failed: {process.stderr.strip()}")
