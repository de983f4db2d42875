"""Warnings of loads through a pooler, by hand."""

from dataclasses import replace

import pytest

from benchhub.analysis.planning.poolers import Pooled, warnings

SETTINGS = {"pool_mode": "transaction", "default_pool_size": "20", "max_client_conn": "100"}
LOAD = Pooled("PgBouncer", "pooled", SETTINGS, clients=64)


def warned(prepares=False, clients=64, **settings):
    return list(warnings(replace(LOAD, settings={**SETTINGS, **settings}, prepares=prepares, clients=clients)))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"prepares": True}, "its runs would fail"),
        ({"prepares": True, "max_prepared_statements": "0"}, "without max_prepared_statements"),
        ({"pool_mode": ""}, "Nobody has seen how PgBouncer in front of pooled pools"),
        ({"pool_mode": "statement"}, "refuses transactions of several statements"),
        (
            {"clients": 101},
            "101 clients are more than PgBouncer in front of pooled lets in: its max_client_conn is 100.",
        ),
        ({"pool_mode": "session"}, "pools by session, 20 at a time: of 64 clients the others wait"),
    ],
)
def test_what_the_pooler_would_refuse_or_hold_up_is_said(changes, part):
    [sentence] = warned(**changes)
    assert part in sentence


def test_a_load_generator_that_waits_for_all_its_clients_fails_where_not_all_have_a_session():
    settings = {**SETTINGS, "pool_mode": "session"}
    [sentence] = warnings(replace(LOAD, settings=settings, begins_together=True))
    assert "begins when each of 64 clients has one, so runs would fail" in sentence
    assert not list(warnings(replace(LOAD, settings=settings, begins_together=True, clients=20)))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prepares": True, "max_prepared_statements": "200"},
        {"prepares": True, "pool_mode": "session", "pool_size": "64"},
        {"pool_mode": "session", "clients": 20},
    ],
)
def test_what_it_takes_is_not_warned_of(changes):
    assert warned(**changes) == []


def test_the_server_sees_as_many_sessions_as_the_pool_has():
    assert (LOAD.sessions, replace(LOAD, clients=8).sessions, replace(LOAD, settings={}).sessions) == (20, 8, 64)


@pytest.mark.parametrize(
    ("path", "is_on_driver", "settings", "part"),
    [
        ("socket", False, {}, "crosses a network: choose the path network."),
        ("loopback", False, {}, "crosses a network: choose the path network."),
        ("tls", True, {"server_tls_sslmode": "disable"}, "goes on to the server without TLS"),
        ("tls", False, {"client_tls_sslmode": "disable"}, "takes no TLS, so runs would fail"),
        ("network", False, {"client_tls_sslmode": "require"}, "takes nothing but TLS, so runs would fail"),
        ("network", False, {"client_tls_sslmode": "disable"}, ""),
        ("tls", False, {"client_tls_sslmode": "prefer"}, ""),
        ("socket", True, {"client_tls_sslmode": "disable"}, ""),
        ("socket", True, {"client_tls_sslmode": "require"}, "takes nothing but TLS, so runs would fail"),
        ("socket", True, {"client_tls_sslmode": "require", "tls": "require"}, ""),
        ("socket", True, {"client_tls_sslmode": "disable", "tls": "require"}, "takes no TLS, so runs would fail"),
        ("tls", False, {"client_tls_sslmode": "require", "tls": "disable"}, "takes nothing but TLS, so runs would"),
    ],
)
def test_a_way_to_the_pooler_that_is_not_the_path_or_takes_other_tls_is_said(path, is_on_driver, settings, part):
    load = replace(LOAD, settings=SETTINGS | settings, clients=8, path=path, is_on_driver=is_on_driver)
    sentences = list(warnings(load))
    assert len(sentences) == bool(part) and part in "".join(sentences)
