"""SSH to targets over kept connections: one command in, its verbatim output back, or an error that says what to do.

Nothing is read from ~/.ssh, no agent is asked and no password is ever sent. A host is known by one pinned key.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import asyncssh

from runners.frame import Command, begin_mark, converse, end_mark, framed

# OpenSSH's defaults: MaxStartups begins to drop a daemon's unauthenticated connections at 10, MaxSessions is 10.
MAX_UNAUTHENTICATED = 10
MAX_SESSIONS = 10
CONNECT_TIMEOUT_S = 15.0
# A line that has been dead for 20 s is given up: whoever has to end something there waits for no more than that.
KEEPALIVE_INTERVAL_S = 5.0
KEEPALIVE_COUNT_MAX = 3
CONNECT_TRIES = 7
CONNECT_RETRY_S = 0.2
SESSION_RETRY_S = 0.2
TAIL_BYTES = 4096
LONGEST_SENTENCE = 1000
# No honest answer is larger unless its command says so: a target that sends more is cut off, or it would fill memory.
MOST_BYTES = 4 << 20

HOST_KEY_ALGORITHMS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
NO_SHELL = "The account's login shell and what it reads at the start must let BenchHub start /bin/sh."
# The channel was refused before anything was executed, so asking again is safe.
SESSION_REFUSED = (asyncssh.OPEN_CONNECT_FAILED, asyncssh.OPEN_RESOURCE_SHORTAGE)


@dataclass(frozen=True, slots=True)
class Target:
    """Where and as whom to log in. `host_key` is the pinned public key line, 'ssh-ed25519 AAAA...'."""

    address: str
    port: int
    username: str
    private_key: str = field(repr=False)
    host_key: str

    @property
    def place(self) -> str:
        return f"{self.username}@{self.address}:{self.port}"


class Unreachable(Exception):  # noqa: N818  # how things stand, and no error of ours
    """No connection, or it was lost. Says nothing about what goes on at the target, which `target` names if known."""

    target: Target | None = None

    def __init__(self, sentence: str) -> None:
        super().__init__(storable_sentence(sentence))


class HostKeyChanged(Exception):  # noqa: N818  # likewise
    """The host offered another key than the pinned one; no credential and no command was sent."""

    def __init__(self, target: Target, offered: str) -> None:
        self.target = target
        self.offered = offered
        self.offered_fingerprint = fingerprint(offered)
        super().__init__(
            f"The host key of {target.address}:{target.port} is {self.offered_fingerprint}, but "
            f"{fingerprint(target.host_key)} was approved. Nothing was sent. If the host was reinstalled, compare "
            "the fingerprint at its console and approve the new key; otherwise somebody may be in between."
        )


class RemoteFailure(Exception):  # noqa: N818  # likewise
    """The target answered, but the command failed. `stdout` and `stderr` hold the last bytes of each."""

    def __init__(self, sentence: str, returncode: int | None, stdout: bytes = b"", stderr: bytes = b"") -> None:
        self.returncode = returncode
        self.stdout = stdout[-TAIL_BYTES:]
        self.stderr = stderr[-TAIL_BYTES:]
        super().__init__(storable_sentence(sentence))


def storable_sentence(sentence: str) -> str:
    """Return a sentence as it can be stored and shown: a target may have written part of it."""
    text = "".join(character if character.isprintable() else " " for character in sentence[: LONGEST_SENTENCE + 1])
    return text if len(text) <= LONGEST_SENTENCE else f"{text[:LONGEST_SENTENCE]}..."


def fingerprint(key_line: str) -> str:
    """Return 'SHA256:...' of a public key line, as ssh-keygen -l prints it. Raises ValueError if it is not a key."""
    return asyncssh.import_public_key(key_line).get_fingerprint()


async def offered_host_key(address: str, port: int) -> str:
    """Return the public key line that a host offers, for a person to approve. Logs in nowhere. Raises Unreachable."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            key = await asyncssh.get_server_host_key(
                address, port, server_host_key_algs=HOST_KEY_ALGORITHMS, config=None
            )
    except (OSError, asyncssh.Error) as error:
        raise Unreachable(_sentence(f"{address}:{port}", error)) from error
    if key is None:
        raise Unreachable(f"{address}:{port} offered no host key; check that an SSH server listens there.")
    return _line(key)


class _Client(asyncssh.SSHClient):
    """A client that remembers and refuses each key that asyncssh asks about, which is never the pinned one."""

    def __init__(self) -> None:
        self.offered: str | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        del host, addr, port
        self.offered = _line(key)
        return False


