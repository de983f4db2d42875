"""What a look at an instance means, by hand."""

from dataclasses import replace

import pytest

from benchhub.catalog.instances.checks import Expected, Level, checks, worst
from runners.inspection.answer import Seen

EXPECTED = Expected("16.4", 160004, is_here=True)
FINE = Seen(
    version="16.4", version_num=160004, schema="public", may_create=True, is_superuser=True, is_standby=False,
    free_bytes=100 * 1024**3, statements=0, sessions=0, other_tables=0,
    settings={"fsync": "on", "data_checksums": "on", "max_connections": "100"},
)  # fmt: skip


def line(name, **changes):
    return next(row for row in checks(replace(FINE, **changes), EXPECTED) if row.name == name)


def test_a_server_in_order_has_nothing_to_mind():
    assert worst(checks(FINE, EXPECTED)) is Level.NOTE
    assert all(not row.advice for row in checks(FINE, EXPECTED) if row.level is Level.GOOD)


def test_room_is_given_as_the_scale_that_fits():
    assert line("Room").finding == "100.0 GiB free, enough for a pgbench scale of about 6,400."


@pytest.mark.parametrize(
    ("name", "changes", "level"),
    [
        ("Version", {"version_num": 90400}, Level.STOPS),
        ("Version", {"version_num": 150008}, Level.MIND),
        ("Rights", {"is_standby": True}, Level.STOPS),
        ("Rights", {"may_create": False}, Level.STOPS),
        ("Rights", {"may_create": None, "schema": ""}, Level.STOPS),
        ("Database", {"other_tables": 12}, Level.MIND),
        ("Room", {"free_bytes": 1024**3}, Level.MIND),
        ("Room", {"free_bytes": None}, Level.NOTE),
        ("Log-in", {"sessions": 40}, Level.MIND),
        ("Connections", {"settings": {"max_connections": "10"}}, Level.MIND),
        ("Durability", {"settings": {"fsync": "off", "full_page_writes": "off"}}, Level.MIND),
        ("Data checksums", {"settings": {"data_checksums": "off"}}, Level.NOTE),
        ("CHECKPOINT", {"is_superuser": False}, Level.NOTE),
        ("Statistics", {"is_superuser": False}, Level.NOTE),
    ],
)
def test_each_thing_that_is_not_in_order_has_its_level_and_says_so(name, changes, level):
    assert line(name, **changes).level is level


def test_a_log_in_that_failed_is_the_only_line_and_says_what_to_do():
    (row,) = checks(Seen(errors='FATAL:  no pg_hba.conf entry for host "10.0.0.7"'), EXPECTED)
    assert row.level is Level.STOPS and row.finding.startswith("PostgreSQL refused the log-in. psql said:")
    assert "pg_hba.conf" in row.advice
