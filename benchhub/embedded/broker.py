"""The message broker: a Valkey server from a wheel, on loopback, with a password, in memory only."""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchhub.embedded import EmbeddedError, programs
from benchhub.embedded.account import Account
from benchhub.embedded.processes import Child, Processes

PATIENCE_S = 5


@dataclass(frozen=True)
class Broker:
    """`folder` takes the configuration, where the password stands instead of on the command line."""

    folder: Path
    port: int
    password: str
    account: Account
    name: str = "broker"

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def start(self, processes: Processes) -> Child:
        """Start the server and wait until it answers. Raises ChildError."""
        self.account.make_folder(self.folder)
        configuration = self.account.write(self.folder / "valkey.conf", self._configuration())
        command = [programs.valkey_server(self.account), configuration]
        child = processes.start(self.name, command, folder=self.folder, account=self.account)
        processes.wait_until(self._answers, child, patience_s=20)
        return child

    def _configuration(self) -> str:
        # A process title would be written over the environment, by whose mark a server left behind is found.
        return (
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\n"
            'save ""\nappendonly no\nmaxmemory 64mb\nmaxmemory-policy noeviction\nio-threads 1\n'
            "set-proc-title no\n"
        )

    def _answers(self) -> bool:
        try:
            with closing(socket.create_connection(("127.0.0.1", self.port), timeout=2)) as connection:
                connection.sendall(f"AUTH {self.password}\r\n".encode())
                return connection.recv(64).startswith(b"+OK")
        except OSError:
            return False


def require(url: str) -> None:
    """Raise EmbeddedError, with a sentence, unless the broker at this address answers and takes the log-in."""
    import redis  # not above: `make stop` and `make clean` work before anything is installed

    place = _place(url)
    try:
        with closing(redis.Redis.from_url(url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)) as client:
            client.ping()
    except ValueError as error:
        raise EmbeddedError(f"BROKER_URL must read redis://:password@host:port/0: {_text(error)}.") from error
    except redis.AuthenticationError as error:
        raise EmbeddedError(f"The broker of BROKER_URL ({place}) refuses the log-in: {_text(error)}.") from error
    except redis.ResponseError as error:
        raise EmbeddedError(f"The broker of BROKER_URL ({place}) cannot be used: {_text(error)}.") from error
    except redis.RedisError as error:
        raise EmbeddedError(
            f"The broker of BROKER_URL ({place}) does not answer: {_text(error)}. Start it, or unset it."
        ) from error


def _place(url: str) -> str:
    """Return host and port of an address, without what else may stand in it: a password may be a parameter."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
    except ValueError:
        return "of no readable port"


def _text(error: Exception) -> str:
    return str(error).rstrip(".")
