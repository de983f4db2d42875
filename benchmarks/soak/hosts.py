"""The hosts of a soak: each has a small disk of its own, where it may be mounted, and an account that can be closed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from benchhub.embedded.postgres import Cluster
from tests.faults.rig import Rig, Site

# Every command comes through it. `account` is what stands in for the login shell, and may end it or go on.
LOGIN_SHELL = """\
#!/bin/sh
[ ! -e {folder}/account ] || . {folder}/account
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""
# The first load of a second that finds the file hangs, and takes no notice of a polite signal.
HANGS_ONCE = """\
case "$*" in *"-T 1 "*) if mv {folder}/hang {folder}/hanging 2> /dev/null; then
echo "$PGAPPNAME" >> {folder}/hung; trap '' TERM; while :; do sleep 0.2; done; fi ;; esac
"""
DISK_MB = 48


@dataclass
class SoakHost:
    """A site of the rig whose account and disk can be broken."""

    rig: Rig
    site: Site

    @property
    def name(self) -> str:
        return self.site.name

    def furnish(self) -> None:
        """Put a disk under its work directory and a shell before its commands."""
        work, account = self.site.machine.work_directory, self.rig.account
        if can_mount():
            owner = f"mode=0700,uid={account.uid},gid={account.gid},size={DISK_MB}m"
            subprocess.run(["mount", "-t", "tmpfs", "-o", owner, "tmpfs", str(work)], check=True)
        account.write(self._shell, LOGIN_SHELL.format(folder=self._shell.parent)).chmod(0o700)
        self.site.behave(HANGS_ONCE.format(folder=self._shell.parent))
        self.stop_daemon()
        self.start_daemon()

    def stop_daemon(self) -> None:
        self.rig.stop_daemon(self.site)

    def start_daemon(self, options: str = "") -> None:
        self.rig.start_daemon(self.site, f"ForceCommand {self._shell}\n{options}")

    def log_in_through(self, shell: str) -> None:
        """Let what is given, in sh, stand in for the login shell; connections that are there have it as well."""
        self.site.machine.account.write(self._shell.parent / "account", shell + "\n")

    def log_in_as_ever(self) -> None:
        (self._shell.parent / "account").unlink(missing_ok=True)

    def let_a_load_hang(self) -> None:
        self.site.machine.account.write(self._shell.parent / "hang", "")

    def let_none_hang(self) -> None:
        (self._shell.parent / "hang").unlink(missing_ok=True)

    def hung(self) -> set[str]:
        """Return the application names of the loads that have hung here."""
        file = self._shell.parent / "hung"
        return set(file.read_text().split()) if file.exists() else set()

    def fill_disk(self) -> None:
        with (self.site.machine.work_directory / "filler").open("wb", buffering=0) as filler:
            while True:
                try:
                    filler.write(bytes(1 << 20))
                except OSError:
                    return

    def empty_disk(self) -> None:
        (self.site.machine.work_directory / "filler").unlink(missing_ok=True)

    def make_disk_read_only(self) -> bool:
        """Return False where somebody writes there just now, so that the kernel refuses."""
        return self._remount("ro")

    def make_disk_writable(self) -> None:
        self._remount("rw")

    def _remount(self, option: str) -> bool:
        words = ["mount", "-o", f"remount,{option}", str(self.site.machine.work_directory)]
        return subprocess.run(words, capture_output=True).returncode == 0

    @property
    def _shell(self) -> Path:
        return self.site.bin_directory / "shell"


def can_mount() -> bool:
    """Tell whether this process may mount a file system: some containers keep even root from it."""
    return os.geteuid() == 0 and not subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode


def unmount(folder: Path) -> None:
    """Unmount every disk below a folder, also those that a soak which was killed has left."""
    for line in Path("/proc/mounts").read_text().splitlines():
        place = line.split()[1]
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", place], check=True)


def database_apart(server: Cluster, name: str, load: Callable[[Cluster], None]) -> Cluster:
    """Return the server with a database of its own under a host, so that its data set can be exchanged."""
    with psycopg.connect(server.url, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}")
    apart = replace(server, database=name)
    load(apart)
    return apart
