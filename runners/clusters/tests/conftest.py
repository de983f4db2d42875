from __future__ import annotations

import pytest

from benchhub.embedded import ports
from benchhub.embedded.sshd import SshTarget
from runners.clusters.testing import Driver
from runners.keys import make_key_pair
from runners.ssh import Target


@pytest.fixture(scope="session")
def daemon(processes, server_folder, account):
    marker = f"{processes.marker}-target"
    daemon = SshTarget(server_folder / "own", ports.free_port(), account, marker, "sshd-own")
    daemon.create()
    return daemon


@pytest.fixture(scope="session")
def target(daemon, processes):
    pair = make_key_pair("own clusters")
    daemon.authorize(pair.public_key)
    daemon.start(processes)
    return Target("127.0.0.1", daemon.port, daemon.username, pair.private_key, daemon.host_key)


@pytest.fixture
def driver(connections, target, daemon, cluster16):
    return Driver(connections, target, daemon, cluster16)
