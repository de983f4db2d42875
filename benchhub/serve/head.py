"""Heads of requests, looked at in linear time before the server's own expressions read them.

Those go back over a line again and again: a line of 32 KiB that is nearly a request would take minutes, in which
nobody is answered. What passes here they read at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}")
VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LONGEST_LENGTH = 15
# The standard library reads a quoted cookie in a time that grows with the square of its backslashes; one of ours has
# some hundred at the most.
MOST_BACKSLASHES = 2000
LENGTH, CODING, COOKIE = b"content-length", b"transfer-encoding", b"cookie"

Field = tuple[bytes, bytes]


class BadHeadError(ValueError):
    """A head that is no request, or that two servers could read differently."""


def checked(head: bytes) -> bytes:
    """Return a head with nothing around the values of its fields. Raises BadHeadError, with a sentence."""
    first, *rest = head.split(b"\r\n")
    _require_request(first.rstrip())
    if CONTROLS.search(head):
        raise BadHeadError("A head has no control characters.")
    fields = list(_fields(rest))
    _require_one_length(first, fields)
    _require_short_cookies(fields)
    return b"\r\n".join([first.rstrip(), *(b"%b:%b" % field for field in fields), b"", b""])


def _require_request(line: bytes) -> None:
    method, *rest = line.split(b" ")
    if len(rest) != 2 or not METHOD.fullmatch(method) or not rest[0] or not VERSION.fullmatch(rest[1]):
        raise BadHeadError("A request begins with a method, an address and the version of HTTP.")


def _fields(lines: list[bytes]) -> Iterator[Field]:
    for line in filter(None, lines):
        if line[:1] in b" \t":
            raise BadHeadError("A field of a head stands on one line.")
        name, colon, value = line.partition(b":")
        if not colon:
            raise BadHeadError("A field of a head has a name, a colon and a value.")
        yield name, value.strip(b" \t")


def _require_one_length(first: bytes, fields: list[Field]) -> None:
    """Raise BadHeadError where the end of the body could be looked for in two places."""
    lengths = [value for name, value in fields if name.lower() == LENGTH]
    if any(name.lower() == CODING for name, _ in fields) and (lengths or not first.rstrip().endswith(b"HTTP/1.1")):
        raise BadHeadError("A body has a length or comes in chunks, by HTTP/1.1.")
    if len(lengths) > 1 or any(len(length) > LONGEST_LENGTH for length in lengths):
        raise BadHeadError("A body has one length, of 15 digits at most.")


def _require_short_cookies(fields: list[Field]) -> None:
    if sum(value.count(b"\\") for name, value in fields if name.lower() == COOKIE) > MOST_BACKSLASHES:
        raise BadHeadError(f"Cookies have {MOST_BACKSLASHES:,} backslashes at most.")
