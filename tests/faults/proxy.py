"""A line that can be cut: a TCP proxy on loopback before a host's SSH daemon."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field

BUFFER_BYTES = 65_536


@dataclass
class Proxy:
    """Forwards `port` to `upstream`. What a closed gate holds back is delivered when it opens, as TCP does."""

    upstream: int
    port: int
    questions: threading.Event = field(default_factory=threading.Event)
    answers: threading.Event = field(default_factory=threading.Event)
    _listener: socket.socket | None = None
    _open: set[socket.socket] = field(default_factory=set)

    def start(self) -> None:
        self.mend()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Refuse new connections and reset those that are there."""
        if self._listener:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.drop()

    def drop(self) -> None:
        """Reset every connection; new ones are welcome."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def part(self) -> None:
        """A network partition: connections stay as they are, and nothing gets through."""
        self.questions.clear()
        self.answers.clear()

    def hold_answers(self) -> None:
        """Let what is sent arrive, and no answer come back."""
        self.answers.clear()

    def mend(self) -> None:
        self.questions.set()
        self.answers.set()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream), timeout=5)
            except ConnectionRefusedError:
                client.close()
                continue
            except OSError:
                return
            server.settimeout(None)
            self._open |= {client, server}
            for source, sink, gate in ((client, server, self.questions), (server, client, self.answers)):
                threading.Thread(target=self._pump, args=(source, sink, gate), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, gate: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(BUFFER_BYTES):
                gate.wait()
                sink.sendall(data)
        gate.wait()
        for end in (source, sink):
            self._open.discard(end)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
