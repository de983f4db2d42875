"""What a look at an instance means, by hand."""

from dataclasses import replace

import pytest

from benchhub.catalog.instances.inspection import Expected, findings
from benchhub.ui.findings import worst
from runners.inspection.answer import Seen
from runners.poolers.script import NOT_TRIED

EXPECTED = Expected("16.4", 160004, is_here=True)
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
FINE = Seen(
    version="16.4", version_num=160004, schema="public", may_create=True, is_superuser=True, is_standby=False,
    free_bytes=100 * 1024**3, statements=0, sessions=0, other_tables=0,
    settings={**DURABLE, "data_checksums": "on", "max_connections": "100"},
)  # fmt: skip


def line(name, **changes):
    return next(row for row in findings(replace(FINE, **changes), EXPECTED) if row.name == name)


def test_a_server_in_order_has_nothing_to_mind():
    assert worst(findings(FINE, EXPECTED)) == "ok"
    assert not any(row.remedy for row in findings(FINE, EXPECTED))


def test_room_is_given_as_the_scale_that_fits():
    assert line("Room").text == "100.0 GiB free, enough for a pgbench scale of about 6,400."


@pytest.mark.parametrize(
    ("name", "changes", "level"),
    [
        ("Version", {"version_num": 90400}, "bad"),
        ("Version", {"version_num": 150008}, "warn"),
        ("Rights", {"is_standby": True}, "warn"),
        ("Rights", {"may_create": False}, "bad"),
        ("Rights", {"may_create": None, "schema": ""}, "bad"),
        ("Database", {"other_tables": 12}, "warn"),
        ("Room", {"free_bytes": 1024**3}, "warn"),
        ("Room", {"free_bytes": None}, "ok"),
        ("Log-in", {"sessions": 40}, "warn"),
        ("Connections", {"settings": {"max_connections": "10"}}, "warn"),
        ("Durability", {"settings": {**DURABLE, "fsync": "off", "full_page_writes": "off"}}, "warn"),
        ("Durability", {"settings": {"fsync": "on"}}, "warn"),
        ("Durability", {"settings": None}, "warn"),
        ("Version", {"version_num": None}, "warn"),
        ("Data checksums", {"settings": {"data_checksums": "off"}}, "ok"),
        ("CHECKPOINT", {"is_superuser": False}, "ok"),
        ("Statistics", {"is_superuser": False}, "ok"),
    ],
)
def test_each_thing_that_is_not_in_order_has_its_level_and_says_so(name, changes, level):
    assert line(name, **changes).level == level


@pytest.mark.parametrize(
    ("changes", "level", "part"),
    [
        ({}, "warn", "not tried yet"),
        ({"pooler": {"error": "FATAL: not allowed"}}, "warn", "Its console says: FATAL: not allowed"),
        ({"pooler": {"settings": {"pool_size": "5"}, "later": 1}}, "ok", "It pools by no known mode, with 5"),
        ({"pooler": {"error": "x"}, "pooler_error": f"No answer. {NOT_TRIED}"}, "warn", "That was the server itself"),
        ({"pooler": {"error": "x"}, "pooler_error": "It leads elsewhere."}, "bad", "No load can go through it"),
        (
            {"pooler": {"version": "1.23.1", "settings": {"pool_mode": "session", "pool_size": "20"}}},
            "ok",
            "It pools by session, with 20 connections",
        ),
    ],
)
def test_a_pooler_is_judged_by_whether_loads_can_go_through_it_and_runs_can_note_how_it_pools(changes, level, part):
    rows = findings(replace(FINE, **changes), replace(EXPECTED, has_pooler=True))
    [row] = [row for row in rows if row.name == "Pooler"]
    assert (row.level, part in row.text) == (level, True)
    assert not [row for row in findings(FINE, EXPECTED) if row.name == "Pooler"]


def test_a_log_in_that_failed_is_the_only_line_and_says_what_to_do():
    (row,) = findings(Seen(errors='FATAL:  no pg_hba.conf entry for host "10.0.0.7"'), EXPECTED)
    assert row.level == "bad" and row.text.startswith("PostgreSQL refused the log-in. psql said:")
    assert "pg_hba.conf" in row.remedy


def test_what_the_server_did_not_say_is_no_line_that_all_is_well():
    silent = Seen(version="16.4", version_num=160004, may_create=True)
    lines = {row.name: row for row in findings(silent, EXPECTED)}
    assert "Database" not in lines and "Connections" not in lines
    assert lines["Durability"].text.startswith("The server did not say fsync")


def test_the_databases_that_are_there_are_offered_for_one_that_is_not():
    (row,) = findings(Seen(errors='FATAL:  database "x" does not exist', databases=("a", "b")), EXPECTED)
    assert row.remedy == "Create the database, or choose one of those that are there: a and b."