class _Link:
    """The one kept connection to a target."""

    def __init__(self) -> None:
        self.connecting = asyncio.Lock()
        self.sessions = asyncio.Semaphore(MAX_SESSIONS)
        self.connection: asyncssh.SSHClientConnection | None = None
        self.giving_way: set[asyncssh.SSHClientProcess[bytes]] = set()
        self.commands = 0
        self.is_dropped = False

    def make_way(self) -> None:
        """End the commands that give way: where the host takes few sessions, they would keep others out for hours."""
        while self.giving_way:
            process = self.giving_way.pop()
            process.terminate()
            process.close()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Count a command; the last of a connection that was dropped closes it."""
        self.commands += 1
        try:
            yield
        finally:
            self.commands -= 1
            if self.is_dropped and not self.commands and self.connection:
                self.connection.close()


class Connections:
    """Kept connections, one per target, made when first needed and made again when dead. Belongs to one loop."""

    def __init__(self) -> None:
        self._links: dict[Target, _Link] = {}
        self._unauthenticated: defaultdict[tuple[str, int], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MAX_UNAUTHENTICATED)
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(
        self,
        target: Target,
        command: str,
        *,
        input: bytes = b"",
        timeout_s: float,
        most_bytes: int = MOST_BYTES,
        on_line: Callable[[bytes], None] | None = None,
        gives_way: bool = False,
    ) -> bytes:
        """Run `command`, POSIX sh text, and return its standard output exactly as written.

        Noise of login shells is cut off. `input` becomes its standard input. `on_line` is given each line as it comes,
        noise included. Of either stream `most_bytes` are read at the most; who sends more has failed. The time-out
        covers connecting and waiting for a free session; the command itself may go on at the target after it. One
        that `gives_way` is ended (Unreachable) when the host has no session left for another. Raises HostKeyChanged,
        Unreachable or RemoteFailure.
        """
        self._check_loop()
        try:
            return await self._run(target, Command(command, input, most_bytes, on_line, gives_way), timeout_s)
        except Unreachable as error:
            error.target = target
            raise

    async def _run(self, target: Target, command: Command, timeout_s: float) -> bytes:
        link = self._links.setdefault(target, _Link())
        try:
            with link.in_use():
                async with asyncio.timeout(timeout_s), link.sessions:
                    return await self._exchange(target, link, command)
        except TimeoutError as error:
            raise Unreachable(
                f"{target.place} did not answer within {timeout_s:g} s; look at its load and the network."
            ) from error
        except (OSError, asyncssh.Error) as error:
            raise Unreachable(_sentence(target.place, error)) from error

    def drop(self, target: Target) -> None:
        """Have the next command log in anew: what an account may do, its limits and groups, is that of its log-in.

        Commands under way end on the connection that they have.
        """
        if link := self._links.pop(target, None):
            link.is_dropped = True
            with link.in_use():
                pass

    async def close(self) -> None:
        """Close every connection; jobs on the targets go on."""
        connections = [link.connection for link in self._links.values() if link.connection]
        self._links.clear()
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("Connections belong to the event loop that first used them; make another one.")
        self._loop = loop

    async def _exchange(self, target: Target, link: _Link, command: Command) -> bytes:
        nonce = secrets.token_hex(12)
        async with self._session(target, link, framed(command.text, nonce), command.gives_way) as process:
            try:
                stdout, stderr = await converse(process, command, begin_mark(nonce))
            except OverflowError as error:
                raise RemoteFailure(f"{target.place} {error}", None) from error
            if command.gives_way and process not in link.giving_way:
                raise Unreachable(f"A command on {target.place} gave way to another: the host allows few sessions.")
        if process.exit_status is None and process.exit_signal is None:
            raise Unreachable(f"The connection to {target.place} was lost during a command; it is tried again.")
        if begin_mark(nonce) not in stdout and link.connection:
            # What the account may do was settled when it logged in; mended since, it must be asked anew.
            link.connection.close()
        return _unframed(target, nonce, stdout, stderr)

    @asynccontextmanager
    async def _session(
        self, target: Target, link: _Link, command: str, gives_way: bool
    ) -> AsyncIterator[asyncssh.SSHClientProcess[bytes]]:
        process = await self._open_session(target, link, command)
        if gives_way:
            link.giving_way.add(process)
        try:
            yield process
        finally:
            link.giving_way.discard(process)
            process.close()

    async def _open_session(self, target: Target, link: _Link, command: str) -> asyncssh.SSHClientProcess[bytes]:
        while True:
            connection = await self._connected(target, link)
            try:
                return await connection.create_process(command, encoding=None)
            except asyncssh.ChannelOpenError as error:
                if error.code not in SESSION_REFUSED:
                    raise
            link.make_way()
            await asyncio.sleep(SESSION_RETRY_S)

    async def _connected(self, target: Target, link: _Link) -> asyncssh.SSHClientConnection:
        async with link.connecting:
            if link.connection is None or link.connection.is_closed():
                link.connection = await self._connect_patiently(target)
            return link.connection

    async def _connect_patiently(self, target: Target) -> asyncssh.SSHClientConnection:
        """Try again where sshd hung up before the log-in, as MaxStartups makes it do; never after a refusal."""
        for attempt in range(1, CONNECT_TRIES):
            try:
                return await self._connect(target)
            except (asyncssh.ConnectionLost, ConnectionResetError):
                longest_s = CONNECT_RETRY_S * 2**attempt
                await asyncio.sleep(longest_s * (0.5 + secrets.randbelow(500) / 1000))
        return await self._connect(target)

    async def _connect(self, target: Target) -> asyncssh.SSHClientConnection:
        client = _Client()
        async with self._unauthenticated[target.address, target.port]:
            try:
                return await _log_in(target, client)
            except asyncssh.HostKeyNotVerifiable as error:
                if client.offered is None:
                    raise
                raise HostKeyChanged(target, client.offered) from error


async def _log_in(target: Target, client: _Client) -> asyncssh.SSHClientConnection:
    try:
        private = asyncssh.import_private_key(target.private_key)
        pinned = asyncssh.import_public_key(target.host_key)
    except asyncssh.KeyImportError as error:
        raise Unreachable(f"A key stored for {target.place} cannot be read: {error}. Make a new pair.") from error
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await asyncssh.connect(
                target.address,
                target.port,
                username=target.username,
                client_factory=lambda: client,
                client_keys=[private],
                known_hosts=([pinned], [], []),
                server_host_key_algs=_algorithms(pinned),
                preferred_auth="publickey",
                agent_path=None,
                config=None,
                compression_algs=["none"],
                keepalive_interval=KEEPALIVE_INTERVAL_S,
                keepalive_count_max=KEEPALIVE_COUNT_MAX,
            )
    except asyncssh.PermissionDenied as error:
        raise Unreachable(_refused_sentence(target, private)) from error
    except TimeoutError as error:
        raise Unreachable(_sentence(target.place, error)) from error


def _algorithms(pinned: asyncssh.SSHKey) -> list[str]:
    """Return the algorithms, the pinned key's first; the others make a host without it show which key it has now."""
    own = [algorithm.decode() for algorithm in pinned.sig_algorithms]
    own = [name for name in own if name in HOST_KEY_ALGORITHMS]
    return own + [name for name in HOST_KEY_ALGORITHMS if name not in own]


