"""Reading what is cut off, damaged, contradictory or not there at all."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Outputs
from runners.tools.pgbench.testing import (
    PGBENCH,
    SPEC,
    UNLOGGED,
    assert_failed,
    hand_made,
    numbers,
    printing,
    recorded,
    series,
)


def with_files(**files: bytes) -> Outputs:
    files_by_name = {name.replace("_", "."): content for name, content in files.items()}
    return replace(hand_made("14"), files=files_by_name)


def test_an_aborted_run_is_failed_whatever_its_exit_code() -> None:
    text = hand_made("14").stdout.decode()
    stderr = "pgbench: error: Run was aborted; the above results are incomplete.\n"
    assert_failed(PGBENCH.parse(UNLOGGED, printing(text, stderr)), "pgbench was aborted and said nothing about it.")


def test_errors_of_threads_that_wrote_at_once_are_each_said_once_and_without_prefixes() -> None:
    """As pgbench 18 wrote it with two threads."""
    stderr = """\
pgbench: error: undefined variable "nosuch"
pgbench: pgbench: error: undefined variable "nosuch"
pgbench: error: client 1 aborted in command 0 (set) of script 0; evaluation of meta-command failed
error: client 0 aborted in command 0 (set) of script 0; evaluation of meta-command failed
pgbench: error: Run was aborted; the above results are incomplete.
"""
    clients = "client {} aborted in command 0 (set) of script 0; evaluation of meta-command failed"
    expected = f'pgbench was aborted: undefined variable "nosuch"; {clients.format(1)}; {clients.format(0)}.'
    assert_failed(PGBENCH.parse(UNLOGGED, replace(printing("", stderr), returncode=2)), expected)


@pytest.mark.parametrize(
    ("tps", "reason"),
    [("nan", "printed nan"), ("-nan", "printed nan"), ("inf", "printed inf"), ("0.000000", "printed 0")],
)
def test_a_rate_that_is_no_number_is_no_result(tps: str, reason: str) -> None:
    text = hand_made("14").stdout.decode().replace("2004.750000", tps)
    assert_failed(PGBENCH.parse(UNLOGGED, printing(text)), reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "pgbench printed no summary, although it ended with code 0."),
        ("transaction type: SELECT only\nscaling fac", "cut off before the number of transactions"),
        (
            "number of transactions actually processed: 12\nlatency average = 3 ms\ntps = 400",
            "no line with the TPS",
        ),
        ("number of transactions actually processed: 0\n", "processed no transaction"),
        (" - number of transactions actually processed: 5 (tps = 5.0)\n", "cut off"),
    ],
)
def test_a_summary_that_is_cut_off_is_no_result(text: str, reason: str) -> None:
    assert_failed(PGBENCH.parse(UNLOGGED, printing(text)), reason)


def test_without_a_connection_each_the_rate_that_includes_connecting_is_not_enough() -> None:
    text = hand_made("10").stdout.decode().rpartition("tps")[0]
    assert_failed(PGBENCH.parse(UNLOGGED, printing(text)), "no line with the TPS")


def test_an_exit_code_without_words_is_a_reason_too() -> None:
    assert_failed(
        PGBENCH.parse(UNLOGGED, printing("", returncode=137)),
        "ended with code 137 and said nothing about it.",
    )
    missing = printing("", "command.sh: 12: /opt/pg/bin/pgbench: not found\n", 127)
    assert_failed(
        PGBENCH.parse(UNLOGGED, missing),
        "ended with code 127: command.sh: 12: /opt/pg/bin/pgbench: not found.",
    )


def test_bytes_that_are_no_text_do_not_break_the_reading() -> None:
    outputs = hand_made("9.4")
    spoiled = Outputs(0, b"\xff\x00\n" + outputs.stdout, b"\xc3\x28\n" + outputs.stderr + b"\xff")
    assert numbers(PGBENCH.parse(UNLOGGED, spoiled)) == numbers(PGBENCH.parse(UNLOGGED, outputs))


def test_a_late_progress_line_covers_the_seconds_since_the_one_before() -> None:
    stderr = (
        "progress: 1.0 s, 100.0 tps, lat 1.000 ms stddev 0.100, 3 failed\n"
        "progress: 4.0 s, 50.0 tps, lat 2.000 ms stddev 0.200, 6 failed\n"
        "progress: 4.0 s, 1.0 tps, lat 9.000 ms stddev 0.900, 9 failed\n"
        "progress: 5.0 s, 7"
    )
    result = PGBENCH.parse(UNLOGGED, printing(hand_made("14").stdout.decode(), stderr))
    assert series(result)["tps"] == (100, 50, 50, 50)
    assert series(result)["failed"] == (3, 2, 2, 2)


def test_a_metric_that_begins_late_is_padded_to_the_seconds_before() -> None:
    stderr = (
        "progress: 1.0 s, 100.0 tps, lat 1.000 ms stddev 0.100\n"
        "progress: 2.0 s, 100.0 tps, lat 1.000 ms stddev 0.100, 3 failed\n"
    )
    result = PGBENCH.parse(UNLOGGED, printing(hand_made("14").stdout.decode(), stderr))
    assert series(result)["failed"] == (0, 3)


def test_a_run_of_unknown_start_says_so() -> None:
    assert any(
        "When the run started is not known" in remark for remark in PGBENCH.parse(UNLOGGED, hand_made("9.4")).remarks
    )
    dated = replace(hand_made("9.4"), files={"started_epoch": b"1400000000\n"})
    result = PGBENCH.parse(UNLOGGED, dated)
    assert result.series[0].start_epoch_s == 1_400_000_000
    assert not any("not known" in remark for remark in result.remarks)


@pytest.mark.parametrize(
    ("files", "remark"),
    [
        ({}, "No percentiles: there is no reduced log."),
        (
            {"latency_hist": b"benchhub-latency 1\n"},
            "the reduced log cannot be read (The reduced log is cut off.)",
        ),
        (
            {"latency_error": b"awk: out of memory\n"},
            "could not be reduced on the driver (awk: out of memory)",
        ),
        ({"log_gz": b"not gzip"}, "the kept log is damaged"),
        ({"log_gz": gzip.compress(b"0 1 100 0 1 1\n" * 20)[:-9]}, "the kept log is damaged"),
    ],
)
def test_a_run_without_percentiles_is_a_result_and_says_why(files: dict[str, bytes], remark: str) -> None:
    result = PGBENCH.parse(SPEC, with_files(**files))
    assert numbers(result)["tps"] == 2004.75
    assert "latency_p50_ms" not in result.measures
    assert any(remark in full_remark for full_remark in result.remarks)


def test_what_was_dropped_is_said() -> None:
    reduced = b"benchhub-latency 1\n0 0 100 50\nscript 0 5000 100 100\nlines 50\nend\n"
    outputs = with_files(latency_hist=reduced, log_dropped=b"5574726\n")
    result = PGBENCH.parse(SPEC, outputs)
    assert numbers(result)["latency_p50_ms"] == 0.1
    assert any("5,574,726 bytes" in remark for remark in result.remarks)


def test_unreadable_lines_of_a_log_are_a_doubt() -> None:
    reduced = b"benchhub-latency 1\n0 0 100 50\nscript 0 5000 100 100\nkind unreadable 2\nlines 52\nend\n"
    result = PGBENCH.parse(replace(SPEC, duration_s=10), with_files(latency_hist=reduced))
    [doubt] = result.doubts
    assert doubt.code == "log-unreadable"
    assert "2 of the log's 52 lines" in doubt.text


def test_a_load_says_how_long_it_took() -> None:
    load = replace(SPEC, kind="load")
    stderr = "creating primary keys...\ndone in 0.21 s (drop tables 0.01 s, create tables 0.00 s).\n"
    assert numbers(PGBENCH.parse(load, printing("", stderr))) == {"load_s": 0.21}
    assert numbers(PGBENCH.parse(load, printing("", "set primary keys...\ndone.\n"))) == {}


def test_a_failed_load_says_why() -> None:
    load = replace(SPEC, kind="load")
    stderr = "creating tables...\npgbench: error: query failed: ERROR:  permission denied for schema public\n"
    assert_failed(
        PGBENCH.parse(load, printing("", stderr, 1)),
        "ended with code 1: query failed: ERROR:  permission denied",
    )


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 2), st.binary(max_size=100))
def test_no_output_breaks_the_parser(stdout: bytes, stderr: bytes, returncode: int, file: bytes) -> None:
    files = {"latency.hist": file, "log.gz": file, "started_epoch": file, "log.dropped": file}
    assert PGBENCH.parse(SPEC, Outputs(returncode, stdout, stderr, files)).outcome == "failed"
    summary = hand_made("14").stdout
    assert PGBENCH.parse(SPEC, Outputs(0, summary, stderr, files)).parser == "pgbench/7"


@given(st.integers(0, 700))
def test_every_cut_through_an_output_either_fails_or_changes_nothing(length: int) -> None:
    summary = recorded("18", "plain").stdout
    result = PGBENCH.parse(UNLOGGED, Outputs(0, summary[:length], b""))
    if result.outcome == "succeeded":
        assert numbers(result) == numbers(PGBENCH.parse(UNLOGGED, Outputs(0, summary, b"")))


@pytest.mark.parametrize("time", ["1.2.3", ".", "1" * 5000, "1e9"], ids=["points", "point", "long", "exponent"])
def test_a_load_whose_time_is_no_number_is_stored_without_it(time: str) -> None:
    result = PGBENCH.parse(replace(SPEC, kind="load"), printing("", f"done in {time} s (vacuum 0.01 s).\n"))
    assert (result.outcome, numbers(result)) == ("succeeded", {})
