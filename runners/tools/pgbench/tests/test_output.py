"""Reading results: hand-made output of old versions, then what pgbench 13 to 16 and 18 really printed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.contract import RunSpec
from runners.tools.kinds import StatementLatency
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

VERSIONS = ("13", "14", "15", "16", "18")
# Those that count failures and try again.
RETRYING = VERSIONS[2:]


def with_parameters(**parameters: Any) -> RunSpec:
    return replace(UNLOGGED, parameters={**SPEC.parameters, **parameters})


def test_9_3_prints_two_rates_and_no_latency() -> None:
    measures = numbers(PGBENCH.parse(UNLOGGED, hand_made("9.3")))
    assert measures == {
        "tps": 20010.654321,
        "tps_including": 19990.123456,
        "tps_excluding": 20010.654321,
        "transactions": 200_000,
        "reported_scale": 10,
        "reported_clients": 8,
        "reported_threads": 4,
    }


def test_9_4_prints_its_latency_with_a_colon() -> None:
    result = PGBENCH.parse(UNLOGGED, hand_made("9.4"))
    measures = numbers(result)
    assert (measures["tps"], measures["latency_average_ms"], measures["latency_stddev_ms"]) == (
        1999,
        4.002,
        1.25,
    )
    assert series(result) == {
        "tps": (1990, 2005),
        "latency_ms": (4.01, 3.99),
        "latency_stddev_ms": (1.2, 1.3),
    }


def test_a_rate_of_nothing_beside_one_of_something_is_no_result() -> None:
    """A run whose duration follows from it would have lasted for ever."""
    text = re.sub(r"tps = \S+ \(including", "tps = 0.000000 (including", recorded("13", "plain").stdout.decode())
    result = PGBENCH.parse(UNLOGGED, replace(recorded("13", "plain"), stdout=text.encode()))
    assert (result.outcome, "printed 0.0 as its TPS" in result.reason) == ("failed", True)


def test_an_average_that_is_no_number_is_remarked() -> None:
    text = hand_made("9.4").stdout.decode().replace("average: 4.002", "average: nan")
    result = PGBENCH.parse(UNLOGGED, replace(hand_made("9.4"), stdout=text.encode()))
    assert "The line 'latency average: nan ms' cannot be read: its number is left out." in result.remarks


def test_a_deviation_that_rounding_took_below_nothing_is_none() -> None:
    """What is not printed of a transaction that was timed would have its average taken for one of clients and rate."""
    text = hand_made("9.4").stdout.decode().replace("stddev: 1.250", "stddev: -nan")
    result = PGBENCH.parse(UNLOGGED, replace(hand_made("9.4"), stdout=text.encode()))
    assert numbers(result)["latency_stddev_ms"] == 0


def test_9_5_prints_lag_and_skipped_and_nan_where_nothing_ran() -> None:
    result = PGBENCH.parse(UNLOGGED, hand_made("9.5"))
    measures = numbers(result)
    assert (measures["rate_limit_lag_average_ms"], measures["rate_limit_lag_max_ms"]) == (0.4, 9.1)
    assert (measures["skipped_transactions"], measures["late_transactions"]) == (12, 7)
    assert series(result) == {
        "tps": (500, 0),
        "latency_ms": (3.5, 0),
        "latency_stddev_ms": (0.9, 0),
        "lag_ms": (0.4, 0),
        "skipped": (3, 9),
    }


def test_9_6_prints_scripts_apart_whose_numbers_are_not_the_runs() -> None:
    measures = numbers(PGBENCH.parse(UNLOGGED, hand_made("9.6")))
    assert (measures["tps"], measures["transactions"], measures["latency_average_ms"]) == (1000.5, 10_000, 4)


def test_10_derives_its_latency_when_it_does_not_report_progress() -> None:
    result = PGBENCH.parse(UNLOGGED, hand_made("10"))
    assert numbers(result)["latency_average_ms"] == 0.2
    assert "latency_stddev_ms" not in result.measures
    assert any("derived" in remark for remark in result.remarks)


def test_10_ends_with_code_0_when_all_clients_abort() -> None:
    assert_failed(PGBENCH.parse(UNLOGGED, hand_made("10_all_aborted")), "pgbench was aborted: client 0 aborted")


def test_with_a_connection_each_connecting_is_part_of_the_rate() -> None:
    reconnecting = with_parameters(connect_each=True)
    measures = numbers(PGBENCH.parse(reconnecting, hand_made("13_connect_each")))
    assert (measures["tps"], measures["tps_including"], measures["tps_excluding"]) == (499.9, 499.9, 2100)
    measures = numbers(PGBENCH.parse(reconnecting, hand_made("14_connect_each")))
    assert (measures["tps"], measures["average_connection_time_ms"]) == (500.1, 3.1)
    assert "tps_including" not in measures


def test_14_prints_one_rate() -> None:
    measures = numbers(PGBENCH.parse(UNLOGGED, hand_made("14")))
    assert (measures["tps"], measures["initial_connection_time_ms"]) == (2004.75, 25.5)
    assert "tps_excluding" not in measures


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["plain", "progress", "vacuumed", "other_scale"])
def test_recorded_runs_obey_the_arithmetic(version: str, case: str) -> None:
    outputs = recorded(version, case)
    measures = numbers(PGBENCH.parse(UNLOGGED, outputs))
    duration_s = 3 if case == "progress" else 1
    assert ("initial_connection_time_ms" in measures) is (version != "13")
    loaded_s = duration_s - measures.get("initial_connection_time_ms", 0) / 1000
    assert measures["tps"] == pytest.approx(measures["transactions"] / loaded_s, rel=0.02)
    assert measures.get("failed_transactions") == (0 if version in RETRYING else None)


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_progress_is_a_series_that_agrees_with_the_summary(version: str) -> None:
    outputs = replace(recorded(version, "progress"), files={"started_epoch": b"1700000000\n"})
    result = PGBENCH.parse(UNLOGGED, outputs)
    assert {(line.start_epoch_s, line.step_s) for line in result.series} == {(1_700_000_000, 1.0)}
    tps = series(result)["tps"]
    assert sum(tps) / len(tps) == pytest.approx(numbers(result)["tps"], rel=0.1)
    assert series(result).get("failed") == ((0,) * len(tps) if version in RETRYING else None)
    assert any("timed them one by one" in remark for remark in result.remarks)


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_rate_limited_runs_have_lag_and_skipped(version: str) -> None:
    spec = replace(with_parameters(rate_tps=60, latency_limit_ms=20), log_sampling_rate=1.0)
    result = PGBENCH.parse(spec, recorded(version, "rate_limited"))
    measures = numbers(result)
    assert measures["late_transactions"] == measures["transactions"] == measures["logged_transactions"]
    assert measures["skipped_transactions"] >= sum(series(result)["skipped"]) > 0
    assert 0 < measures["rate_limit_lag_average_ms"] < measures["rate_limit_lag_max_ms"] < 20
    assert any("skipped" in remark for remark in result.remarks)


@pytest.mark.parametrize("version", RETRYING)
def test_recorded_failures_are_counted_and_left_out_of_percentiles(version: str) -> None:
    spec = replace(with_parameters(max_tries=3, failures_detailed=True), log_sampling_rate=1.0)
    result = PGBENCH.parse(spec, recorded(version, "failures"))
    measures = numbers(result)
    assert measures["failed_transactions"] == measures["serialization_failures"] > 0
    assert measures["deadlock_failures"] == 0
    assert measures["retries"] > measures["retried_transactions"] > 0
    assert measures["logged_transactions"] == measures["transactions"]
    assert sum(series(result)["retries"]) <= measures["retries"]
    assert any(f"{measures['failed_transactions']:.0f} serialization" in remark for remark in result.remarks)


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_scripts_have_a_histogram_each(version: str) -> None:
    result = PGBENCH.parse(SPEC, recorded(version, "several_scripts"))
    assert [histogram.name for histogram in result.histograms] == [
        "latency",
        "latency of script 0",
        "latency of script 1",
    ]
    assert result.histograms[0].total == numbers(result)["transactions"]
    # The first script sleeps 5 ms, the second 10 ms.
    assert 5_000 <= result.histograms[1].min_us < 10_000 <= result.histograms[2].min_us
    assert numbers(result)["logged_latency_average_ms"] == pytest.approx(
        numbers(result)["latency_average_ms"], abs=0.001
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_sampled_run_says_so_beside_its_percentiles(version: str) -> None:
    result = PGBENCH.parse(replace(SPEC, log_sampling_rate=0.01), recorded(version, "sampled"))
    assert result.histograms[0].sampling_rate == 0.01
    measures = numbers(result)
    counts = f"{measures['logged_transactions']:,.0f} of {measures['transactions']:,.0f}"
    assert f"Percentiles are from 1 of 100 transactions: {counts}." in result.remarks
    assert measures["logged_transactions"] == pytest.approx(measures["transactions"] / 100, rel=0.3)
    assert measures["latency_p50_ms"] <= measures["latency_p90_ms"] <= measures["latency_p95_ms"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_percentile_of_too_few_transactions_is_not_given(version: str) -> None:
    result = PGBENCH.parse(SPEC, recorded(version, "logged"))
    measures = numbers(result)
    assert measures["logged_transactions"] == 40
    assert "latency_p50_ms" in measures
    assert "latency_p90_ms" not in measures
    assert "No p90, p95, p99: only 40 transactions were logged." in result.remarks


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_run_with_a_connection_each_counts_connecting(version: str) -> None:
    measures = numbers(PGBENCH.parse(with_parameters(connect_each=True), recorded(version, "connect_each")))
    assert measures["tps"] * measures["latency_average_ms"] / 1000 == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_aborted_pgbench_gives_no_measures(version: str) -> None:
    everyone = PGBENCH.parse(UNLOGGED, recorded(version, "all_aborted"))
    assert_failed(everyone, "pgbench was aborted: client ")
    assert "division by zero" in everyone.reason
    # Here a TPS was printed, and is no result.
    assert b"tps = " in recorded(version, "one_aborted").stdout
    assert_failed(PGBENCH.parse(UNLOGGED, recorded(version, "one_aborted")), "client 0 script 0 aborted")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("wrong_database", 'database "nowhere" does not exist'),
        (
            "contradicting_options",
            "specify either a number of transactions (-t) or a duration (-T), not both",
        ),
    ],
)
def test_a_bad_configuration_fails_with_what_pgbench_said(version: str, case: str, reason: str) -> None:
    result = PGBENCH.parse(UNLOGGED, recorded(version, case))
    assert_failed(result, reason)
    assert result.reason.startswith("pgbench ended with code 1: ")
    assert "pgbench: error" not in result.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_a_warning_of_pgbench_is_remarked(version: str) -> None:
    result = PGBENCH.parse(UNLOGGED, recorded(version, "other_scale"))
    assert numbers(result)["reported_scale"] == 1
    assert any("scale option ignored" in remark for remark in result.remarks)


def test_a_warm_up_is_kept_as_a_series_of_its_own_before_the_measured_part_and_is_in_no_measure():
    outputs = recorded("18", "progress")
    warmup_stderr = b"".join(
        b"progress: %d.0 s, %d.0 tps, lat 1.000 ms stddev 0.100\n" % second for second in ((1, 50), (2, 70))
    )
    files = {**outputs.files, "started_epoch": b"1000\n", "warmup.err": warmup_stderr}
    without_warmup, with_warmup = (
        PGBENCH.parse(UNLOGGED, outputs),
        PGBENCH.parse(UNLOGGED, replace(outputs, files=files)),
    )
    [warmup] = [line for line in with_warmup.series if line.metric == "warmup_tps"]
    assert (warmup.values, warmup.start_epoch_s, warmup.unit) == ((50.0, 70.0), 998.0, "TPS")
    assert series(with_warmup)["tps"] == series(without_warmup)["tps"]
    assert with_warmup.measures == without_warmup.measures
    assert "warmup_tps" not in series(without_warmup)


@pytest.mark.parametrize(
    ("line", "damaged", "measure"),
    [
        ("latency average = ", "latency average = -", "latency_average_ms"),
        ("initial connection time = ", "initial connection time = O", "initial_connection_time_ms"),
        ("number of clients: ", "number of clients: -", "reported_clients"),
    ],
)
def test_a_line_whose_number_cannot_be_read_is_remarked_and_in_no_measure(
    line: str, damaged: str, measure: str
) -> None:
    outputs = recorded("18", "progress")
    whole = PGBENCH.parse(UNLOGGED, outputs)
    result = PGBENCH.parse(UNLOGGED, replace(outputs, stdout=outputs.stdout.replace(line.encode(), damaged.encode())))
    assert not any("cannot be read" in remark for remark in whole.remarks)
    assert whole.measures.keys() - result.measures.keys() == {measure}
    assert any(remark.startswith(f"The line '{damaged}") for remark in result.remarks)


@pytest.mark.parametrize("version", RETRYING)
def test_a_summary_without_its_failures_is_no_result(version: str) -> None:
    outputs = recorded(version, "progress")
    stdout = b"".join(line for line in outputs.stdout.splitlines(keepends=True) if b"failed transactions" not in line)
    result = PGBENCH.parse(UNLOGGED, replace(outputs, stdout=stdout))
    assert "no line with the number of failed transactions" in result.reason


@pytest.mark.parametrize(
    ("server", "remarks"),
    [
        ("15.18 (Debian 15.18-0+deb12u1)", 0),
        ("19devel", 0),
        ("16.4.1", 0),
        ("11.2-YB-2024.2.0.0-b0", 1),
    ],
)
def test_a_server_that_calls_itself_otherwise_is_remarked(server: str, remarks: int) -> None:
    outputs = recorded("18", "plain")
    text = b"pgbench (18.4, server " + server.encode() + b")\n" + outputs.stdout.partition(b"\n")[2]
    result = PGBENCH.parse(UNLOGGED, replace(outputs, stdout=text))
    assert sum(remark.startswith(f"The server calls itself {server}") for remark in result.remarks) == remarks


def test_the_average_that_old_versions_derive_from_no_duration_is_left_out() -> None:
    text = recorded("13", "logged").stdout.decode()
    text = re.sub(r"latency average = \S+", "latency average: 0.000", text)
    text = re.sub(r"duration: 3 s", "number of transactions per client: 10", text)
    assert "per client: 10" in text
    spec = replace(UNLOGGED, tool_version="9.5.3", duration_s=0)
    result = PGBENCH.parse(spec, printing(text))
    assert result.outcome == "succeeded" and "latency_average_ms" not in result.measures
    assert any("prints 0 as its average latency" in remark for remark in result.remarks)


@pytest.mark.parametrize("line", ["latency average = 0.000 ms", "latency average: 0.000 ms"])
def test_an_average_of_0_of_a_run_with_a_duration_is_held_against_its_rate(line: str) -> None:
    text = re.sub(r"latency average = \S+ ms", line, recorded("16", "plain").stdout.decode())
    result = PGBENCH.parse(UNLOGGED, printing(text))
    assert result.measures["latency_average_ms"].value == 0
    assert not any("prints 0 as its average latency" in remark for remark in result.remarks)


def test_the_report_by_statement_is_read_as_each_version_prints_it() -> None:
    folder = Path(__file__).parents[2] / "recorded" / "ended" / "16-one_killed_per_statement"
    rows = PGBENCH.statement_latencies((folder / "out.log").read_text())
    assert len(rows) == 11
    assert rows[0] == StatementLatency("", "\\set aid random(1, 100000 * :scale)", 0.001, 0)
    assert (rows[4].text, rows[4].average_ms) == ("BEGIN;", 0.163)
    # Two scripts with retries, as by 15; and one as by 9.4, by tabs and without failures.
    several = (
        "SQL script 1: a.sql\n - statement latencies in milliseconds, failures and retries:\n"
        "         0.500           1           7  SELECT 1;\nSQL script 2: b.sql\n"
        " - statement latencies in milliseconds, failures and retries:\n"
        "         1.250           0           0  SELECT 2, 3;\n"
    )
    assert PGBENCH.statement_latencies(several) == (
        StatementLatency("a.sql", "SELECT 1;", 0.5, 1, 7), StatementLatency("b.sql", "SELECT 2, 3;", 1.25, 0, 0),
    )  # fmt: skip
    old = "statement latencies in milliseconds:\n\t0.003097\t\\set n 1\n\t0.250000\tEND;\n"
    assert [(row.text, row.failures) for row in PGBENCH.statement_latencies(old)] == [
        ("\\set n 1", None), ("END;", None),
    ]  # fmt: skip
    assert PGBENCH.statement_latencies(recorded("16", "plain").stdout.decode()) == ()


def test_a_long_statement_or_a_strange_average_does_not_end_the_report_by_statement() -> None:
    text = (
        "SQL script 1: a.sql\n - statement latencies in milliseconds and failures:\n"
        f"         0.500           0  SELECT {'x' * 2000};\n"
        "        -0.001           0  SELECT 2;\n"
        "           nan           0  SELECT 3;\n"
        "         0.250           1  END;\n"
        " - number of transactions actually processed: 7\n"
        "         9.000           0  no statement\n"
    )
    rows = PGBENCH.statement_latencies(text)
    assert [(row.text[:9], len(row.text), row.average_ms) for row in rows] == [
        ("SELECT xx", 1000, 0.5), ("SELECT 2;", 9, -0.001), ("END;", 4, 0.25),
    ]  # fmt: skip
