"""An SSH daemon for machines without OpenSSH: `python ssh_server.py --port ...` serves until it is ended.

It behaves as an unprivileged sshd does: one user, public keys only, each command by that user's /bin/sh in a
session of its own, which goes on when the connection breaks. Started as root it becomes that user before it
listens.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures.thread  # noqa: F401  # asyncio would look for it when the Python is out of reach
import contextlib
import encodings.idna  # noqa: F401  # likewise
import os
import pwd
import signal
from pathlib import Path

import asyncssh


class OneUser(asyncssh.SSHServer):
    def __init__(self, username: str, authorized_keys: Path) -> None:
        self._username = username
        self._authorized_keys = authorized_keys

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        """Read the keys anew for each login; a user other than ours gets none, so that no key fits."""
        if username == self._username and self._authorized_keys.read_text().strip():
            self._connection.set_authorized_keys(str(self._authorized_keys))
        return True

    def public_key_auth_supported(self) -> bool:
        return True


async def serve(arguments: argparse.Namespace) -> None:
    user = pwd.getpwnam(arguments.user)
    if os.geteuid() != user.pw_uid:
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        **{"USER": arguments.user, "LOGNAME": arguments.user, "SHELL": "/bin/sh"},
        **dict(pair.split("=", 1) for pair in arguments.environment),
    }
    await asyncssh.listen(
        "127.0.0.1",
        arguments.port,
        server_factory=lambda: OneUser(arguments.user, arguments.authorized_keys),
        server_host_keys=[str(arguments.host_key)],
        process_factory=lambda process: run_command(process, arguments.folder, environment),
        sftp_factory=True,
        encoding=None,
        allow_pty=False,
    )
    await asyncio.Event().wait()


async def run_command(process: asyncssh.SSHServerProcess[bytes], folder: Path, environment: dict[str, str]) -> None:
    """Run what the client asked for; its end, not the client's, is the end of it."""
    child = await asyncio.create_subprocess_exec(
        *("/bin/sh", *(["-c", process.command] if process.command else [])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    assert child.stdout and child.stderr
    await process.redirect(stdin=child.stdin)
    await asyncio.gather(carry(child.stdout, process.stdout), carry(child.stderr, process.stderr))
    exit_code = await child.wait()
    if exit_code < 0:
        process.exit_with_signal(signal.Signals(-exit_code).name.removeprefix("SIG"))
    else:
        process.exit(exit_code)


async def carry(output: asyncio.StreamReader, client: asyncssh.SSHWriter[bytes]) -> None:
    """Carry output to its end; when the client has gone, to nowhere, so that the command is not held up."""
    while chunk := await output.read(65_536):
        if not client.is_closing():
            with contextlib.suppress(ConnectionError):
                client.write(chunk)
                await client.drain()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--host-key", type=Path, required=True)
    parser.add_argument("--authorized-keys", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--environment", nargs="*", default=[])
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
