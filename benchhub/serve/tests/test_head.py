"""Heads that would keep the server's expressions busy for minutes are refused, or made plain, before they see them."""

import pytest
from waitress.adjustments import Adjustments

from benchhub.serve import head
from benchhub.serve.request import Request

LINE = b"GET /login/ HTTP/1.1"
# Of the longest head that is read at all: with one of them the web stood still for two minutes.
LONG = 32_000


@pytest.mark.parametrize(
    ("first", "field", "sentence"),
    [
        (b"GET http://" + b"1" * LONG + b" X", b"Host: x", "begins with a method"),
        (b"GET /login/", b"Host: x", "begins with a method"),
        (b"A" * LONG + b" / HTTP/1.1", b"Host: x", "begins with a method"),
        (LINE, b'Cookie: a="' + b"\\" * LONG + b'"', "backslashes"),
        (LINE, b"Cookie: a=" + b"\\" * 1500 + b"\r\nCookie: b=" + b"\\" * 1500, "backslashes"),
        (LINE, b"X: a\x00b", "control characters"),
        (LINE, b"X: a\r\n folded: b", "on one line"),
        (LINE, b"nothing", "a colon"),
        (LINE, b"Content-Length: 4\r\nTransfer-Encoding: chunked", "in chunks"),
        (b"GET /login/ HTTP/1.0", b"transfer-encoding: chunked", "in chunks"),
        (LINE, b"Content-Length: " + b"9" * 5000, "15 digits"),
        (LINE, b"Content-Length: 4\r\ncontent-length: 4", "one length"),
    ],
)
def test_a_head_that_is_no_request_is_refused_by_its_form(first, field, sentence):
    with pytest.raises(head.BadHeadError, match=sentence):
        head.checked(b"\r\n".join([first, field, b"", b""]))


def test_blanks_around_a_value_are_gone_before_they_are_looked_for():
    blanks = b" " * LONG
    assert head.checked(LINE + b"\r\nX:" + blanks + b"a" + blanks + b"\r\nY: b  c\r\n\r\n") == (
        LINE + b"\r\nX:a\r\nY:b  c\r\n\r\n"
    )


@pytest.mark.parametrize("address", [b"http://[::1", b"http://1.2.3.4:99999999999/x", b"//", b"*"])
def test_an_address_of_any_form_is_answered(address):
    request = Request(Adjustments())
    request.received(b"GET " + address + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert request.completed
    assert bool(request.error) == (b"[" in address)


@pytest.mark.parametrize("body", [b"F" * LONG, b"5;" + b"a" * LONG, b"0\r\nX: " + b"a" * LONG])
def test_a_line_between_chunks_ends(monkeypatch, body):
    monkeypatch.setattr(Request, "gate", staticmethod(lambda _headers: True))
    request = Request(Adjustments())
    request.received(LINE.replace(b"GET", b"POST") + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    for start in range(0, LONG, 1000):
        if not request.completed:
            request.received(body[start : start + 1000])
    assert request.error and request.error.code == 400
    assert request.body_bytes_received < 10_000
