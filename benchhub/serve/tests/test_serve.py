"""Slow and greedy senders against a real server on a real socket; an honest reader beside them must not notice."""

import io
import re
import socket
import threading
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection

import pytest

from benchhub.serve import request
from benchhub.serve import server as web_server
from benchhub.serve.server import OPTIONS, server
from runners.telemetry.sysstat.answer import MOST_BYTES

SLOW = 300
PATIENCE_S = 60


def application(environ, start_response):
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{len(body)} bytes".encode()]


@contextmanager
def serving(gate=lambda _headers: False, application=application):
    with running(gate, application) as web:
        yield web.effective_port


@contextmanager
def running(gate, application):
    listener = socket.create_server(("127.0.0.1", 0))
    web = server(application, listener, gate)
    thread = threading.Thread(target=web.run, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.pull_trigger()
        web._map.clear()
        thread.join(PATIENCE_S)
        web.task_dispatcher.shutdown()
        listener.close()


def ask(port, method="GET", body=None, **headers):
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request(method, "/", body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def opened(port, text):
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.sendall(text)
    return connection


def everything(connection):
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def is_closed(connection):
    """Wait until the server closes the connection."""
    while True:
        try:
            if not connection.recv(65_536):
                return True
        except ConnectionResetError:
            return True


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\nslow",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nslow",
    ],
)
def test_hundreds_of_connections_that_send_nothing_more_hold_up_nobody(text):
    with serving() as port:
        connections = [opened(port, text) for _ in range(SLOW)]
        assert [ask(port) for _ in range(3)] == [(200, "0 bytes")] * 3
        assert ask(port, "POST", b"x" * 1000) == (200, "1000 bytes")
        for connection in connections:
            connection.close()


def test_readers_that_take_nothing_hold_up_nobody():
    with serving() as port:
        connections = [opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 20) for _ in range(SLOW)]
        assert ask(port) == (200, "0 bytes")
        for connection in connections:
            connection.close()


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\r\nX: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\ns"]
)
def test_a_request_that_is_not_whole_in_time_is_closed(monkeypatch, text):
    for name in ("HEAD_S", "BODY_S"):
        monkeypatch.setattr(request, name, 0)
    with serving() as port, closing(opened(port, text)) as connection:
        assert is_closed(connection)


def test_a_stranger_s_long_body_is_refused_before_it_is_read():
    with serving() as port:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        with closing(opened(port, head)) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 401 Unauthorized")
        chunked = head.replace(b"Content-Length: 1000000", b"Transfer-Encoding: chunked")
        with closing(opened(port, chunked)) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 401 Unauthorized")
        assert ask(port, "POST", b"x" * request.ANYBODY_BYTES)[0] == 200


@pytest.mark.parametrize(
    ("kind", "size", "status"),
    [
        ("application/json", request.JSON_BYTES, 200),
        ("application/json; charset=utf-8", request.JSON_BYTES + 1, 413),
        ("application/x-ndjson", request.JSON_BYTES + 1, 200),
        ("multipart/form-data; boundary=x", request.FORM_BYTES + 1, 413),
        ("application/x-www-form-urlencoded", request.FORM_BYTES + 1, 413),
        ("text/anything", request.FORM_BYTES + 1, 413),
    ],
)
def test_a_body_of_somebody_has_the_limit_of_its_kind(kind, size, status):
    with serving(lambda headers: headers.get("AUTHORIZATION") == "Bearer good") as port:
        lines = ("POST / HTTP/1.1", "Host: x", "Authorization: Bearer good", f"Content-Type: {kind}")
        head = "\r\n".join([*lines, f"Content-Length: {size}", "", ""])
        with closing(opened(port, head.encode())) as connection:
            if status == 200:
                connection.sendall(b"x" * size)
            assert connection.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())
        assert ask(port) == (200, "0 bytes")


def test_a_long_form_is_taken_by_the_page_of_sysstat_alone():
    form = {"CONTENT_TYPE": "multipart/form-data; boundary=x"}
    assert request.limit_of(form, "/runs/7/telemetry/add") > MOST_BYTES + request.ANYBODY_BYTES
    assert request.limit_of(form, "/runs/7/telemetry/remove") == request.FORM_BYTES
    assert request.limit_of({}, "/runs/7/telemetry/add") == request.FORM_BYTES
    assert OPTIONS["max_request_body_size"] >= request.SYSSTAT_BYTES


def test_a_chunked_body_ends_at_the_limit_of_its_kind():
    with serving(lambda _headers: True) as port:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        with closing(opened(port, head)) as connection:
            chunk = b"%x\r\n%b\r\n" % (request.MIB, b"x" * request.MIB)
            connection.sendall(chunk * 2 + b"1\r\nx\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n\r\n", b"400"),
        ("Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", b"400"),
        ("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n\r\n", b"501"),
        ("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n\r\n", b"400"),
        ("X: a\r\n b: c\r\nEvil: \x00\r\n\r\n", b"400"),
        ("X: a\r\n Content-Length: 5\r\n\r\nabcde", b"400"),
        (f"Content-Length: {'9' * 5000}\r\n\r\n", b"400"),
    ],
)
def test_a_request_that_two_servers_would_read_differently_is_refused_and_what_follows_is_no_request(head, status):
    with serving() as port, closing(opened(port, f"POST / HTTP/1.1\r\nHost: x\r\n{head}".encode())) as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert re.findall(rb"HTTP/1\.[01] (\d+) ", answer) == [status]


