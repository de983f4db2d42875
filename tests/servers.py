"""Servers for the tests: each starts when the first test asks for it and is stopped at the end of the session."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, proc, programs
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import MARKER, Processes
from benchhub.embedded.sshd import SshTarget
from tests import places

CLONE = Path(__file__).resolve().parent.parent
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time: accounts and programs are made where they are missing."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Target:
    """A host that can be logged in to: pin `host_key`, offer `private_key` (OpenSSH format)."""

    address: str
    port: int
    username: str
    host_key: str
    private_key: str
    work_directory: Path


@pytest.fixture(scope="session")
def account() -> Account:
    """Return the account that runs the servers: the present user, or as root a user made for it."""
    with alone():
        return accounts.for_clone(CLONE)


@pytest.fixture(scope="session")
def server_folder(account: Account) -> Iterator[Path]:
    """A folder that the account's user can use, unlike pytest's own when root runs the tests."""
    places.reap(places.SERVERS, places.end_servers)
    with places.held(places.SERVERS) as folder:
        account.own(folder)
        yield folder


@pytest.fixture(scope="session")
def processes(server_folder: Path) -> Iterator[Processes]:
    supervisor = Processes(server_folder, marker=server_folder.name)
    yield supervisor
    supervisor.stop_all()
    proc.kill_marked(MARKER, f"{supervisor.marker}-target")
    supervisor.kill_marked()


@pytest.fixture(scope="session")
def warehouse_cluster(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("warehouse", 16, request, {"fsync": "off", "full_page_writes": "off"})


@pytest.fixture(scope="session")
def broker_url(request: pytest.FixtureRequest) -> str:
    """redis://... of a broker of the tests' own, or BROKER_URL."""
    if "BROKER_URL" in os.environ:
        return os.environ["BROKER_URL"]
    processes, folder, account = _place(request)
    broker = Broker(folder / "broker", ports.free_port(), secrets.token_urlsafe(), account)
    with alone():
        broker.start(processes)
    return broker.url


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Target:
    """An SSH daemon (OpenSSH where it is installed) and a key pair that may log in."""
    processes, folder, account = _place(request)
    sshd = SshTarget(folder / "target", ports.free_port(), account, marker=f"{processes.marker}-target")
    sshd.create()
    private_key, public_key = new_key_pair()
    sshd.authorize(public_key)
    sshd.start(processes)
    return Target("127.0.0.1", sshd.port, sshd.username, sshd.host_key, private_key, sshd.work_directory)


@pytest.fixture(scope="session")
def cluster16(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("cluster16", 16, request)


@pytest.fixture(scope="session")
def cluster18(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("cluster18", 18, request)


@pytest.fixture(scope="session")
def cluster15(request: pytest.FixtureRequest) -> Cluster:
    if not (DEBIAN_15 / "initdb").exists():
        pytest.skip(f"PostgreSQL 15 is not installed: {DEBIAN_15} does not exist")
    return new_cluster("cluster15", 15, request)


def new_cluster(
    name: str, major: int, request: pytest.FixtureRequest, settings: Mapping[str, str] | None = None
) -> Cluster:
    """A running cluster of the session, with its database `benchhub` and the superuser of that name.

    A warehouse that only the tests fill need not survive a power cut: emptying its tables waits for no disk.
    """
    processes, folder, account = _place(request)
    with alone():
        bin_directory = DEBIAN_15 if major == 15 else programs.builds(account)[major]
    port = ports.free_port()
    cluster = Cluster(name, folder / name, bin_directory, port, account, settings=settings or {}, is_scratch=True)
    cluster.create(processes)
    cluster.start(processes)
    return cluster


def new_key_pair() -> tuple[str, str]:
    """A private key in OpenSSH format and its line for authorized_keys."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode()


def _place(request: pytest.FixtureRequest) -> tuple[Processes, Path, Account]:
    value: Any = request.getfixturevalue
    return value("processes"), value("server_folder"), value("account")
