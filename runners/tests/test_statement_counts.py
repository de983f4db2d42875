"""What pg_stat_statements counted of a load: from two snapshots, and from a server that has it."""

import json
import subprocess
from pathlib import Path

import psycopg
import pytest

from runners.counters import deltas, parse_snapshot, snapshot_command
from runners.counters.sql import snapshot_sql
from runners.counters.statements import CHOICE, MOST_ROWS, PROBE, TEXT
from runners.telemetry.statements import statements
from tests.servers import DEBIAN_15, new_cluster

LIBRARY = Path("/usr/lib/postgresql/15/lib/pg_stat_statements.so")
SERVER = {"server_version_num": 180000, "postmaster_start_epoch_s": 7, "in_recovery": False}


def statement(key, calls, total_ms, query="SELECT $1"):
    return {"id": str(key), "query": query, "calls": calls, "rows": calls, "total_ms": total_ms}


def lines(rows, server=(), identifier="1", **head):
    head = {"counted": len(rows), "reset_epoch_s": 1.5, "dropped": 0, "is_nested": False, **head}
    texts = [f"server|{json.dumps({**SERVER, **dict(server)})}", f'system_identifier|"{identifier}"']
    texts += [f"statements|{json.dumps(head)}"]
    return "\n".join([*texts, *(f"statement|{json.dumps(row, ensure_ascii=False)}" for row in rows), ""])


def between(before, after):
    """Return the statements between two snapshots, and the sentences about them."""
    changes = deltas(*(parse_snapshot(text.encode()) for text in (before, after)))
    return changes.get("pg_stat_statements", []), [text for text in changes["remarks"] if "tatements" in text]


def test_statements_are_those_that_ran_in_between_with_the_longest_in_all_first():
    before = lines([statement(1, 10, 5.0), statement(2, 7, 1.0)])
    after = lines([statement(1, 14, 6.0), statement(2, 7, 1.0), statement(4, 2, 8.0, "END")])
    rows = [{"query": "END", "calls": 2, "rows": 2, "total_ms": 8.0}]
    rows += [{"query": "SELECT $1", "calls": 4, "rows": 4, "total_ms": 1.0}]
    assert between(before, after) == (rows, [])


ROW = statement(1, 9_000_000_000, 5.0)
WITHOUT = lines([ROW]).partition("statements|")[0]


@pytest.mark.parametrize(
    ("before", "after", "when"),
    [
        (WITHOUT, lines([ROW]), "before"),
        (lines([ROW]), WITHOUT, "after"),
        (lines([ROW], counted=2), lines([ROW]), "before"),
        (lines([{**ROW, "calls": True}]), lines([ROW]), "before"),
        (lines([ROW, ROW]), lines([ROW]), "before"),
        (lines([ROW], dropped="x"), lines([ROW]), "before"),
        (lines([ROW]) + "statements|{\n", lines([ROW]), "before"),
    ],
)
def test_nothing_grew_where_a_snapshot_has_not_all_the_statements_that_it_lists(before, after, when):
    assert between(before, after) == ([], [f"No statements: they could not be read {when} the run."])


def test_statements_that_could_not_be_read_whole_on_either_side_are_a_sentence_and_those_that_are_not_there_none():
    cut = lines([ROW], counted=2)
    assert between(cut, cut) == ([], ["No statements: they could not be read before and after the run."])
    assert between(WITHOUT, WITHOUT) == ([], [])


def test_a_text_with_other_ends_of_lines_is_a_text():
    after = lines([statement(1, 1, 1.0, "SELECT a\u2028b\x85c")])
    assert between(lines([]), after)[0][0]["query"] == "SELECT a\u2028b\x85c"


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ({"identifier": "2"}, "No statements: another server answered after the run than before it."),
        ({"server": {"postmaster_start_epoch_s": 8}}, "No statements: the server was restarted in between."),
        ({"reset_epoch_s": 2.5}, "pg_stat_statements was reset in between: its counters say nothing."),
    ],
)
def test_what_began_anew_in_between_has_no_growth(head, sentence):
    rows, remarks = between(lines([statement(1, 1, 1.0)]), lines([statement(1, 5, 5.0)], **head))
    assert rows == [] and sentence.partition(": its")[0] in remarks[0] and len(remarks) == 1


