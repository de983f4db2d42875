from __future__ import annotations

import gzip
import os
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runners.contract import Outputs
from runners.tools.pgbench.log import REDUCE_AWK, read_reduction, reduce_log
from runners.tools.pgbench.pacing.think import AWK, CONSTANT, DISTRIBUTIONS, EXPONENTIAL, UNIFORM, Think
from runners.tools.pgbench.testing import AWKS, CUSTOM, PGBENCH, SPEC, numbers

THINKING = replace(SPEC, parameters={**SPEC.parameters, "think_ms": 20})
SUMMARY = """\
transaction type: select-only.sql
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 2
number of failed transactions: 0 (0.000%)
latency average = 25.000 ms
latency stddev = 3.000 ms
initial connection time = 1.000 ms
tps = 0.666667 (without initial connection time)
statement latencies in milliseconds and failures:
         0.001           0  \\set think_n :think_n + 1
        22.100           0  \\sleep :think_us us
         0.500           0  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


def test_a_pause_is_what_was_computed_by_hand() -> None:
    # z = 7,368,787 + 2 x 2,750,159 + 12,345 = 12,881,450; z^5 mod P = 39,788,949 by bc.
    y = 39_788_950
    assert Think(20, CONSTANT).pause_us(2, 1) == 20_000
    assert Think(20, UNIFORM).pause_us(2, 1) == 40_000 * y // 67_108_859
    # -20,000 ln(39,788,950 / 67,108,859) = 20,000 x 0.522727
    assert Think(20, EXPONENTIAL).pause_us(2, 1) == 10_454


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_pauses_have_their_average_and_never_more_than_the_longest(distribution: str) -> None:
    think = Think(20, distribution)
    pauses_us = [think.pause_us(client, n) for client in range(50) for n in range(1, 401)]
    assert sum(pauses_us) / len(pauses_us) == pytest.approx(20_000, rel=0.02)
    assert max(pauses_us) <= 1000 * think.longest_ms
    assert min(pauses_us) >= 0


def test_exponential_pauses_are_as_often_long_as_they_should_be_and_follow_from_none_before() -> None:
    think = Think(1000)
    pauses_us = [think.pause_us(7, n) for n in range(1, 20_001)]
    # e^-1 are longer than the average, e^-3 longer than three times that.
    assert sum(pause_us > 1_000_000 for pause_us in pauses_us) / 20_000 == pytest.approx(0.368, abs=0.015)
    assert sum(pause_us > 3_000_000 for pause_us in pauses_us) / 20_000 == pytest.approx(0.0498, abs=0.006)
    for lag in (1, 2, 3):
        products = [(a - 1e6) * (b - 1e6) / 1e12 for a, b in zip(pauses_us, pauses_us[lag:], strict=False)]
        assert abs(sum(products) / len(products)) < 0.04


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_awk_takes_the_pauses_out_as_python_does(awk: list[str], distribution: str) -> None:
    think = Think(20, distribution)
    log = b"".join(
        b"%d %d %d 0 1700000000 1\n" % (client, n, think.pause_us(client, n) + 700 + n)
        for client in (0, 3, 999)
        for n in (1, 2, 50, 4_000_000)
    )
    log += b"0 5 skipped 0 1700000000 1\n0 6 9 0 1700000000 1\nx y 100 0 1700000000 1\n0 7\n"
    command = [*awk, *think.awk_values(), AWK + REDUCE_AWK]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, input=log, capture_output=True, check=True, env=environment)
    by_awk, by_python = read_reduction(done.stdout.decode()), reduce_log(think.responses(log.splitlines()))
    assert by_awk == by_python
    assert by_python.scripts[0].min_us == 0
    assert {(0, 0, 701), (0, 0, 702), (0, 0, 750)} <= by_python.bins.keys()


words = st.one_of(st.integers(0, 10**17).map(str), st.sampled_from(["skipped", "-1", "x", "1.5", "007"]))


@given(st.lists(st.tuples(words, words, words, st.integers(0, 3).map(str)), max_size=12))
@example([("9079", "6051569783", "827", "0")])  # times the step, that is more than 2^53
@settings(max_examples=25, deadline=None)
def test_whatever_a_log_holds_awk_and_python_agree_on_it(rows: list[tuple[str, str, str, str]]) -> None:
    think = Think(20, UNIFORM)
    log = "".join(f"{' '.join(row)} 1700000000 1\n" for row in rows).encode()
    command = ["awk", *think.awk_values(), AWK + REDUCE_AWK]
    done = subprocess.run(command, input=log, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"})
    assert read_reduction(done.stdout.decode()) == reduce_log(think.responses(log.splitlines()))


def test_the_command_runs_pgbenchs_own_script_after_a_pause() -> None:
    command = PGBENCH.measure_command(THINKING)
    assert "/opt/pg/bin/pgbench --show-script=select-only 2>&1; } > select-only.sql &&" in command
    assert "-D think_n=0 -r -s 10 -f select-only.sql@1" in command
    assert "\\sleep :think_us us" in command
    assert " -b " not in command
    assert "distribution=exponential" in PGBENCH.reduce_command(THINKING)


def test_without_a_think_time_no_command_knows_of_one() -> None:
    for spec in (SPEC, replace(SPEC, parameters={**SPEC.parameters, "think_ms": 0, "think_distribution": "uniform"})):
        commands = PGBENCH.measure_command(spec) + PGBENCH.reduce_command(spec)
        assert "think" not in commands and "-r" not in PGBENCH.measure_command(spec).split()


def test_custom_scripts_are_checked_as_written_and_run_after_a_pause() -> None:
    spec = replace(SPEC, parameters={**CUSTOM, "think_ms": 5, "think_distribution": "constant"})
    assert "\\sleep 5 ms" not in PGBENCH.verify_command(spec)
    assert "printf '%s\\n' '\\sleep 5 ms' 'SELECT 1;' > script_0.sql" in PGBENCH.measure_command(spec)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"think_ms": -1}, "between 0 and 60,000, not -1"),
        ({"think_ms": 1.5}, "must be a whole number"),
        ({"think_distribution": "normal"}, "must be exponential or uniform or constant"),
        ({"rate_tps": 100}, "leave out the think time"),
        ({"latency_limit_ms": 100}, "leave out the think time"),
        ({"max_tries": 2}, "retry would think again"),
        ({"script": "custom", "scripts": [{"text": "\\set think_n 1\nSELECT 1"}]}, "think_n is a variable"),
        ({"script": "custom", "scripts": [{"text": "SELECT 1"}], "variables": {"think_us": 1}}, "think_us is a"),
        ({"script": "custom", "scripts": [{"text": "SELECT 1"}], "variables": {"client_id": 7}}, "client_id is a"),
        ({"script": "custom", "scripts": [{"text": "\\set \\\nclient_id 7\nSELECT 1;"}]}, "client_id is a variable"),
        ({"script": "custom", "scripts": [{"text": "SELECT 7 AS CLIENT_ID \\gset"}]}, "client_id is a variable"),
        ({"script": "custom", "scripts": [{"text": "SELECT 7 AS us \\gset think_"}]}, "think_us is a variable"),
    ],
)
def test_what_does_not_go_with_a_think_time_is_refused_with_a_sentence(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        PGBENCH.check(replace(THINKING, parameters={**THINKING.parameters, **change}))


@pytest.mark.parametrize(
    "text",
    [
        "\\set rethink_name 1\n\\set client_ids 2\nSELECT :client_id, client_id FROM my_think_us;",
        "SELECT :client_id AS number \\gset my_",
    ],
)
def test_a_script_may_read_the_clients_number_and_have_names_like_those_of_the_think_time(text: str) -> None:
    script = {"script": "custom", "scripts": [{"text": text}]}
    PGBENCH.check(replace(THINKING, parameters={**THINKING.parameters, **script}))


def test_a_log_whose_transactions_paused_otherwise_is_doubted() -> None:
    """Cycles average 25 ms (stddev 3): without any pause in 200 logged ones, none of the plan's 20 ms is left."""

    def doubts(latency_us: int) -> list[str]:
        log = b"".join(b"0 %d %d 0 1700000000 1\n" % (n, latency_us + think.pause_us(0, n)) for n in range(200))
        result = PGBENCH.parse(THINKING, Outputs(0, SUMMARY.encode(), b"", {"log.gz": gzip.compress(log)}))
        return [doubt.text for doubt in result.doubts if doubt.code == "other-think-time"]

    think = Think(20)
    assert doubts(5_000) == []
    (text,) = doubts(25_000)
    assert text.startswith("The log leaves 0 ms of pauses on average, not the 20 ms of the plan")