def _line(key: asyncssh.SSHKey) -> str:
    return " ".join(key.export_public_key("openssh").decode().split()[:2])


def _refused_sentence(target: Target, private: asyncssh.SSHKey) -> str:
    return (
        f"{target.place} refused the log-in (authentication failed): append BenchHub's public key to "
        f"~{target.username}/.ssh/authorized_keys there: {_line(private.convert_to_public())}"
    )


def _sentence(place: str, error: Exception) -> str:
    match error:
        case ConnectionRefusedError():
            return f"{place} refused the connection: check the port, and that sshd runs there."
        case TimeoutError():
            return f"{place} timed out: check the address, the firewall and that the machine is up."
        case asyncssh.ConnectionLost() | ConnectionResetError() | BrokenPipeError():
            return f"The connection to {place} was lost: {error}."
        case _:
            return f"{place} cannot be reached: {error}."


def _unframed(target: Target, nonce: str, stdout: bytes, stderr: bytes) -> bytes:
    _, begun, rest = stdout.partition(begin_mark(nonce))
    payload, ended, status = rest.rpartition(end_mark(nonce))
    if not begun:
        lines = [_last_line(stream) for stream in (stderr, stdout) if stream.strip()]
        sentence = f"{target.place} ran no command: {'; '.join(lines).rstrip('.') or 'it said nothing'}. {NO_SHELL}"
        raise RemoteFailure(sentence, None, stdout, stderr)
    if not ended:
        sentence = f"A command on {target.place} ended before it was done: {_last_line(stderr or rest)}."
        raise RemoteFailure(sentence, None, rest, stderr)
    if not re.fullmatch(rb"[0-9]{1,3}\s.*", status[:200], re.DOTALL):
        raise RemoteFailure(f"{target.place} sent no exit code behind its answer.", None, payload, stderr)
    if returncode := int(status.split()[0]):
        sentence = f"A command on {target.place} failed with exit code {returncode}: {_last_line(stderr)}"
        raise RemoteFailure(sentence, returncode, payload, stderr)
    return payload


def _last_line(text: bytes) -> str:
    lines = text.replace(b"\0", b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
