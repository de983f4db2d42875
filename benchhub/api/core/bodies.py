"""Bodies of requests: one of JSON is held in memory within a bound, lines lie in a file and are read one by one."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from typing import Any

from rest_framework.request import Request

from . import problems

STREAM_BYTES, JSON_BYTES = 32 * 2**20, 2 * 2**20
LINE_BYTES = JSON_BYTES  # a result may be as long, however it is sent
CHUNK_BYTES = 64 * 2**10


def hold(request: Request, *, is_streamed: bool) -> str:
    """Take a body in, once, and return its digest. Raises a problem where it is too long."""
    plain: Any = request._request
    most_bytes = STREAM_BYTES if is_streamed else JSON_BYTES
    if int(plain.META.get("CONTENT_LENGTH") or 0) > most_bytes:
        raise problems.Problem(413, f"A request of this kind may have {most_bytes // 2**20} MiB at most.")
    if is_streamed:
        return _hold_stream(plain)
    plain._body = plain.read()
    return hashlib.sha256(plain._body).hexdigest()


def _hold_stream(plain: Any) -> str:
    file, digest = tempfile.SpooledTemporaryFile(CHUNK_BYTES), hashlib.sha256()  # noqa: SIM115  # it ends with the request
    while chunk := plain.read(CHUNK_BYTES):
        digest.update(chunk)
        file.write(chunk)
    file.seek(0)
    plain._stream, plain._read_started = file, False
    return digest.hexdigest()


def lines(stream: Any) -> Iterator[tuple[int, bytes]]:
    """Yield number and text of each line that is not empty. Raises a problem at one that is too long."""
    number = 0
    while text := stream.readline(LINE_BYTES + 1):
        number += 1
        if len(text) > LINE_BYTES:
            raise problems.Problem(413, f"Line {number:,} has more than {LINE_BYTES // 2**20} MiB: nothing was stored.")
        if text := text.strip():
            yield number, text
