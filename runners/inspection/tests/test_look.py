"""What a look reads: by hand, then hostile answers, then real servers over real SSH."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.inspection.answer import Seen, read

ROW = {
    "version": "16.4 (Debian 16.4-1)",
    "version_num": 160004,
    "schema": "public",
    "may_create": True,
    "is_superuser": False,
    "is_monitor": None,
    "may_checkpoint": False,
    "is_standby": False,
    "size_bytes": 7_500_000,
    "statements": 0,
    "sessions": 1,
    "other_tables": 0,
    "settings": {"fsync": "on", "data_checksums": "off"},
    "databases": ["bench", "postgres"],
}


def sections(**changes):
    room = "/dev/vda1  10485760 5242880 5242880  50% /"
    return {"client": "psql (PostgreSQL) 16.4", "seen": json.dumps({**ROW, **changes}), "room": room}


def test_a_look_is_read_as_the_server_and_df_say_it():
    assert read(sections()) == Seen(
        client="psql (PostgreSQL) 16.4",
        version="16.4 (Debian 16.4-1)",
        version_num=160004,
        schema="public",
        may_create=True,
        is_superuser=False,
        is_monitor=None,
        may_checkpoint=False,
        is_standby=False,
        size_bytes=7_500_000,
        free_bytes=5 * 1024**3,
        statements=0,
        sessions=1,
        other_tables=0,
        settings={"fsync": "on", "data_checksums": "off"},
        databases=("bench", "postgres"),
    )


def test_a_log_in_that_failed_gives_its_message_and_the_databases_that_are_there():
    sight = read(
        {"client": "psql 16", "errors": 'psql: error: FATAL:  database "x" does not exist', "databases": "a\nb"}
    )
    assert (sight.errors, sight.databases) == ('psql: error: FATAL:  database "x" does not exist', ("a", "b"))
    assert sight.version_num is None


def test_what_was_seen_is_the_same_after_it_was_stored():
    sight = read(sections())
    stored = json.loads(json.dumps(sight.plain()))
    assert replace(Seen(**stored), databases=tuple(stored["databases"])) == sight


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"size_bytes": -5}, "size_bytes"),
        ({"size_bytes": 10**30}, "size_bytes"),
        ({"size_bytes": 1e999}, "size_bytes"),
        ({"version_num": "160004"}, "version_num"),
        ({"may_create": "yes"}, "may_create"),
        ({"other_tables": [1]}, "other_tables"),
    ],
)
def test_a_value_that_makes_no_sense_is_left_out(changes, name):
    assert getattr(read(sections(**changes)), name) is None


@pytest.mark.parametrize("text", ["", "[]", "1", '"x"', "{", "null"])
def test_an_answer_that_is_none_is_refused(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        read({"client": "", "seen": text})


@given(st.dictionaries(st.sampled_from([*ROW]), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_whatever_a_server_says_is_bounded_or_refused(changes):
    try:
        sight = read(sections(**changes))
    except (ValueError, KeyError, TypeError):
        return
    assert len(sight.version) <= 200 and len(sight.databases) <= 200
    assert "\0" not in json.dumps(sight.plain())
