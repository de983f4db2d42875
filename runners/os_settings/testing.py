"""The helper for tests: on a tree of files instead of the kernel's, or as root's on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .names import SETTINGS
from .script import VERSION, helper_text

DEVICE = "254:1"
NAMES = ("vm.dirty_expire_centisecs", "vm.dirty_ratio", "transparent_hugepage")  # which tests change on this machine
VALUES = {
    "vm.swappiness": "60",
    "vm.dirty_bytes": "0",
    "vm.dirty_ratio": "20",
    "vm.dirty_background_bytes": "65536",
    "vm.dirty_background_ratio": "0",
    "vm.overcommit_kbytes": "0",
    "vm.overcommit_ratio": "50",
    "vm.nr_hugepages": "0",
    "transparent_hugepage": "always [madvise] never",
}


@dataclass
class Tree:
    """A folder that looks like /proc and /sys, with a disk whose first partition is DEVICE, and the helper for it."""

    folder: Path

    def __post_init__(self) -> None:
        for name, value in VALUES.items():
            self.write(self.file(name), value)
        self.write(self.folder / "proc/meminfo", "MemTotal: 8388608 kB\nHugepagesize: 2048 kB")
        self.write(self.folder / "sys/devices/sda/queue/read_ahead_kb", "128")
        self.write(self.folder / "sys/devices/sda/queue/scheduler", "[none] mq-deadline")
        for policy, governor in self.governors.items():
            self.write(policy, governor)
        self.write(self.folder / "sys/devices/sda/sda1/partition", "1")
        (self.folder / "sys/dev/block").mkdir(parents=True)
        (self.folder / f"sys/dev/block/{DEVICE}").symlink_to("../../devices/sda/sda1")
        (self.folder / "helper").write_text(helper_text(root=str(self.folder), folder=str(self.state)))

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def governors(self) -> dict[Path, str]:
        """Return the files of the governor as they are at first: those of three policies, which differ."""
        policies = self.folder / "sys/devices/system/cpu/cpufreq"
        governors = ("powersave", "powersave", "schedutil")
        return {policies / f"policy{n}/scaling_governor": governor for n, governor in enumerate(governors)}

    def file(self, name: str) -> Path:
        path = SETTINGS[name].files[0] if name in SETTINGS else f"/proc/sys/{name.replace('.', '/')}"
        return Path(f"{self.folder}{path.replace('DEVICE', '/sys/devices/sda/queue')}")

    def value(self, name: str) -> str:
        return self.file(name).read_text().strip()

    def write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def command(self, *words: str) -> list[str]:
        return ["/bin/sh", str(self.folder / "helper"), *words]

    def hold(self, *settings: str, device: str = DEVICE, seconds: int = 60) -> list[str]:
        """Return what a helper prints whose standard input has ended before it began to wait."""
        words = self.command("hold", str(VERSION), device, str(seconds), *settings)
        return subprocess.run(words, input="", capture_output=True, text=True, check=False).stdout.splitlines()

    def begin(self, *settings: str, device: str = DEVICE, seconds: int = 60) -> subprocess.Popen[str]:
        """Return a helper that holds these settings, once it says so."""
        words = self.command("hold", str(VERSION), device, str(seconds), *settings)
        helper = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert helper.stdout is not None
        while line := helper.stdout.readline():
            if line == "held\n":
                return helper
        raise AssertionError("the helper did not get so far")

    def restore(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command("restore", str(VERSION)), capture_output=True, text=True, check=False)


class RootHelper:
    """The helper as root's on this machine, with a state of its own, and how an account comes to it.

    By sudo where it is installed; otherwise by a copy of the shell that runs as root and that the account's group alone
    may start. Both are gone after `remove`.
    """

    def __init__(self, folder: Path, username: str) -> None:
        self.folder, self.state = folder, folder / "state"
        self.program = folder / "helper"
        folder.mkdir(mode=0o755)
        self.program.write_text(helper_text(folder=str(self.state)))
        self.program.chmod(0o755)
        self.rule = Path("/etc/sudoers.d") / folder.name
        if shutil.which("sudo"):
            self.rule.write_text(f"{username} ALL=(root) NOPASSWD: {self.program}\n")
            self.rule.chmod(0o440)
            self.command = f"sudo -n {self.program}"
        else:
            shell = Path(shutil.copy("/bin/sh", folder / "root-shell"))
            os.chown(shell, 0, pwd.getpwnam(username).pw_gid)
            shell.chmod(0o4750)
            self.command = f"{shell} -p {self.program}"

    def restore(self) -> int:
        return subprocess.run(["/bin/sh", self.program, "restore", str(VERSION)], check=False).returncode

    def kill(self) -> None:
        """Kill whoever holds settings by it, as a machine without memory does: nothing is put back by them."""
        words = f"{self.program}\0hold".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if words in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def remove(self) -> None:
        self.rule.unlink(missing_ok=True)
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def settings_guarded(*names: str) -> Iterator[dict[str, str]]:
    """Give the values of settings of this machine, one test at a time, and write them back whatever happens.

    They stand in the lock's file meanwhile: the next who takes it writes back what a killed session did not.
    """
    with Path("/run/benchhub-tests.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _write_back(lock)
        values = {name: value(name) for name in names}
        lock.write(json.dumps(values))
        lock.flush()
        try:
            yield values
        finally:
            _write_back(lock)


def _write_back(lock: IO[str]) -> None:
    lock.seek(0)
    for name, before in json.loads(lock.read() or "{}").items():
        Path(SETTINGS[name].files[0]).write_text(before)
    lock.truncate(0)


def value(name: str) -> str:
    """Return a setting of this machine as it is now."""
    text = Path(SETTINGS[name].files[0]).read_text().strip()
    return text.partition("[")[2].partition("]")[0] or text
