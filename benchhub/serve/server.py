"""The web server: waitress, which reads requests and sends answers on its own and gives whole requests to threads.

A slow connection costs it a socket and no thread. Beside what waitress bounds, a request has a time to be whole, and
when connections or the room for unread answers run out, those that ask for nothing or take nothing make room.
"""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from contextlib import suppress
from typing import Any, cast

from waitress.adjustments import Adjustments
from waitress.buffers import FileBasedBuffer, OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask

from .request import Gate, Request

THREADS = 8
IDLE_S = 15
CONNECTIONS = 4000
FILES_BESIDE = 200  # of a process beside its connections
FULL, ROOMY = 0.8, 0.6
MIB = 2**20
# Of each process, for answers that nobody has read. /tmp may be memory, and its 512 MiB are for uploads as well.
UNREAD_BYTES = 128 * MIB
PIECE_BYTES = MIB
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
    # A thread waits for its reader beyond this: what is longer is streamed. Less than half of UNREAD_BYTES, so that
    # readers who take nothing are hung up on before all threads wait for them.
    "outbuf_high_watermark": 48 * MIB,
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

    @property
    def is_stuck(self) -> bool:
        """Tell whether a thread waits for its reader, who has taken nothing for as long as a connection may idle."""
        is_full = self.total_outbufs_len > self.adj.outbuf_high_watermark
        return is_full and self.silent_s(time.time()) > self.adj.channel_timeout

    @property
    def held_bytes(self) -> int:
        """Return how much its answer takes in files; a file that the application handed over is not the server's."""
        if not self.total_outbufs_len:
            return 0
        return sum(_file_bytes(buffer) for buffer in tuple(self.outbufs) if isinstance(buffer, OverflowableBuffer))

    def silent_s(self, moment_s: float) -> float:
        """Return for how long its reader has taken nothing, at a moment of time.time()."""
        return max(0.0, moment_s - self.last_activity)

    def write_soon(self, data: Any) -> int:
        """Take in a part of the answer, in pieces: each waits for its reader, and for room, on its own."""
        if isinstance(data, FileBasedBuffer):
            return int(super().write_soon(cast(bytes, data)))  # its stubs know no files
        return sum(self._write_piece(data[start : start + PIECE_BYTES]) for start in range(0, len(data), PIECE_BYTES))

    def _write_piece(self, piece: bytes) -> int:
        cast(Server, self.server).make_space(len(piece))
        return int(super().write_soon(piece))

    def _flush_some(self, do_close: bool = True) -> bool:
        """Send what can be sent; the file of an answer that has been read goes, and not with the connection."""
        is_sent = bool(cast(Any, super())._flush_some(do_close=do_close))  # its stubs leave it out
        if self.connected and not self.total_outbufs_len and self.outbufs[-1].overflowed:
            self.outbufs[-1].prune()
        return is_sent

    def hang_up(self) -> None:
        """Have the loop close it, which closes what can be written to: not those whose reader takes nothing."""
        with suppress(OSError):
            cast(socket.socket, self.socket).shutdown(socket.SHUT_RDWR)


def _file_bytes(buffer: OverflowableBuffer) -> int:
    """Return how long the file of a buffer is, with what has been read of it; 0 where it has none, or is closed."""
    if not buffer.overflowed:
        return 0
    with suppress(OSError, ValueError):
        return os.fstat(buffer.getfile().fileno()).st_size
    return 0


class Server(TcpWSGIServer):
    channel_class = Channel

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._space_lock = threading.Lock()
        self._uncounted_bytes = 0

    def make_space(self, size: int) -> None:
        """Count a piece of an answer; where files would take more than UNREAD_BYTES, hang up on who takes nothing."""
        with self._space_lock:
            self._uncounted_bytes += size
            if self._uncounted_bytes < PIECE_BYTES:
                return
            self._uncounted_bytes = 0
            self._hang_up_on_the_slowest()

    def _hang_up_on_the_slowest(self) -> None:
        moment_s = time.time()
        held = {channel: channel.held_bytes for channel in self.channels if not channel.will_close}
        surplus = sum(held.values()) - UNREAD_BYTES
        # Who holds much for long goes first, so neither a little that is read slowly nor much that is read at once.
        for channel in sorted(held, key=lambda it: held[it] * it.silent_s(moment_s), reverse=True):
            if surplus <= 0:
                return
            surplus -= held[channel]
            channel.will_close = True
            channel.hang_up()
            self.pull_trigger()

    @property
    def channels(self) -> list[Channel]:
        return list(cast(dict[int, Channel], self.active_channels).values())

    def maintenance(self, now: Any) -> None:
        """Close what is idle or late; where connections run out, also those that have waited or read for longest."""
        super().maintenance(now)
        channels, moment_s = self.channels, time.monotonic()
        for channel in channels:
            if channel.is_late(moment_s) or channel.is_stuck:
                channel.will_close = True
        if len(channels) > FULL * self.adj.connection_limit:
            self._make_room(channels)
        for channel in channels:
            if channel.will_close:
                channel.hang_up()

    def _make_room(self, channels: list[Channel]) -> None:
        surplus = len(channels) - int(ROOMY * self.adj.connection_limit)
        waiting = [channel for channel in channels if channel.is_waiting]
        # Who has nothing to read any more goes first, then who has taken nothing for longest.
        for channel in sorted(waiting, key=lambda it: (bool(it.total_outbufs_len), it.last_activity))[:surplus]:
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