FORGED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"


def whole(environ, start_response):
    start_response("200 OK", [("Content-Length", str(len(FORGED)))])
    return [FORGED]


def in_pieces(environ, start_response):
    start_response("200 OK", [])
    return iter([FORGED, FORGED])


def as_file(environ, start_response):
    start_response("200 OK", [])
    content = io.BytesIO(FORGED)
    return environ["wsgi.file_wrapper"](content) if "wsgi.file_wrapper" in environ else content


@pytest.mark.parametrize("answering", [whole, in_pieces, as_file])
def test_the_answer_to_head_has_no_body_that_would_be_taken_for_the_next_answer(answering):
    asks = b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with serving(application=answering) as port, closing(opened(port, asks)) as connection:
        text = everything(connection)
    assert text.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"forged" not in text and text.endswith(b"\r\n\r\n") and b"\r\n0\r\n" not in text
    with serving(application=answering) as port:
        assert "forged" in ask(port)[1]


def test_of_requests_in_a_row_the_first_is_answered_and_the_connection_ends():
    with serving() as port, closing(opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 5)) as connection:
        text = everything(connection)
    assert text.count(b"HTTP/1.1 200 OK") == 1 and b"Connection: close" in text


def large(environ, start_response):
    """Answer with 32 MiB, more than waitress lets wait by itself, in one piece or in many; or with 6, in `/some`."""
    if environ["PATH_INFO"] == "/":
        return application(environ, start_response)
    size = 6 * 2**20 if environ["PATH_INFO"] == "/some" else 32 * 2**20
    start_response("200 OK", [("Content-Length", str(size))])
    return [bytes(2**20)] * 32 if environ["PATH_INFO"] == "/pieces" else [bytes(size)]


@pytest.mark.parametrize("path", ["pieces", "whole"])
def test_long_answers_that_nobody_reads_hold_no_thread_however_many_are_asked_for(monkeypatch, path):
    monkeypatch.setitem(OPTIONS, "threads", 2)
    asks = f"GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 3
    with serving(application=large) as port:
        greedy = [opened(port, asks) for _ in range(3)]
        for connection in greedy:
            assert connection.recv(4) == b"HTTP"  # its answer has begun, and is not read on
        assert ask(port) == (200, "0 bytes")
        for connection in greedy:
            connection.close()


def held_bytes(web):
    return [channel.held_bytes for channel in web.channels if not channel.will_close]


def test_unread_answers_take_no_more_room_than_there_is_and_an_honest_reader_beside_them_gets_all(monkeypatch):
    monkeypatch.setattr(web_server, "UNREAD_BYTES", 40 * request.MIB)
    monkeypatch.setitem(OPTIONS, "channel_timeout", 1000)  # those who take nothing stay, however slow this machine is
    asks = b"GET /whole HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(lambda _headers: False, large) as web:
        greedy = [opened(web.effective_port, asks) for _ in range(5)]
        for connection in greedy:
            assert connection.recv(4) == b"HTTP"
        with closing(HTTPConnection("127.0.0.1", web.effective_port, timeout=PATIENCE_S)) as honest:
            honest.request("GET", "/whole")
            assert len(honest.getresponse().read()) == 32 * request.MIB
            held = held_bytes(web)
            # Each thread may have written a piece since the last count.
            assert 0 < sum(held) <= (40 + OPTIONS["threads"]) * request.MIB
            # What was read whole takes nothing, though its connection is open: its file goes after its last byte.
            while min(held_bytes(web)):
                time.sleep(0.01)  # between looks: nothing tells when the file is gone
        for connection in greedy:
            connection.close()


def test_a_reader_who_takes_nothing_of_an_answer_beyond_what_may_wait_gives_its_thread_back(monkeypatch):
    for name, value in {"threads": 1, "outbuf_high_watermark": 4 * request.MIB, "channel_timeout": 1}.items():
        monkeypatch.setitem(OPTIONS, name, value)
    with serving(application=large) as port, closing(opened(port, b"GET /pieces HTTP/1.1\r\nHost: x\r\n\r\n")) as stuck:
        assert stuck.recv(4) == b"HTTP"
        assert ask(port) == (200, "0 bytes")


@pytest.mark.parametrize("timeout_s", [1000, 1])
def test_readers_who_take_hardly_anything_make_room_when_connections_run_out(monkeypatch, timeout_s):
    monkeypatch.setattr("benchhub.serve.server._connections", lambda: 20)
    # It is not their silence that ends them at first: as if each took a byte now and then.
    monkeypatch.setitem(OPTIONS, "channel_timeout", timeout_s)
    with serving(application=large) as port:
        readers = [opened(port, b"GET /some HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(22)]
        assert ask(port) == (200, "0 bytes")
        for connection in readers:
            connection.close()
