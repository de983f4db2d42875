"""Bodies of requests: nobody's is read, and each kind has its limit."""

import io

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


class Untouched(io.BytesIO):
    """A body that must not be read."""

    def read(self, *_args):
        raise AssertionError("the body was read")


def test_nobody_s_body_is_not_read():
    environ = {"wsgi.input": Untouched(b"x"), "CONTENT_LENGTH": "1000000", "CONTENT_TYPE": "application/json"}
    answer = Client().generic("POST", "/api/v1/deliveries/", **environ)
    assert answer.status_code == 401


def test_json_may_have_two_mib_and_lines_thirty_two(admin_client):
    text = b'{"a": "' + b"x" * 2**21 + b'"}'
    answer = admin_client.post("/api/v1/deliveries/", text, content_type="application/json")
    assert answer.status_code == 413
    assert "A request of this kind may have 2 MiB at most." in answer.json()["detail"]
    answer = admin_client.post("/api/v1/deliveries/", text, content_type="application/x-ndjson")
    assert answer.status_code != 413
