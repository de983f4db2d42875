"""State that the demonstration keeps between starts: secrets, ports, and who runs it now."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchhub.embedded import EmbeddedError, ports, proc
from benchhub.embedded.account import Account

MEGABYTE = 1_000_000
FIRST_START_BYTES = 1_200 * MEGABYTE
NEXT_START_BYTES = 300 * MEGABYTE
WEB_PORT = 8000


class AlreadyRunningError(Exception):
    """Another supervisor of this clone runs; `process` is None when it has not said yet who it is."""

    def __init__(self, process: proc.Identity | None, url: str) -> None:
        self.process = process
        self.url = url
        number = f" (process {process.pid})" if process else ""
        where = f"runs already{number} at {url}" if url else f"is just starting{number}"
        super().__init__(f"The demonstration of this clone {where}: `make stop` ends it.")


@dataclass(frozen=True)
class Secrets:
    secret_key: str
    field_keys: str
    broker_password: str
    demo_password: str


def load_secrets(account: Account) -> Secrets:
    """Return the secrets of this clone, made at the first start; they lie beside the data that they encrypt."""
    file = account.home / "secrets.json"
    if not file.exists():
        write_private(file, json.dumps(asdict(_new_secrets())))
    try:
        return Secrets(**json.loads(file.read_text()))
    except (ValueError, TypeError):  # emptied by a power cut, or written by hand
        raise EmbeddedError(
            f"{file} cannot be read, and what the warehouse encrypted is lost without it: put the file back, "
            "or begin anew with `make clean`."
        ) from None


def choose_port(account: Account, name: str) -> int:
    """Return the port of the last start if it is free, else another one, which is remembered."""
    remembered = remembered_ports(account)
    port = remembered.get(name, 0)
    if not port or not ports.is_free(port):
        port = ports.free_port(remembered.values())
    _remember_port(account, name, port)
    return port


def web_listener(account: Account) -> socket.socket:
    """Listen on the web's port: that of the last start, or the first free one from 8000 on, easy to type.

    Held from the beginning: two demonstrations that start at once would both find 8000 free, and a minute later one of
    them would take the other's pages for its own.
    """
    listener = ports.listener(wished_web_port(account))
    _remember_port(account, "web", listener.getsockname()[1])
    return listener


def wished_web_port(account: Account) -> int:
    return remembered_ports(account).get("web", WEB_PORT)


def _remember_port(account: Account, name: str, port: int) -> None:
    remembered = remembered_ports(account)
    if remembered.get(name) != port:
        write_private(account.home / "ports.json", json.dumps({**remembered, name: port}))


def remembered_ports(account: Account) -> dict[str, int]:
    """Return the ports of the last start by name; empty before the first, or where they cannot be read."""
    try:
        return dict(json.loads((account.home / "ports.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def check_space(account: Account, is_first: bool) -> None:
    """Raise EmbeddedError when the disk cannot hold what is about to be written."""
    needed_bytes = FIRST_START_BYTES if is_first else NEXT_START_BYTES
    free_bytes = shutil.disk_usage(account.home).free
    if free_bytes < needed_bytes:
        raise EmbeddedError(
            f"The disk that holds {account.home} has {free_bytes // MEGABYTE} MB free, and the demonstration needs "
            f"{needed_bytes // MEGABYTE} MB: make room and start again."
        )


@contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Hold the clone's lock: one supervisor at a time. Raises AlreadyRunningError."""
    run = var / "run"
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (run / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(*_read_supervisor(run / "demo.json")) from None
        note_supervisor(var, "")
        try:
            yield
        finally:
            (run / "demo.json").unlink(missing_ok=True)


@contextmanager
def shared_environment(file: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Let commands in this clone use the demonstration while it runs, whoever may read the file."""
    write_private(file, json.dumps(environment))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def note_supervisor(var: Path, url: str) -> None:
    """Leave word of this process, and of its web pages once they are served, for the next `make demo`."""
    identity = proc.identify(os.getpid())
    note = {"identity": asdict(identity) if identity else None, "url": url}
    write_private(var / "run" / "demo.json", json.dumps(note))


def _read_supervisor(file: Path) -> tuple[proc.Identity | None, str]:
    try:
        note = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):  # it holds the lock but has not written its note yet
        return None, ""
    process = proc.Identity(**note["identity"])
    return (process, note["url"]) if proc.is_alive(process) else (None, "")


def _new_secrets() -> Secrets:
    return Secrets(
        secret_key=secrets.token_urlsafe(48),
        field_keys=base64.urlsafe_b64encode(os.urandom(32)).decode(),
        broker_password=secrets.token_urlsafe(24),
        demo_password=secrets.token_urlsafe(9),
    )


def write_private(file: Path, text: str) -> None:
    """Replace a file of mode 0600 as a whole, so that an interruption leaves the old one."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())  # or a power cut leaves the new name with nothing in it
    fresh.rename(file)
