"""Free TCP ports on loopback."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from contextlib import closing

from benchhub.embedded import EmbeddedError

# Below 32768 the kernel hands out no port for outgoing connections, so a free one stays free until it is used.
LOWEST, HIGHEST = 10_240, 32_000
# Apart from the seed that tests set alike in all their processes: these would ask for the same ports.
UNSEEDED = random.SystemRandom()


def is_free(port: int) -> bool:
    with closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port(promised: Collection[int] = ()) -> int:
    """Return a free port at random, so that two clones that start at once hardly meet; none of `promised`."""
    for _ in range(200):
        port = UNSEEDED.randint(LOWEST, HIGHEST)
        if port not in promised and is_free(port):
            return port
    raise EmbeddedError(f"No free TCP port was found on 127.0.0.1 between {LOWEST} and {HIGHEST}.")


def listener(first: int) -> socket.socket:
    """Return a socket that listens on `first`, or on the next free port above: it is ours from now on."""
    for port in range(first, first + 200):
        free = socket.socket()
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", port))
            free.listen()
        except OSError:
            free.close()
        else:
            return free
    raise EmbeddedError(f"No free TCP port was found on 127.0.0.1 between {first} and {first + 199}.")


def greeting(port: int, wait_s: float = 2.0) -> bytes:
    """Return what a server on `port` sends first; empty when nothing listens."""
    try:
        with closing(socket.create_connection(("127.0.0.1", port), timeout=wait_s)) as connection:
            return connection.recv(64)
    except OSError:
        return b""
