"""A server that is not the run's own asks for the password, and gets none."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded.postgres import Cluster
from runners.conftest import fake_spec
from runners.contract import Endpoint
from runners.password_file import password_lines
from runners.script import leftover_script

SECRET = "canary-of-the-server"
ASKS_IN_CLEAR = b"R\x00\x00\x00\x08\x00\x00\x00\x03"
LONGEST_WAIT_S = 120


class Impostor:
    """Whoever poses as a PostgreSQL server and asks everybody for the password in clear text."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.heard = b""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(LONGEST_WAIT_S)
            connection.recv(1000)
            connection.sendall(ASKS_IN_CLEAR)
            self.heard = connection.recv(1000)

    def close(self) -> None:
        self.listener.close()
        self.thread.join(LONGEST_WAIT_S)


@pytest.fixture
def impostor() -> Iterator[Impostor]:
    server = Impostor()
    yield server
    server.close()


def connect(folder: Path, endpoint: Endpoint, text: str, bin_directory: str) -> str:
    """Ask the server what every cancelled attempt asks, with that password file; return the complaint."""
    file = folder / ".pgpass"
    file.write_text(text)
    file.chmod(0o600)
    script = leftover_script(replace(fake_spec(), endpoint=endpoint, bin_directory=bin_directory))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    return done.stderr


def test_a_server_that_asks_for_the_password_in_clear_text_gets_none(tmp_path, impostor, cluster18: Cluster):
    endpoint = Endpoint("network", "127.0.0.1", impostor.port, "bench", "bench")
    error = connect(tmp_path, endpoint, password_lines(endpoint, SECRET), str(cluster18.bin_directory))
    impostor.close()
    assert "cleartext password" in error
    assert SECRET.encode() not in impostor.heard


def test_the_password_of_one_server_is_not_offered_to_another(tmp_path, impostor, cluster15: Cluster):
    """Libpq before 16 has no setting against clear text: the file alone says whose the password is."""
    own = Endpoint("network", "127.0.0.1", impostor.port + 1, "bench", "bench")
    error = connect(
        tmp_path, replace(own, port=impostor.port), password_lines(own, SECRET), str(cluster15.bin_directory)
    )
    impostor.close()
    assert "no password supplied" in error
    assert SECRET.encode() not in impostor.heard


@pytest.mark.parametrize(
    ("endpoint", "lines"),
    [
        (Endpoint("network", "db.test", 5433, "bench", "ann"), "db.test:5433:bench:ann:s\n"),
        (Endpoint("network", "fd00::7", 5432, "a:b", "c\\d"), "fd00\\:\\:7:5432:a\\:b:c\\\\d:s\n"),
        (Endpoint("network", "db.test", 5432, "*", "*"), "db.test:5432:\\*:\\*:s\n"),
        (Endpoint("socket", "/run/pg", 5432, "d", "u"), "/run/pg:5432:d:u:s\nlocalhost:5432:d:u:s\n"),
        (Endpoint("socket", "", 5432, "d", "u"), "localhost:5432:d:u:s\n"),
    ],
)
def test_every_part_of_a_server_stands_in_the_file(endpoint, lines):
    assert password_lines(endpoint, "s") == lines


def test_a_name_of_two_lines_makes_no_second_entry():
    with pytest.raises(ValueError, match="one line"):
        password_lines(Endpoint("network", "db.test", 5432, "d\n*:*:*:*:x", "u"), SECRET)
