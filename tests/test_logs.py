"""Logs are read by more people than links are sent to."""

import io
import logging
import sys

import pytest
from django.conf import settings

from benchhub.log_filter import WithoutTokens, without_token

TOKEN = "pT0k3n-of_256.bits~AAAAAAAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture
def log():
    stream, logger = io.StringIO(), logging.Logger("django.request")
    handler = logging.StreamHandler(stream)
    handler.addFilter(WithoutTokens())
    logger.addHandler(handler)
    return logger, stream


def test_the_address_of_a_shared_page_is_logged_without_its_token(log):
    logger, stream = log
    logger.warning("%s: %s", "Not Found", f"/s/{TOKEN}/secrets.csv")
    logger.warning(f"GET http://box/s/{TOKEN}/k/{TOKEN}:1abc:sig/ refused")
    assert stream.getvalue().splitlines()[0] == "Not Found: /s/.../secrets.csv"
    assert stream.getvalue().splitlines()[1] == "GET http://box/s/.../ refused"
    assert TOKEN not in stream.getvalue()


def test_a_traceback_that_names_the_address_has_no_token_either(log):
    logger, stream = log
    try:
        raise ValueError(f"/s/{TOKEN}/report")
    except ValueError:
        logger.error("failed", exc_info=sys.exc_info())
    assert "ValueError: /s/.../report" in stream.getvalue()
    assert TOKEN not in stream.getvalue()


def test_what_is_refused_of_anybody_is_one_line_of_the_log():
    stream, logger = io.StringIO(), logging.Logger("django.security.DisallowedHost")
    handler = logging.StreamHandler(stream)
    handler.addFilter(WithoutTokens())
    logger.addHandler(handler)
    try:
        raise ValueError("no such host")
    except ValueError:
        logger.error("Invalid HTTP_HOST header: %r", "x", exc_info=sys.exc_info())
    assert stream.getvalue() == "Invalid HTTP_HOST header: 'x'\n"


@pytest.mark.parametrize("text", ["/runs/12/", "/static/s.css", "100% of %s"])
def test_what_is_no_such_address_is_logged_as_it_is(text):
    assert without_token(text) == text


def test_every_handler_of_the_settings_leaves_tokens_out():
    handlers = settings.LOGGING["handlers"].values()
    assert handlers and all("without_tokens" in handler["filters"] for handler in handlers)
