from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.contract import Measure
from runners.tools.histogram import percentile_us
from runners.tools.pgbench import consistency
from runners.tools.pgbench import log as pgbench_log
from runners.tools.pgbench.log import (
    REDUCE_AWK,
    ScriptTotals,
    histograms,
    read_reduction,
    reduce_log,
)
from runners.tools.pgbench.testing import AWKS, UNLOGGED, recorded

RECORDED = Path(__file__).resolve().parents[2] / "recorded"
HAND_MADE = RECORDED / "hand_made"

LOG = b"""\
0 1 100 0 1700000000 1
0 2 100 0 1700000000 2
1 1 2049 1 1700000002 3 55
1 2 skipped 0 1700000003 4 0
1 3 serialization 1 1700000003 4 0 2
1 4 33
"""


def awk_reduction(awk: list[str], log: bytes) -> pgbench_log.Reduction:
    run = subprocess.run(
        [*awk, REDUCE_AWK], input=log, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}
    )
    return read_reduction(run.stdout.decode())


def test_a_log_is_reduced_to_what_was_counted_by_hand() -> None:
    reduction = reduce_log(LOG.splitlines())
    assert reduction.lines == 6
    assert reduction.bins == {(0, 0, 100): 2, (1, 2, 512): 1}
    assert reduction.scripts == {0: ScriptTotals(200, 100, 100), 1: ScriptTotals(2_049, 2_049, 2_049)}
    assert reduction.kinds == {"skipped": 1, "serialization": 1, "unreadable": 1}
    assert (reduction.first_epoch_s, reduction.last_epoch_s) == (1_700_000_000, 1_700_000_003)
    assert reduction.transactions == 3
    assert reduction.span_s == pytest.approx(2.000102, abs=1e-6)  # from 100 us before the first end on


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_every_awk_here_reduces_as_python_does(awk: list[str]) -> None:
    assert awk_reduction(awk, LOG) == reduce_log(LOG.splitlines())
    assert awk_reduction(awk, b"") == reduce_log([])
    beyond_int32 = b"0 1 8589934593 0 1700000000 1\n0 2 999999999999999 0 1700000000 1\n"
    assert awk_reduction(awk, beyond_int32) == reduce_log(beyond_int32.splitlines())


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_awk_counts_on_when_its_distinct_latencies_are_too_many_to_hold(awk: list[str]) -> None:
    log = "".join(f"0 1 {7 * n} 0 1700000000 1\n" for n in range(70_000)).encode()
    assert awk_reduction(awk, log * 2) == reduce_log((log * 2).splitlines())


@pytest.mark.parametrize(
    "path",
    sorted((*RECORDED.glob("*/*/log/pgbench_log.*"), *HAND_MADE.glob("*_log_hand_made.log"))),
    ids=lambda path: path.stem if path.parent == HAND_MADE else path.parent.parent.name,
)
def test_awk_and_python_agree_on_recorded_logs_of_every_layout(path: Path) -> None:
    reduction = reduce_log(path.read_bytes().splitlines())
    assert awk_reduction(["awk"], path.read_bytes()) == reduction
    if "aggregated" not in str(path):
        assert reduction.transactions > 0
        assert "unreadable" not in reduction.kinds


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "18"])
@pytest.mark.parametrize("case", ["aggregated", "aggregated_limited"])
def test_a_log_of_intervals_gives_no_latencies_and_says_why(version: str, case: str) -> None:
    latencies = pgbench_log.read_latencies(replace(UNLOGGED, log_sampling_rate=1.0), recorded(version, case))
    assert latencies.reduction is None
    assert latencies.remarks == (pgbench_log.OF_INTERVALS,)


words = st.one_of(
    st.integers(0, 5_000_000).map(str),
    st.sampled_from(["skipped", "failed", "serialization", "deadlock", "aborted", "-1", "1.5", "9" * 400, "\ufffd"]),
)
good_lines = st.builds(
    "{} {} {} {} {} {}".format,
    st.integers(0, 500),
    st.integers(0, 10**9),
    st.integers(0, 10**10),
    st.integers(0, 6),
    st.integers(10**9, 2 * 10**9),
    st.integers(0, 999_999),
)
lines = st.one_of(good_lines, st.lists(words, max_size=9).map(" ".join))


@settings(max_examples=60, deadline=None)
@given(st.lists(lines, max_size=60))
def test_awk_and_python_agree_on_any_log(log_lines: list[str]) -> None:
    log = "".join(f"{line}\n" for line in log_lines).encode()
    assert awk_reduction(["awk"], log) == reduce_log(log.splitlines())


def test_a_log_is_read_line_by_line_and_never_whole() -> None:
    lines_read = 0

    def endless_looking() -> object:
        nonlocal lines_read
        for lines_read in range(1, 50_001):
            yield b"0 1 %d 0 1700000000 1" % (lines_read % 3_000)

    reduction = reduce_log(endless_looking())
    assert reduction.lines == lines_read == 50_000
    assert len(reduction.bins) < 2_048


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not begin"),
        ("something else\nend\n", "does not begin"),
        ("benchhub-latency 1\n0 0 97 3\n", "cut off"),
        ("benchhub-latency 1\n0 0 97\nend\n", "cannot be read"),
    ],
)
def test_a_damaged_reduction_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_reduction(text)


def test_one_script_gives_one_histogram() -> None:
    [latency] = histograms(reduce_log([b"0 1 100 0 1 1", b"0 2 300 0 1 1"]), 0.5)
    assert (latency.name, latency.sum_us, latency.sampling_rate) == ("latency", 400, 0.5)


