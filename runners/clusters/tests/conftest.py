from __future__ import annotations

import secrets

import pytest

from benchhub.embedded import ports
from benchhub.embedded.sshd import SshTarget
from runners.clusters.testing import Driver
from runners.keys import make_key_pair
from runners.os_settings import script
from runners.os_settings.testing import NAMES, RootHelper, settings_guarded
from runners.ssh import Target
from tests import places


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


@pytest.fixture
def before():
    """Return what the machine's settings are, once nobody else's test changes them."""
    with settings_guarded(*NAMES) as values:
        yield values


@pytest.fixture
def helper(daemon, monkeypatch, before):
    assert before
    with places.held(places.HELPERS) as folder:
        folder.chmod(0o755)
        made = RootHelper(folder / f"bhos{secrets.token_hex(4)}", daemon.username)
        monkeypatch.setattr(script, "COMMAND", made.command)
        monkeypatch.setattr(script, "STATE_FOLDER", str(made.state))
        yield made
        made.restore()
        made.remove()
