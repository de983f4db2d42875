"""Bodies of requests: nobody's is read, and each kind has its limit."""

import io
import tracemalloc

import pytest
from django.test import Client

from benchhub.api.core import parsers
from benchhub.api.core.bodies import STREAM_BYTES
from benchhub.bench.models import Delivery

pytestmark = pytest.mark.django_db


class Untouched(io.BytesIO):
    """A body that must not be read."""

    def read(self, *_args):
        raise AssertionError("the body was read")


def test_nobody_s_body_is_not_read():
    environ = {"wsgi.input": Untouched(b"x"), "CONTENT_LENGTH": "1000000", "CONTENT_TYPE": "application/json"}
    answer = Client().generic("POST", "/api/v1/deliveries/", **environ)
    assert answer.status_code == 401


def test_json_and_a_line_may_have_two_mib(admin_client):
    text = b'{"a": "' + b"x" * 2**21 + b'"}'
    answer = admin_client.post("/api/v1/deliveries/", text, content_type="application/json")
    assert answer.status_code == 413
    assert "A request of this kind may have 2 MiB at most." in answer.json()["detail"]
    answer = send_lines(admin_client, b"{}\n", b"\n", text)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "Line 3 has more than 2 MiB: nothing was stored."
    assert send_lines(admin_client, *[b'{"a": "' + b"x" * 2**20 + b'"}\n'] * 4).status_code == 422


def test_lines_are_lines_however_their_type_is_written(admin_client):
    line = b'{"a": "' + b"x" * 2**20 + b'"}\n'
    answer = admin_client.post("/api/v1/deliveries/", line * 4, content_type="Application/X-NDJSON; charset=utf-8")
    assert (answer.status_code, answer.json()["errors"][-1]["line"]) == (422, 4)


def test_lines_are_sent_to_deliveries_only(admin_client):
    answer = admin_client.post("/api/v1/hardware/", b" " * 2**21 + b"{}", content_type="application/x-ndjson")
    assert answer.status_code == 413
    assert admin_client.post("/api/v1/hardware/", b"{}", content_type="application/x-ndjson").status_code == 415


@pytest.mark.parametrize(
    "line",
    [
        b'{"facts": [' + b"[]," * 690_000 + b"[]]}\n",
        pytest.param(b"{" + b",".join(b'"%x":0' % n for n in range(200_000)) + b"}\n", marks=pytest.mark.whole),
        b'{"settings": {' + b",".join(b'"%x":[]' % number for number in range(170_000)) + b"}}\n",
        b'{"system": "' + b"\\u0001" * 340_000 + b'"}\n',
        b'{"facts": {"a": [' + b"[]," * 39_000 + b"[]]}}\n",
        b'"' + b'\\"' * 1_000_000 + b"\n",
    ],
    ids=["lists", "fields", "settings", "escapes", "few lists", "quotes"],
)
def test_a_hostile_delivery_of_32_mib_takes_less_than_100_mb(admin_client, line):
    """A body is given as it lies in the server's file, so it is not in memory itself."""
    stream = Repeated(line, STREAM_BYTES // len(line))
    environ = {"wsgi.input": stream, "CONTENT_LENGTH": str(len(stream)), "CONTENT_TYPE": "application/x-ndjson"}
    tracemalloc.start()
    answer = admin_client.generic("POST", "/api/v1/deliveries/", **environ)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status_code == 422
    assert len(answer.content) < 100_000
    assert peak_bytes < 100_000_000
    assert not Delivery.objects.exists()


def test_a_text_may_hold_what_a_line_may_not(admin_client):
    """Commas and brackets within a string are no values."""
    answer = send_lines(admin_client, b'{"facts": {"log": "' + b"[1],{2}," * 50_000 + b'"}}')
    assert "values" not in answer.content.decode()
    answer = send_lines(admin_client, b'{"facts": {"log": [' + b"[]," * 40_000 + b"[]]}}")
    assert "it has more than 40,000 values" in answer.json()["errors"][0]["detail"]


def test_behind_a_hundred_faults_no_line_is_looked_at(admin_client, monkeypatch):
    texts = []
    loads = parsers.loads
    monkeypatch.setattr(parsers, "loads", lambda text: texts.append(text) or loads(text))
    answer = send_lines(admin_client, *[b'{"x": 1}\n'] * 5_000)
    assert (answer.status_code, len(answer.json()["errors"])) == (422, 100)
    assert "none was looked at" in answer.json()["detail"]
    assert len(texts) < 2_500


def send_lines(client, *lines):
    return client.post("/api/v1/deliveries/", b"".join(lines), content_type="application/x-ndjson")


class Repeated(io.RawIOBase):
    """A line, so many times, of which only one is in memory."""

    def __init__(self, line: bytes, count: int) -> None:
        self.line, self.count, self.place = line, count, 0

    def __len__(self) -> int:
        return len(self.line) * self.count

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        start = self.place % len(self.line)
        piece = self.line[start : start + max(size, 0)] if self.place < len(self) else b""
        self.place += len(piece)
        return piece
