"""The target of the demonstration and the tests: an SSH daemon on loopback that logs in its own user only.

OpenSSH where it is installed, otherwise a server made of asyncssh (`ssh_server.py`); both are used alike.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from benchhub.embedded import ports
from benchhub.embedded.account import Account
from benchhub.embedded.processes import MARKER, Child, Command, Processes

FORCE_ASYNCSSH = "BENCHHUB_SSHD"  # =asyncssh: do as if OpenSSH were not installed


@dataclass(frozen=True)
class SshTarget:
    """`folder` takes keys and configuration, and `work`, the home of who logs in.

    Sessions carry the `marker` in their environment: by it the jobs are found that outlive their session.
    """

    folder: Path
    port: int
    account: Account
    marker: str
    name: str = "sshd"

    @property
    def username(self) -> str:
        return self.account.username

    @property
    def work_directory(self) -> Path:
        return self.folder / "work"

    @property
    def authorized_keys(self) -> Path:
        return self.folder / "authorized_keys"

    @property
    def host_key(self) -> str:
        """Return the public host key to pin: 'ssh-ed25519 AAAA...'."""
        return (self.folder / "host_key.pub").read_text().strip()

    @property
    def is_openssh(self) -> bool:
        return self._openssh() is not None

    def authorize(self, public_key_line: str) -> None:
        """Let the owner of this key log in."""
        with self.authorized_keys.open("a") as stream:
            stream.write(public_key_line.strip() + "\n")

    def create(self) -> None:
        """Make folders and host key unless they are there: a key once pinned stays."""
        self.account.make_folder(self.folder)
        self.account.make_folder(self.work_directory)
        if not (self.folder / "host_key.pub").exists():
            private, public = _new_key_pair()
            self.account.write(self.folder / "host_key", private)
            self.account.write(self.folder / "host_key.pub", public)
        if not self.authorized_keys.exists():
            self.account.write(self.authorized_keys, "")

    def start(self, processes: Processes) -> Child:
        """Start the daemon and wait until it greets. Raises ChildError."""
        self.create()
        program = self._openssh()
        command = self._asyncssh_command() if program is None else self._openssh_command(program)
        # The asyncssh server may have to read a Python that only root can read: it changes its user itself.
        account = None if program is None else self.account
        child = processes.start(self.name, command, folder=self.folder, account=account)
        processes.wait_until(lambda: ports.greeting(self.port).startswith(b"SSH-2.0-"), child, patience_s=120)
        return child

    def session_environment(self) -> dict[str, str]:
        return {MARKER: self.marker, "HOME": str(self.work_directory)}

    def _openssh(self) -> str | None:
        shell = Path(pwd.getpwuid(self.account.uid).pw_shell)
        if os.environ.get(FORCE_ASYNCSSH) == "asyncssh" or shell.name in ("nologin", "false"):
            return None
        return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

    def _openssh_command(self, program: str) -> Command:
        configuration = self.account.write(self.folder / "sshd_config", self._openssh_configuration())
        return [str(Path(program).absolute()), "-D", "-e", "-f", configuration]

    def _openssh_configuration(self) -> str:
        variables = " ".join(f'"{name}={value}"' for name, value in self.session_environment().items())
        keys = str(self.authorized_keys).replace("%", "%%")
        return (
            f"ListenAddress 127.0.0.1:{self.port}\nAllowUsers {self.username}\n"
            f'HostKey "{self.folder / "host_key"}"\nAuthorizedKeysFile "{keys}"\nPidFile none\n'
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"PrintMotd no\nPrintLastLog no\nX11Forwarding no\nSetEnv {variables}\n"
            "Subsystem sftp internal-sftp\nMaxStartups 300:30:600\nMaxSessions 300\n"
        )

    def _asyncssh_command(self) -> Command:
        options = {
            "--port": str(self.port),
            "--user": self.username,
            "--host-key": str(self.folder / "host_key"),
            "--authorized-keys": str(self.authorized_keys),
            "--folder": str(self.work_directory),
        }
        variables = [f"{name}={value}" for name, value in self.session_environment().items()]
        script = str(Path(__file__).with_name("ssh_server.py"))
        words = [word for option in options.items() for word in option]
        return [sys.executable, "-P", script, *words, "--environment", *variables]


def _new_key_pair() -> tuple[str, str]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode() + "\n"
