"""The web server: waitress, which reads requests and sends answers on its own and gives whole requests to threads.

A slow connection costs it a socket and no thread. Beside what waitress bounds, a request has a time to be whole, and
when connections run out, those that ask for nothing make room.
"""

from __future__ import annotations

import resource
import socket
import time
from contextlib import suppress
from typing import Any, cast

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask

from .request import Gate, Request

THREADS = 8
IDLE_S = 15
CONNECTIONS = 4000
FILES_BESIDE = 200  # of a process beside its connections
FULL, ROOMY = 0.8, 0.6
OPTIONS = {
    "threads": THREADS,
    "channel_timeout": IDLE_S,
    "cleanup_interval": 1,
    "asyncore_use_poll": True,
    "backlog": 2048,
    "max_request_header_size": 32 * 1024,
    "max_request_body_size": 33 * 2**20,
    # Beyond these, what waits lies in files and not in memory.
    "inbuf_overflow": 64 * 1024,
    "outbuf_overflow": 64 * 1024,
    # A thread waits for its reader beyond this, so no answer is as long.
    "outbuf_high_watermark": 2**30,
    # Django reads what a proxy says, where it is told that there is one.
    "clear_untrusted_proxy_headers": False,
    "ident": "BenchHub",
    "log_socket_errors": False,
}


class Task(WSGITask):
    """A request that is answered; one by HEAD without a body, which its sender would take for the next answer."""

    @property
    def is_head(self) -> bool:
        return bool(cast(Any, self.request).command == "HEAD")  # its stubs know another type

    def get_environment(self) -> dict[str, Any]:
        """Return what the application is told; a file for HEAD it has to write, and not to hand over."""
        environ: dict[str, Any] = super().get_environment()
        if self.is_head:
            environ.pop("wsgi.file_wrapper")
        return environ

    def write(self, data: bytes) -> None:
        super().write(b"" if self.is_head else data)

    def finish(self) -> None:
        """End the answer; one in chunks would end with an empty one."""
        if self.is_head:
            self.write(b"")
            self.chunked_response = False
        super().finish()


class Channel(HTTPChannel):
    parser_class = Request
    task_class = Task

    def is_late(self, moment_s: float) -> bool:
        request = cast(Request | None, self.request)
        return request is not None and request.is_late(moment_s)

    @property
    def is_waiting(self) -> bool:
        """Tell whether no thread is at work for it: its reader may have an answer still to read."""
        return not self.requests

    def hang_up(self) -> None:
        """Have the loop close it, which closes what can be written to: not those whose reader takes nothing."""
        with suppress(OSError):
            cast(socket.socket, self.socket).shutdown(socket.SHUT_RDWR)


class Server(TcpWSGIServer):
    channel_class = Channel

    @property
    def channels(self) -> list[Channel]:
        return list(cast(dict[int, Channel], self.active_channels).values())

    def maintenance(self, now: Any) -> None:
        """Close what is idle or late; where connections run out, also those that have waited or read for longest."""
        super().maintenance(now)
        channels, moment_s = self.channels, time.monotonic()
        for channel in channels:
            if channel.is_late(moment_s):
                channel.will_close = True
        if len(channels) > FULL * self.adj.connection_limit:
            self._make_room(channels)
        for channel in channels:
            if channel.will_close:
                channel.hang_up()

    def _make_room(self, channels: list[Channel]) -> None:
        surplus = len(channels) - int(ROOMY * self.adj.connection_limit)
        waiting = [channel for channel in channels if channel.is_waiting]
        # Who has nothing to read any more goes first.
        for channel in sorted(waiting, key=lambda it: (bool(it.total_outbufs_len), it.creation_time))[:surplus]:
            channel.will_close = True


def server(application: Any, listener: socket.socket, gate: Gate) -> Server:
    """Return a server of a WSGI application on a listening socket; `run` serves until SystemExit."""
    Request.gate = staticmethod(gate)
    options = {**OPTIONS, "connection_limit": _connections()}
    return Server(application, _sock=listener, bind_socket=False, adj=Adjustments(sockets=[listener], **options),
                  sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()))  # fmt: skip


def _connections() -> int:
    """Return how many connections there may be: CONNECTIONS, or what the system lets a process open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = CONNECTIONS + FILES_BESIDE
    wished = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    if soft != resource.RLIM_INFINITY and soft < wished:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wished, hard))
        soft = wished
    most = limit if soft == resource.RLIM_INFINITY else soft
    return max(100, min(CONNECTIONS, most - FILES_BESIDE))
