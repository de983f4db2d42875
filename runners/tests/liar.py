"""A server that answers what no PostgreSQL would."""

import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress


class Liar:
    """A server that lets everybody in, and answers with one row of the same text in each of its columns.

    `texts` are by a part of the query; that of an empty part answers all others. Their characters are bytes to it, and
    psql is to read them in an encoding in which a byte swallows the quote or backslash behind it.
    """

    def __init__(self, texts: Mapping[str, str], columns: Sequence[str]) -> None:
        self.texts, self.columns = texts, columns
        self.queries: list[str] = []
        self.floods: dict[str, tuple[bytes, bytes]] = {}
        self.sent_bytes, self.greeting = 0, b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with suppress(OSError), connection, connection.makefile("rwb") as stream:
                self._talk(stream)

    def _talk(self, stream) -> None:
        self._take(stream)
        stream.write(message(b"R", struct.pack("!i", 0)) + message(b"S", b"standard_conforming_strings\0off\0"))
        stream.write(message(b"S", b"client_encoding\0SJIS\0"))
        stream.write(message(b"S", b"server_version\0" + b"18.1\0") + self.greeting + message(b"Z", b"I"))
        stream.flush()
        while stream.read(1) == b"Q":
            self.queries.append(self._take(stream).decode().rstrip("\0"))
            for part, flood in self.floods.items():
                if part in self.queries[-1]:
                    self._flood(stream, *flood)
            text = next(text for part, text in self.texts.items() if part in self.queries[-1]).encode("latin-1")
            heads = b"".join(
                name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0) for name in self.columns
            )
            cells = (struct.pack("!i", len(text)) + text) * len(self.columns)
            count = struct.pack("!h", len(self.columns))
            stream.write(message(b"T", count + heads) + message(b"D", count + cells))
            stream.write(message(b"C", b"SELECT 1\0") + message(b"Z", b"I"))
            stream.flush()

    def _flood(self, stream, head: bytes, flood: bytes) -> None:
        """Send the same bytes again and again behind a head, for as long as anybody takes them."""
        stream.write(head)
        while True:
            stream.write(flood)
            self.sent_bytes += len(flood)

    def _take(self, stream) -> bytes:
        return stream.read(struct.unpack("!i", stream.read(4))[0] - 4)


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content