def test_a_statement_that_went_back_or_was_forgotten_is_told():
    before = lines([statement(1, 9, 9.0), statement(2, 1, 1.0)])
    rows, remarks = between(before, lines([statement(1, 3, 3.0), statement(2, 2, 2.0)], dropped=1, is_nested=True))
    assert [row["calls"] for row in rows] == [1]
    assert "forgot" in remarks[0] and "1 of its statements went back" in remarks[1] and "twice" in remarks[-1]


@pytest.mark.parametrize("reset_epoch_s", [None, 1.5])
@pytest.mark.parametrize("others", [[], [statement(2, 1, 1.0)]])
def test_where_others_are_gone_or_went_back_what_is_listed_is_told_to_be_the_least_that_ran(others, reset_epoch_s):
    before = lines([statement(1, 9, 9.0), statement(2, 5, 5.0)], reset_epoch_s=reset_epoch_s)
    after = [statement(1, 12, 12.0), *others]
    rows, remarks = between(before, lines(after, reset_epoch_s=reset_epoch_s))
    assert [row["calls"] for row in rows] == [3]
    assert remarks[-1] == "pg_stat_statements lost some in between, as by a reset: at least so much ran as it lists."


def test_where_statements_count_those_within_functions_calls_alone_are_the_least_that_ran():
    before, after = lines([statement(1, 1, 1.0), statement(2, 5, 5.0)]), lines([statement(1, 2, 2.0)], is_nested=True)
    _, remarks = between(before, after)
    assert "at least so many calls ran" in remarks[0] and "twice" in remarks[1] and len(remarks) == 2


def test_statements_that_were_forgotten_are_not_told_a_second_time_as_lost():
    before = lines([statement(1, 1, 1.0), statement(2, 5, 5.0)])
    _, remarks = between(before, lines([statement(1, 2, 2.0)], dropped=1))
    assert "forgot" in remarks[0] and len(remarks) == 1


def test_a_new_statement_has_its_growth_unless_some_were_left_out_before_which_is_told():
    many = [statement(key, 1, 2.0) for key in range(MOST_ROWS)]
    after = [*many[1:], statement("new", 3, 1.5)]
    assert [row["calls"] for row in between(lines(many), lines(after))[0]] == [3]
    rows, remarks = between(lines(many, counted=MOST_ROWS + 2), lines(after))
    assert rows == [] and "the 2 shortest in all" in remarks[0]


def test_a_statement_without_a_text_has_its_number():
    assert between(lines([]), lines([statement(7, 1, 1.0, None)]))[0][0]["query"] == (
        "(the text of statement 7 is not shown)"
    )


def test_no_backslash_stands_in_what_a_server_may_read_as_it_likes():
    assert "\\" not in CHOICE + PROBE


@pytest.fixture(scope="module")
def counting(request):
    """Return a cluster with pg_stat_statements in its database."""
    if not LIBRARY.exists():
        pytest.skip("PostgreSQL 15 with pg_stat_statements is not installed")
    settings = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all"}
    cluster = new_cluster("counting", 15, request, settings)
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        connection.execute("CREATE TABLE t (a text)")
        connection.execute("CREATE ROLE other SUPERUSER LOGIN")
    return cluster


def environment_of(cluster, options=""):
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "PGUSER": cluster.username, "PGOPTIONS": options}
    who = {"PGDATABASE": cluster.database, "PGPASSWORD": cluster.password}
    return {"PATH": "/usr/bin:/bin", "PGAPPNAME": "x", **where, **who}


def taken(cluster, folder, options=""):
    command, environment = ["/bin/sh", "-c", snapshot_command(str(DEBIAN_15))], environment_of(cluster, options)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout


def psql_output(cluster, text):
    """Return what psql prints of SQL, as it is asked beside a load."""
    command = [DEBIAN_15 / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    environment, data = environment_of(cluster), f"\\set at 1\n\\set awaited nobody\n{text}".encode()
    return subprocess.run(command, env=environment, input=data, capture_output=True, check=True).stdout.decode()


def test_what_telemetry_asks_is_not_listed_as_what_the_load_ran(counting, tmp_path):
    before = taken(counting, tmp_path)
    assert "pg 2 " in psql_output(counting, f"{statements()}EXECUTE sample('2');\n")
    changes = deltas(parse_snapshot(before), parse_snapshot(taken(counting, tmp_path)))
    assert "pg_stat_statements" not in changes


# From 18 on a prepared statement may be listed without the words PREPARE ... AS.
def test_each_statement_that_is_prepared_beside_a_load_has_the_mark_within(counting):
    listing = "SELECT name, replace(statement, chr(10), ' ') FROM pg_prepared_statements;\n"
    lines = psql_output(counting, f"{statements()}{snapshot_sql()}{listing}").splitlines()
    prepared = [line.partition(" AS ")[2].split(" ", 1) for line in lines if "|PREPARE " in line]
    assert len(prepared) == 8 and all(text.startswith("/* benchhub */ ") for _, text in prepared), prepared


@pytest.mark.parametrize("options", ["", "-c standard_conforming_strings=off -c escape_string_warning=off"])
def test_a_server_counts_what_its_user_ran_of_data_and_transactions_at_the_top_alone(counting, tmp_path, options):
    before = taken(counting, tmp_path, options)
    with psycopg.connect(counting.url, autocommit=True) as connection:
        for _ in range(3):
            connection.execute("/* x */ -- y\n (SELECT a FROM t WHERE a = 'secret-1')")
        connection.execute("DO $$ BEGIN PERFORM count(*) FROM t; END $$")
        connection.execute("ALTER ROLE other PASSWORD 'secret-2'")
        connection.execute("SET ROLE other")
        connection.execute("INSERT INTO t VALUES ('secret-3')")
    changes = deltas(parse_snapshot(before), parse_snapshot(taken(counting, tmp_path, options)))
    assert not [text for text in changes["remarks"] if "psql said" in text or "tatements" in text]
    rows = [(row["query"], row["calls"]) for row in changes["pg_stat_statements"]]
    assert rows == [("/* x */ -- y\n (SELECT a FROM t WHERE a = $1)", 3)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("SELECT 'secret', 'it''s secret' FROM t", "SELECT '...', '...''...' FROM t"),
        ("SELECT E'a\\'secret' FROM t", None),
        ("SELECT $a$secret$a$ FROM t", None),
        ("/* don't */ SELECT 'secret' FROM t", None),
        ("BEGIN; ALTER ROLE x PASSWORD 'secret'; COMMIT", None),
        ("SELECT $1 + $2 FROM t;", "SELECT $1 + $2 FROM t;"),
    ],
)
def test_the_literals_of_a_text_that_was_not_normalised_are_not_told(counting, text, query):
    with psycopg.connect(counting.url, autocommit=True) as connection:
        rows = connection.execute(
            f"SELECT {TEXT} FROM (SELECT 1 AS place, $q${text}$q$::text AS query) AS s"
        ).fetchall()
    assert rows == [(query,)]


def test_why_a_server_that_has_the_statements_does_not_list_them_is_one_sentence(counting, tmp_path):
    with psycopg.connect(counting.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        connection.execute("SELECT '\u20ac' AS \"\u20ac\"")
    latin = f"{counting.url.rpartition('/')[0]}/latin"
    with psycopg.connect(latin, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        with pytest.raises(psycopg.Error, match="no equivalent"):
            connection.execute("SELECT count(query) FROM pg_stat_statements")
    there = type("There", (), {"port": counting.port, "username": counting.username, "database": "latin",
                               "password": counting.password})  # fmt: skip
    snapshot = parse_snapshot(taken(there, tmp_path))
    assert not any("psql said" in remark for remark in snapshot.remarks)
    [remark] = [text for text in deltas(snapshot, snapshot)["remarks"] if "tatements" in text]
    assert remark.startswith("No statements: they could not be read before and after the run: character with byte")