def test_an_older_pgbench_shows_no_script_and_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pgbench 12\.4 does not know think times; use 13 or newer"):
        PGBENCH.check(replace(THINKING, tool_version="12.4"))


def test_response_times_come_from_the_log_and_cycles_keep_what_pgbench_printed() -> None:
    think = Think(20)
    log = b"".join(b"%d 1 %d 0 1700000000 1\n" % (client, think.pause_us(client, 1) + 700) for client in (0, 1))
    outputs = Outputs(0, SUMMARY.encode(), b"", {"log.gz": gzip.compress(log)})
    result = PGBENCH.parse(THINKING, outputs)
    measures = numbers(result)
    assert measures["latency_average_ms"] == measures["logged_latency_average_ms"] == 0.7
    assert (measures["cycle_average_ms"], measures["cycle_stddev_ms"]) == (25.0, 3.0)
    assert measures["think_average_ms"] == pytest.approx(24.3)
    assert "latency_stddev_ms" not in measures
    assert any("without that" in remark for remark in result.remarks)
    assert not any("as pgbench timed them" in remark for remark in result.remarks)
    assert PGBENCH.contradictions(THINKING, outputs) == ()
    assert [row.name for row in PGBENCH.contradictions(SPEC, outputs)] == ["script", "statement_latencies"]


def test_without_a_log_the_average_is_what_pgbench_did_not_sleep() -> None:
    measures = numbers(PGBENCH.parse(replace(THINKING, log_sampling_rate=0), Outputs(0, SUMMARY.encode(), b"")))
    assert measures["latency_average_ms"] == pytest.approx(2.9)
    several = SUMMARY + "         9.100           0  \\sleep :think_us us\n"
    measures = numbers(PGBENCH.parse(replace(THINKING, log_sampling_rate=0), Outputs(0, several.encode(), b"")))
    assert "latency_average_ms" not in measures
    assert measures["cycle_average_ms"] == 25.0


def test_pgbenchs_average_is_no_response_time_without_a_think_time_in_the_plan() -> None:
    assert numbers(PGBENCH.parse(replace(SPEC, log_sampling_rate=0), Outputs(0, SUMMARY.encode(), b"")))[
        "latency_average_ms"
    ] == (25.0)
