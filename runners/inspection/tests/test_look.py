"""What a look reads: by hand, then hostile answers, then real servers over real SSH."""

import json

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
    "standbys": 1,
    "statements": 0,
    "sessions": 1,
    "other_tables": 0,
    "settings": {"fsync": "on", "data_checksums": "off"},
}


def sections(**changes):
    room = "/dev/vda1  10485760 5242880 5242880  50% /"
    return {"seen": json.dumps({**ROW, **changes}), "room": room}


def test_a_look_is_read_as_the_server_and_df_say_it():
    assert read(sections(), "bench") == Seen(
        version="16.4 (Debian 16.4-1)",
        version_num=160004,
        schema="public",
        may_create=True,
        is_superuser=False,
        is_monitor=None,
        may_checkpoint=False,
        is_standby=False,
        standbys=1,
        free_bytes=5 * 1024**3,
        statements=0,
        sessions=1,
        other_tables=0,
        settings={"fsync": "on", "data_checksums": "off"},
    )


def test_the_databases_of_a_server_are_named_after_a_log_in_that_worked_as_well():
    assert read(sections() | {"databases": "bench\npostgres"}, "bench").databases == ("bench", "postgres")


def test_a_log_in_that_failed_gives_its_message_and_the_databases_that_are_there():
    sight = read({"errors": 'psql: error: FATAL:  database "x" does not exist', "databases": "a\nb"}, "bench")
    assert (sight.errors, sight.databases) == ('psql: error: FATAL:  database "x" does not exist', ("a", "b"))
    assert sight.version_num is None


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"sessions": -5}, "sessions"),
        ({"standbys": "1"}, "standbys"),
        ({"sessions": 10**30}, "sessions"),
        ({"sessions": 1e999}, "sessions"),
        ({"version_num": "160004"}, "version_num"),
        ({"may_create": "yes"}, "may_create"),
        ({"other_tables": [1]}, "other_tables"),
    ],
)
def test_a_value_that_makes_no_sense_is_left_out(changes, name):
    assert getattr(read(sections(**changes), "bench"), name) is None


@pytest.mark.parametrize("text", ["", "[]", "1", '"x"', "{", "null"])
def test_an_answer_that_is_none_is_refused(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        read({"seen": text}, "bench")


@given(st.dictionaries(st.sampled_from([*ROW]), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_whatever_a_server_says_is_bounded_or_refused(changes):
    try:
        sight = read(sections(**changes), "bench")
    except (ValueError, KeyError, TypeError):
        return
    assert len(sight.version) <= 200 and len(sight.databases) <= 200
    assert "\0" not in repr(sight)
