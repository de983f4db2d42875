"""Each reason of a failure names the layer that failed: by hand first, then what pgbench really said."""

import pytest

from benchhub.bench.results.ingest import missing_server
from runners import tools
from runners.contract import Outputs
from runners.tools.layers import AWAY, NO_CLIENT, NO_SERVER_CONNECTION, with_layer

from .recordings import RECORDED, ended_run

ENDED = sorted(path.name for path in (RECORDED / "ended").iterdir() if "-whole" not in path.name)
ENDED_IT = "PostgreSQL ended the connection. "
REFUSED = "PostgreSQL refused a statement. "
PREPARED = "A pooler mixed up prepared statements: it needs max_prepared_statements, or to pool by session. "
UNREACHED = "PostgreSQL could not be reached from the driver. "


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ("server closed the connection unexpectedly", ENDED_IT),
        ("FATAL:  terminating connection due to administrator command", ENDED_IT),
        ("FATAL:  the database system is shutting down", ENDED_IT),
        ('connection to server at "10.0.0.7", port 5432 failed: Connection refused', UNREACHED),
        ('connection to server at "10.0.0.7", port 5432 failed: timeout expired', UNREACHED),
        ('could not translate host name "db" to address', "PostgreSQL's host could not be found by its name. "),
        ('FATAL:  password authentication failed for user "bench"', "PostgreSQL refused the log-in. "),
        ('FATAL:  database "bench" does not exist', "PostgreSQL refused the log-in. "),
        ("FATAL:  sorry, too many clients already", "PostgreSQL had no connection left. "),
        ('client 3 aborted in command 4: ERROR:  relation "pgbench_accounts" does not exist', REFUSED),
        ("ERROR:  division by zero", REFUSED),
        ('ERROR:  prepared statement "P_2" already exists', PREPARED),
        ('PQexecPrepared() failed: 7 prepared statement "sbstmt-7" does not exist', PREPARED),
        ("FATAL:  SSL required", "PostgreSQL refused the log-in. "),
        (
            'ERROR:  could not extend file "base/5/1": No space left on device',
            "The disk of PostgreSQL's host is full. ",
        ),
        ("pgbench: could not write log: No space left on device", "The driver's disk is full. "),
        ("ERROR:  out of memory", "PostgreSQL's host ran out of memory. "),
        ("out of memory", "The driver ran out of memory. "),
        (
            "OS rule error: sudo: a password is required",
            "BenchHub may not change settings of the operating system there: its helper and the rule for sudo are "
            "missing. ",
        ),
        (
            "OS setting error: vm.swappiness: this kernel does not have it",
            "The operating system did not take a setting. ",
        ),
        ("./command.sh: 34: Cannot fork", "The driver allows too few open files or processes. "),
        ("File size limit exceeded", "The account on the driver may write no larger files. "),
        ("could not open log file: Too many open files", "The driver allows too few open files or processes. "),
    ],
)
def test_what_the_messages_blame_stands_before_the_reason(messages, sentence):
    assert with_layer(f"pgbench was aborted: {messages}.") == f"{sentence}pgbench was aborted: {messages}."


@pytest.mark.parametrize(
    "reason",
    [
        "pgbench was aborted and said nothing about it.",
        "pgbench ended with code 127: not found.",
        "pgbench's summary is cut off before the number of transactions.",
        'The check of the scripts failed: Script 1, line 3: error: syntax error at or near "SELEC".',
    ],
)
def test_a_reason_whose_messages_blame_nothing_else_stands_as_it_is(reason):
    assert with_layer(reason) == reason


def sentence_for(name: str) -> str:
    kinds = {"refused": UNREACHED, "table_dropped": REFUSED, "too_many": "PostgreSQL had no connection left. "}
    return next((sentence for kind, sentence in {"killed": ENDED_IT, **kinds}.items() if kind in name), "")


@pytest.mark.parametrize("name", ENDED)
def test_a_recorded_end_is_blamed_on_what_really_broke(name):
    spec, outputs = ended_run(name)
    reason = tools.get("pgbench").parse(spec, outputs).reason
    assert reason and with_layer(reason) == sentence_for(name) + reason


@pytest.mark.parametrize(
    ("returncode", "stderr", "layer"),
    [
        (97, "The server cannot be asked: psql: error: Connection refused\nThe check failed.\n", AWAY),
        (96, "The server cannot be asked: psql: error: Connection refused\nThe check of the pooler failed.\n", AWAY),
        (96, "Server setting error: The server cannot be asked: Connection refused\n", None),
        (96, "The server cannot be asked: It did not answer within 15 s.\nThe check of the pooler failed.\n", AWAY),
        (96, "It did not answer within 15 s.\nConnection refused\n", None),
        (96, "The server cannot be asked: psql: error: FATAL:  query_wait_timeout\n", NO_SERVER_CONNECTION),
        (96, "The server cannot be asked: psql: error: FATAL:  no more connections allowed\n", NO_CLIENT),
        (2, "The server cannot be asked: psql: error: FATAL:  query_wait_timeout\n", None),
        (95, "The server cannot be asked: psql: error: Connection refused\n", None),
    ],
)
def test_a_step_before_the_load_met_no_server_where_it_says_so_itself(returncode, stderr, layer):
    assert missing_server(Outputs(returncode, b"", stderr.encode())) is layer