def test_several_scripts_give_a_histogram_each_and_one_of_all() -> None:
    latency, first, second = histograms(reduce_log(LOG.splitlines()), 1.0)
    assert [latency.name, first.name, second.name] == [
        "latency",
        "latency of script 0",
        "latency of script 1",
    ]
    assert [latency.total, first.total, second.total] == [3, 2, 1]
    assert (latency.sum_us, latency.min_us, latency.max_us) == (2_249, 100, 2_049)


def test_a_log_without_latencies_gives_no_histogram() -> None:
    assert histograms(reduce_log([b"0 1 skipped 0 1 1"]), 1.0) == ()


def test_percentiles_of_a_recorded_log_are_those_of_its_sorted_latencies() -> None:
    log = (RECORDED / "18/several_scripts/log").glob("pgbench_log.*")
    all_lines = [line for path in log for line in path.read_bytes().splitlines()]
    exact = sorted(int(line.split()[2]) for line in all_lines)
    read = percentile_us(histograms(reduce_log(all_lines), 1.0)[0], 0.9)
    assert read == pytest.approx(exact[-(-len(exact) * 9 // 10) - 1], rel=0.002)


@pytest.mark.parametrize(("version", "codes"), [("9.4.26", []), ("9.5.25", []), ("9.6.24", ["logged-lag"])])
def test_a_lag_before_connecting_and_one_after_it_are_not_held_against_each_other(
    version: str, codes: list[str]
) -> None:
    """With -R and -C, 9.4 prints the lag of 1.2 ms at which a transaction began, and logs it after 1.9 ms more."""
    reduction = reduce_log([b"0 0 2500 0 1700000000 1 3100"])
    assert reduction.longest_lag_us == 3100
    spec, measures = replace(UNLOGGED, tool_version=version), {"rate_limit_lag_max_ms": Measure(1.2, "ms")}
    assert [doubt.code for doubt in consistency.lag_doubts(spec, reduction, measures)] == codes


BEYOND_THE_RUN = "The log's transactions took 3,632.200 s, but the run lasted 3,632.005 s."


@pytest.mark.parametrize(
    ("transactions", "tps", "span_s", "planned", "think_ms", "texts"),
    [
        (100, 0.027533, 3_632.06, None, 0, []),  # 100 / 3,632.06 is 0.0275326: the rounding alone makes 55 ms
        (100, 0.027533, 3_632.2, None, 0, [BEYOND_THE_RUN]),
        (2, 0.000024, 85_000.0, None, 0, []),  # 2 / 85,000 is 0.0000235
        (100, 0.027533, 60.0, None, 0, []),  # nothing says when the time was over
        (1_000, 1_706.484642, 0.524, 1_000, 0, []),  # pgbench -c 200 -t 5 -j 4: its 200 clients disconnect
        (10_000, 1_000.0, 8.6, 10_000, 0, []),
        (10_000, 1_000.0, 8.4, 10_000, 0, ["The log's transactions took 8.400 s, but the run lasted 10.000 s."]),
        (10_000, 1_000.0, 8.4, 10_000, 2_000, []),  # the first responses begin after a pause
    ],
)
def test_a_log_spans_its_run_but_for_the_rounding_of_the_rate_and_both_ends(
    transactions: int, tps: float, span_s: float, planned: int | None, think_ms: int, texts: list[str]
) -> None:
    reduction = pgbench_log.Reduction(transactions, {}, {}, {}, None, None, span_s=span_s)
    measures = {"transactions": Measure(transactions, "transactions"), "tps": Measure(tps, "TPS")}
    if planned is not None:
        measures["planned_transactions"] = Measure(planned, "transactions")
    spec = replace(UNLOGGED, log_sampling_rate=1.0, parameters={**UNLOGGED.parameters, "think_ms": think_ms})
    assert [doubt.text for doubt in consistency.span_doubts(spec, reduction, measures)] == texts


@pytest.mark.parametrize(
    ("span_s", "lag_ms", "texts"),
    [
        (9.5, None, []),  # 4 clients have 38 s, and 38 s were busy
        (9.4, None, ["The log has 38.000 s of transactions within 9.400 s, more than its clients had."]),
        (9.4, 0.0, []),  # at a rate those of one client overlap
    ],
)
def test_clients_make_one_transaction_after_the_other(span_s: float, lag_ms: float | None, texts: list[str]) -> None:
    totals = {0: pgbench_log.ScriptTotals(38_000_000, 100, 100_000)}
    reduction = pgbench_log.Reduction(10_000, {}, totals, {}, None, None, span_s=span_s)
    measures = {"transactions": Measure(10_000, "transactions"), "tps": Measure(1_000.0, "TPS")}
    if lag_ms is not None:
        measures["rate_limit_lag_average_ms"] = Measure(lag_ms, "ms")
    spec = replace(UNLOGGED, log_sampling_rate=1.0)
    assert [doubt.text for doubt in consistency.span_doubts(spec, reduction, measures)] == texts


def test_a_run_at_a_rate_may_wait_long_for_its_first_transaction() -> None:
    reduction = pgbench_log.Reduction(4, {}, {}, {}, None, None, span_s=17.759)
    measures = {
        "transactions": Measure(4, "transactions"),
        "tps": Measure(0.161923, "TPS"),
        "planned_transactions": Measure(4, "transactions"),
        "rate_limit_lag_average_ms": Measure(0.0, "ms"),
    }
    spec = replace(UNLOGGED, log_sampling_rate=1.0)
    assert not list(consistency.span_doubts(spec, reduction, measures))
