"""Serve BenchHub: python -m benchhub.serve --listen 127.0.0.1:8000 --processes 2, or --fd of a socket that listens."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import socket
import sys
from types import FrameType

PATIENCE_S = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchhub.serve", description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--listen", help="address and port: 0.0.0.0:8000, or [::]:8000")
    place.add_argument("--fd", type=int, help="the descriptor of a socket that listens already")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    listener = socket.socket(fileno=options.fd) if options.fd is not None else _listening(options.listen)
    signal.signal(signal.SIGTERM, _stop)
    if options.processes == 1:
        return serve(listener)
    return _supervise(listener, options.processes)


def serve(listener: socket.socket) -> int:
    """Serve in this process until it is told to stop; what is being answered then is answered first."""
    from benchhub.wsgi import application

    from .gate import may_send
    from .server import server

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    web = server(application, listener, may_send)
    # What is there once Django is loaded stays: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    web.run()
    return 0


def _listening(text: str) -> socket.socket:
    host, _, port = text.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=2048)


def _supervise(listener: socket.socket, count: int) -> int:
    """Serve in so many processes; one that ends is started again, and all end with this one."""
    children = {_start(listener) for _ in range(count)}
    try:
        while True:
            pid, _ = os.wait()
            children.discard(pid)
            children.add(_start(listener))
    except SystemExit:
        for pid in children:
            os.kill(pid, signal.SIGTERM)
        for pid in children:
            os.waitpid(pid, 0)
    return 0


def _start(listener: socket.socket) -> int:
    pid = os.fork()
    if pid:
        return pid
    sys.exit(serve(listener))


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
