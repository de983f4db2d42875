"""Requests as they come in: what may be sent is decided by their head, before any body is read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

from .head import checked

MIB = 2**20
# Bodies that anybody may send: forms to sign in, and the password of a link.
ANYBODY_BYTES = 64 * 1024
FORM_BYTES, JSON_BYTES, LONG_BYTES = 3 * MIB, 2 * MIB, 32 * MIB
# A file of sysstat with what a form adds, and a little more, so that the page says what to do with a longer one.
SYSSTAT_BYTES = LONG_BYTES + MIB
LIMITS = {
    "application/json": JSON_BYTES,
    "application/x-ndjson": LONG_BYTES,
    "application/vnd.sysstat+json": SYSSTAT_BYTES,
}
# The one page that takes a long file: a form is parsed before anything asks what its sender may do.
SYSSTAT_FORM = re.compile(r"/runs/[0-9]+/telemetry/add$")
HEAD_S, BODY_S = 10, 20
LINE_BYTES = 8 * 1024
SLOWEST_BYTES_PER_S = 16 * 1024

Headers = Mapping[str, str]
Gate = Callable[[Headers], bool]


class NobodyError(Error):
    """The answer to a body of somebody who has not said who they are."""

    code = 401
    reason = "Unauthorized"


class UnaskedError(Exception):
    """A gate cannot tell whose a body is, as the warehouse does not answer."""


class UnavailableError(Error):
    """The answer to a long body while nobody can tell whose it is."""

    code = 503
    reason = "Service Unavailable"


class Request(HTTPRequestParser):
    """A request with a limit of its body by its kind and its sender, and a time until which it must be whole.

    `gate` tells by the headers whether somebody who may use BenchHub sends it. It is asked only where a body is longer
    than anybody may send.
    """

    path: str  # as the parser sets it, and its stubs leave it out
    gate: Gate = staticmethod(lambda _headers: False)

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.begun_s = time.monotonic()
        self.limit_bytes = ANYBODY_BYTES

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(checked(header_plus))
        except ValueError as error:  # an address that cannot be taken apart, too
            raise ParsingError(str(error)) from error
        if self.body_rcv is None or (not self.chunked and self.content_length <= ANYBODY_BYTES):
            return
        try:
            is_from_somebody = type(self).gate(self.headers)
        except UnaskedError as error:
            self._refuse(UnavailableError(str(error)))
            return
        if not is_from_somebody:
            self._refuse(NobodyError("Say who you are before you send so much: sign in, or send a token."))
            return
        self.limit_bytes = limit_of(self.headers, self.path)
        if self.content_length > self.limit_bytes:
            self._refuse(self._too_large())

    def received(self, data: bytes) -> int:
        """Take in what comes, and return how much of it belongs to this request.

        What is sent behind it before it is answered belongs to nobody, and its connection ends with the answer: many
        answers that nobody reads would otherwise hold a thread each.
        """
        consumed: int = super().received(data)
        if self.completed and consumed < len(data) and not self.empty:
            cast(dict[str, str], self.headers)["CONNECTION"] = "close"
            return len(data)
        if not self.completed and self.body_bytes_received > self.limit_bytes:
            self._refuse(self._too_large())
        elif not self.completed and self.chunked and self._unended_bytes > LINE_BYTES:
            self._refuse(BadRequest("The line of a chunk, or what stands behind the last one, is not so long."))
        return consumed

    def is_late(self, now_s: float) -> bool:
        """Tell whether it took longer than its head may, or its body by the slowest rate that is borne."""
        taken_s = now_s - self.begun_s
        if not self.headers_finished:
            return taken_s > HEAD_S
        return taken_s > BODY_S + self.body_bytes_received / SLOWEST_BYTES_PER_S

    @property
    def _unended_bytes(self) -> int:
        """Return how long a line between chunks is so far: it is put together anew with all that comes."""
        receiver = cast(Any, self.body_rcv)
        return len(receiver.control_line) + len(receiver.trailer)

    def _too_large(self) -> Error:
        return RequestEntityTooLarge(f"A request of this kind may have {self.limit_bytes // MIB} MiB at most.")

    def _refuse(self, error: Error) -> None:
        self.error, self.completed = error, True


def limit_of(headers: Headers, path: str) -> int:
    """Return the most bytes of a body of this kind to a path, for somebody who may send it."""
    kind = headers.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data" and SYSSTAT_FORM.search(path):
        return SYSSTAT_BYTES
    return LIMITS.get(kind, FORM_BYTES)
