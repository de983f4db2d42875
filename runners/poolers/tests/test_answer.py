"""What the console of a pooler says, as read by hand and where it makes no sense."""

import pytest

from runners.contract import Pooler
from runners.poolers.answer import PoolerFacts, doubts, read, read_file

POOLER = Pooler("PgBouncer", "127.0.0.1", 6432)


def table(*rows):
    return "\n".join("\x1f".join(row) for row in rows)


SECTIONS = {
    "pooler_version": "version\nPgBouncer 1.23.1",
    "pooler_config": table(
        ("key", "value", "default", "changeable"),
        ("pool_mode", "session", "session", "yes"),
        ("default_pool_size", "20", "20", "yes"),
        ("server_reset_query", "", "DISCARD ALL", "yes"),
        ("auth_query", "SELECT secret", "", "yes"),
    ),
    "pooler_databases": table(("name", "pool_size", "pool_mode"), ("bench", "50", "")),
    "pooler_pools": table(
        ("database", "user", "pool_mode"), ("bench", "ada", "statement"), ("bench", "bench", "transaction")
    ),
}


def test_the_mode_is_that_of_the_database_and_user_and_the_size_that_of_the_database():
    assert read(SECTIONS, "bench") == PoolerFacts(
        "1.23.1",
        {"pool_mode": "transaction", "default_pool_size": "20", "server_reset_query": "", "pool_size": "50"},
    )


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"pooler_pools": ""}, "session"),
        ({"pooler_pools": "", "pooler_databases": table(("name", "pool_mode"), ("bench", "statement"))}, "statement"),
        ({"pooler_pools": table(("database", "user", "pool_mode"), ("bench", "bench"))}, "session"),
        ({"pooler_pools": table(("user", "pool_mode"), ("bench", "<script>"))}, "session"),
    ],
)
def test_the_mode_falls_back_to_the_database_and_then_to_the_configuration(changes, mode):
    assert read({**SECTIONS, **changes}, "bench").settings["pool_mode"] == mode


def test_a_console_that_refuses_says_why_and_has_no_settings():
    facts = read({"pooler_errors": "psql: error: FATAL:  not allowed\nmore"}, "bench")
    assert facts == PoolerFacts(error="psql: error: FATAL: not allowed")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("FATAL:  not allowed", "its console did not let the user of the instance in, who has to be among"),
        ("FATAL:  password authentication failed", "its console did not let the user of the instance in"),
        ("Connection refused", "no connection to its console came about."),
        ("timeout expired", "its console did not answer in time."),
        ("kiln", "what its console said cannot be read."),
    ],
)
def test_a_doubt_says_the_cause_in_words_of_its_own_and_never_where_the_pooler_is(error, cause):
    errors = f'WARNING: kiln\npsql: error: server at "kiln.example" (10.2.3.4): {error}'
    facts = read({"pooler_errors": errors}, "bench")
    assert error.split()[-1] in facts.error
    [doubt] = doubts(POOLER, {"pool_mode": "session"}, facts)
    assert doubt.code == "pooler-unread" and doubt.text.startswith(f"Nothing tells how PgBouncer pools: {cause}")
    assert "kiln" not in doubt.text and "10.2.3.4" not in doubt.text


def test_stored_facts_are_read_although_another_version_stored_more():
    stored = {"version": "1.23.1", "settings": {"pool_mode": "session"}, "colour": "red"}
    assert PoolerFacts.stored(stored).facts == {"version": "1.23.1", "pool_mode": "session"}


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"\x1epooler_config\n" + b"\x1f" * 100_000, b"\x1e" * 9999])
def test_a_file_that_makes_no_sense_says_that_nothing_was_read(content):
    assert read_file(content, "bench") == PoolerFacts(error="its console said nothing")


def test_values_are_bounded_and_of_one_line():
    config = table(("key", "value"), ("auth_type", "a\r b" + "x" * 999))
    value = read({"pooler_config": config}, "bench").settings["auth_type"]
    assert value.startswith("a b") and len(value) <= 200


def test_what_is_not_as_planned_is_a_doubt_and_what_nobody_planned_is_none():
    facts = read(SECTIONS, "bench")
    planned = {"kind": "PgBouncer", "pool_mode": "transaction", "default_pool_size": "10", "so_reuseport": "1"}
    [doubt] = doubts(POOLER, planned, facts)
    assert doubt.text == "default_pool_size of PgBouncer was 20, and 10 when the run was planned."
    assert doubts(POOLER, {}, facts) == []
