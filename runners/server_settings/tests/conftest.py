from __future__ import annotations

import os
import signal

import pytest

from benchhub.embedded import ports
from benchhub.embedded.sshd import SshTarget
from runners.keys import make_key_pair
from runners.server_settings.testing import Driver
from runners.ssh import Target
from tests.servers import new_cluster


@pytest.fixture(scope="session")
def daemon(processes, server_folder, account):
    marker = f"{processes.marker}-target"
    daemon = SshTarget(server_folder / "settings", ports.free_port(), account, marker, "sshd-settings")
    daemon.create()
    return daemon


@pytest.fixture(scope="session")
def target(daemon, processes):
    pair = make_key_pair("somebody's servers")
    daemon.authorize(pair.public_key)
    daemon.start(processes)
    return Target("127.0.0.1", daemon.port, daemon.username, pair.private_key, daemon.host_key)


@pytest.fixture(scope="package")
def server(request):
    """Somebody's server, which its account starts anew; stopped by its own number at the end."""
    cluster = new_cluster("somebodys", 16, request)
    yield cluster
    [number, *_] = (cluster.data_directory / "postmaster.pid").read_text().split()
    os.kill(int(number), signal.SIGQUIT)


@pytest.fixture
def driver(connections, target, daemon, server):
    driver = Driver(connections, target, daemon, server)
    yield driver
    driver.ask("DROP ROLE IF EXISTS benchhub_keeper")  # of a test that failed: others do not wait for it
    driver.ask("ALTER SYSTEM RESET ALL")
    driver.ask("SELECT pg_reload_conf()")


@pytest.fixture
def restarting(connections, target, daemon, server):
    """The same server, whose owner has written down how it is restarted."""
    words = ("pg_ctl", "-D", "data", "-m", "fast", "-w", "-l", "log", "restart")
    places = {"pg_ctl": server.bin_directory / "pg_ctl", "data": server.data_directory, "log": server.folder / "log"}
    return Driver(connections, target, daemon, server, tuple(str(places.get(word, word)) for word in words))
