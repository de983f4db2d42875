"""Claims of sysbench's reports, and how its runs end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners import tools
from runners.contract import Outputs
from runners.tools.pgbench.testing import RECORDED, SPEC
from runners.tools.printed import END_UNSEEN

SYSBENCH = tools.get("sysbench")
ENDED = RECORDED / "ended-sysbench"
REPORT = (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_text()
RUN = replace(
    SPEC, tool="sysbench", tool_version="1.0.20", parameters={"script": "oltp_read_write"}, clients=4, threads=4,
    duration_s=15,
)  # fmt: skip
COUNTS = """\
    queries performed:
        read:                            {read}
        write:                           {write}
        other:                           {other}
        total:                           {total}
    transactions:                        1000   (100.00 per sec.)
    ignored errors:                      {errors}      (0.00 per sec.)
General statistics:
    total time:                          {took}s
Latency (ms):
         max:                                  {longest}
"""


def contradicted(text: str, *, is_own: bool = False, **changes: object) -> dict[str, str]:
    spec, outputs = replace(RUN, **changes), Outputs(0, text.encode(), b"")  # type: ignore[arg-type]
    return {claim.code: claim.text for claim in SYSBENCH.contradictions(spec, outputs, is_own=is_own)}


def counts(read: int, write: int, errors: int = 0, took: str = "10.0050", longest: str = "20.00") -> str:
    numbers = {"read": read, "write": write, "other": 2_000, "total": read + write + 2_000}
    return COUNTS.format(**numbers, errors=errors, took=took, longest=longest)


def test_the_recorded_report_is_of_its_run() -> None:
    assert contradicted(REPORT) == {}
    assert contradicted(REPORT, tool_version="1.1.0") == {
        "client-version": "The output is of sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3), not of 1.1.0."
    }
    assert contradicted(REPORT, tool_version="16.4", is_own=True) == {}


def test_where_the_threads_are_cut_off_the_intervals_name_them() -> None:
    tail = REPORT.partition("Threads started!")[2]
    assert contradicted(tail) == {}
    assert list(contradicted(tail, clients=8, threads=8)) == ["clients", "threads"]
    old = "[   1s] threads: 16, tps: 100.00, reads: 1400.00, writes: 400.00\n"
    assert contradicted(old, clients=16, threads=16) == {}
    assert list(contradicted(old)) == ["clients", "threads"]


@pytest.mark.parametrize(
    ("read", "write", "errors", "scripts"),
    [
        (14_000, 4_000, 0, {"oltp_read_write"}),
        # 30 transactions were tried again, each after some of its statements.
        (14_200, 4_030, 30, {"oltp_read_write"}),
        (1_000, 0, 0, {"oltp_point_select"}),
        (14_000, 0, 0, set()),
        (0, 4_000, 0, set()),
        (10_000, 4_000, 0, set()),
        # Of a warm-up that ended within transactions.
        (13_970, 4_001, 0, {"oltp_read_write"}),
        (16_000, 4_000, 0, set()),
    ],
)
def test_the_statements_of_each_transaction_tell_the_script(
    read: int, write: int, errors: int, scripts: set[str]
) -> None:
    text = counts(read, write, errors)
    for script in ("oltp_read_write", "oltp_point_select"):
        codes = list(contradicted(text, duration_s=10, parameters={"script": script}))
        assert codes == ([] if script in scripts else ["script"])


@pytest.mark.parametrize(
    ("took", "longest", "duration_s", "is_same"),
    [
        ("10.0050", "20.00", 10, True),
        ("10.0050", "20.00", 11, False),
        ("10.0050", "20.00", 9, False),
        # The last event is waited for.
        ("12.9050", "3000.00", 10, True),
        ("12.9050", "20.00", 10, False),
        # A number of events was asked for.
        ("7.6310", "20.00", 8, True),
        ("600.9000", "20.00", 600, True),
        ("600.9000", "20.00", 60, False),
    ],
)
def test_the_total_time_tells_the_duration(took: str, longest: str, duration_s: int, is_same: bool) -> None:
    text = counts(14_000, 4_000, took=took, longest=longest)
    assert list(contradicted(text, duration_s=duration_s)) == ([] if is_same else ["duration"])


def test_a_rate_is_no_load_that_runs_as_fast_as_it_can() -> None:
    text = REPORT.replace("Number of threads: 4\n", "Number of threads: 4\nTarget transaction rate: 100/sec\n")
    assert contradicted(text) == {
        "rate-limit": "The output is of transactions at a rate (--rate) of 100/sec, not of as many as can be."
    }


def test_a_command_line_beside_the_report_names_another_database() -> None:
    text = f"$ sysbench --db-driver=mysql oltp_read_write run\n{REPORT}"
    assert contradicted(text) == {"database": "The output is of a run on MySQL, not of one on PostgreSQL."}
    assert contradicted(text.replace("=mysql", "=pgsql")) == {}


def test_a_run_that_lost_its_table_or_its_server_is_no_result_whatever_its_code() -> None:
    for name, reason in (("table_dropped", 'relation "sbtest1" does not exist'), ("backend_killed", "no transactions")):
        text = (ENDED / f"1.0.20-{name}.txt").read_bytes()
        for outputs in (Outputs(None, text, b""), Outputs(0, text, b""), Outputs(None, b"", text)):
            result = SYSBENCH.parse(RUN, outputs)
            assert (result.outcome, result.measures) == ("failed", {})
            assert reason in result.reason or not outputs.stdout


def test_a_report_after_a_fatal_error_is_no_result() -> None:
    result = SYSBENCH.parse(RUN, Outputs(None, f"FATAL: PQexec() failed: 7 boom\n{REPORT}".encode(), b""))
    assert (result.outcome, result.reason) == ("failed", "sysbench was aborted: PQexec() failed: 7 boom.")


def test_an_end_that_was_not_seen_is_remarked_and_no_doubt() -> None:
    for outputs, is_remarked in (
        (Outputs(None, REPORT.encode(), b""), True),
        (Outputs(0, REPORT.encode(), b""), False),
        (Outputs(None, REPORT.encode(), b"a warning"), False),
    ):
        result = SYSBENCH.parse(RUN, outputs)
        assert (result.outcome, result.doubts, END_UNSEEN in result.remarks) == ("succeeded", (), is_remarked)


def test_where_its_head_is_cut_off_the_averages_of_the_threads_tell_their_number() -> None:
    tail = "SQL statistics:" + REPORT.partition("SQL statistics:")[2]
    assert contradicted(tail) == {}
    assert list(contradicted(tail, clients=8, threads=8)) == ["clients", "threads"]
