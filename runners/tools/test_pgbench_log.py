from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.tools import pgbench_log
from runners.tools.histogram import percentile_us
from runners.tools.pgbench_log import (
    REDUCE_AWK,
    AggregateRow,
    ScriptTotals,
    Transaction,
    choose_sampling_rate,
    histograms,
    read_reduction,
    reduce_log,
)

RECORDED = Path(__file__).parent / "recorded"
HAND_MADE = RECORDED / "hand_made"
AWKS = [
    [name, *further]
    for name, *further in (
        ["awk"],
        ["mawk"],
        ["gawk"],
        ["gawk", "--posix"],
        ["busybox", "awk"],
        ["original-awk"],
    )
    if shutil.which(name)
]

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
    "path", sorted(RECORDED.glob("*/*/log/pgbench_log.*")), ids=lambda path: path.parent.parent.name
)
def test_awk_and_python_agree_on_recorded_logs(path: Path) -> None:
    reduction = reduce_log(path.read_bytes().splitlines())
    assert awk_reduction(["awk"], path.read_bytes()) == reduction
    if "aggregated" not in str(path):
        assert reduction.transactions > 0
        assert "unreadable" not in reduction.kinds


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
    seen = 0

    def endless_looking() -> object:
        nonlocal seen
        for seen in range(1, 50_001):
            yield b"0 1 %d 0 1700000000 1" % (seen % 3_000)

    reduction = reduce_log(endless_looking())
    assert reduction.lines == seen == 50_000
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


@pytest.mark.parametrize(
    ("tps", "duration_s", "every"),
    [
        (0, 300, 1),
        (5_000, 300, 1),
        (5_001, 300, 3),  # a fast load, although its log would fit: 5,001 / 2,000 = 2.5
        (5_000, 3_000, 2),  # 465,000,000 bytes / 268,435,456 = 1.7
        (600_000, 300, 300),  # 600,000 / 2,000; its log alone would need every 21st
        (600_000, 7_200, 499),  # 133,920,000,000 bytes / 268,435,456 = 498.9
    ],
)
def test_the_sampling_rate_keeps_the_log_under_the_cap(tps: float, duration_s: float, every: int) -> None:
    assert choose_sampling_rate(tps, duration_s) == 1 / every


@given(st.floats(0, 1e7), st.integers(1, 86_400), st.integers(1_000, 2**40))
def test_what_is_logged_is_never_expected_above_the_cap(tps: float, duration_s: int, cap_bytes: int) -> None:
    rate = choose_sampling_rate(tps, duration_s, cap_bytes)
    assert 0 < rate <= 1
    assert rate * tps * duration_s * 31 <= cap_bytes * (1 + 1e-9)


def test_a_sampling_rate_of_nothing_sensible_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        choose_sampling_rate(-1, 10)
    with pytest.raises(ValueError, match="cap above 0"):
        choose_sampling_rate(1, 10, 0)


def test_the_log_of_9_3_has_six_columns_and_numbers_from_nought() -> None:
    log = (HAND_MADE / "9.3_log_hand_made.log").read_bytes().splitlines()
    first, *_ = pgbench_log.transactions(log, rate_limited=False, retries=False)
    assert first == Transaction(0, 0, "processed", 1_201, 0, 1_400_000_000.1, None, None)


def test_the_seventh_column_is_the_lag_of_a_rate_limited_run() -> None:
    log = (HAND_MADE / "9.5_rate_limited_log_hand_made.log").read_bytes().splitlines()
    read = list(pgbench_log.transactions(log, rate_limited=True, retries=False))
    assert [(one.kind, one.latency_us, one.lag_us) for one in read] == [
        ("processed", 1_201, 15),
        ("skipped", None, 25_000),
        ("processed", 900, 0),
    ]
    assert {one.retries for one in read} == {None}


def test_the_seventh_column_is_the_retries_of_a_run_with_more_than_one_try() -> None:
    log = (RECORDED / "15/failures/log/pgbench_log.8731.1").read_bytes().splitlines()
    first, *_ = pgbench_log.transactions(log, rate_limited=False, retries=True)
    assert (first.kind, first.latency_us, first.lag_us, first.retries) == ("serialization", None, None, 2)


def test_lag_and_retries_stand_in_this_order() -> None:
    log = (HAND_MADE / "15_both_columns_log_hand_made.log").read_bytes().splitlines()
    read = list(pgbench_log.transactions(log, rate_limited=True, retries=True))
    assert [(one.kind, one.lag_us, one.retries) for one in read] == [
        ("processed", 15, 0),
        ("serialization", 25, 2),
        ("deadlock", 35, 1),
        ("failed", 45, 0),
        ("processed", 0, 1),
    ]


def test_a_line_that_is_cut_off_is_no_transaction() -> None:
    assert list(pgbench_log.transactions([b"0 1 1201 0 17", b"0 1", b""], rate_limited=False, retries=False)) == []


@pytest.mark.parametrize(
    ("name", "lag_max_us", "skipped"),
    [
        ("9.3_aggregate_hand_made.log", None, None),
        ("9.5_aggregate_rate_limited_hand_made.log", 40, None),
        ("10_aggregate_latency_limit_hand_made.log", 40, 7),
    ],
)
def test_aggregate_rows_are_told_apart_by_their_columns(name: str, lag_max_us: int | None, skipped: int | None) -> None:
    [row] = pgbench_log.aggregate_rows((HAND_MADE / name).read_bytes().splitlines())
    assert (row.transactions, row.sum_us, row.min_us, row.max_us) == (1_000, 250_000, 100, 900)
    assert (row.lag_max_us, row.skipped, row.retries) == (lag_max_us, skipped, None)


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_recorded_aggregate_rows_have_fifteen_columns(version: str) -> None:
    [path] = (RECORDED / version / "aggregated_limited/log").glob("pgbench_log.*")
    rows = list(pgbench_log.aggregate_rows(path.read_bytes().splitlines()))
    assert len(rows) >= 3
    assert all(row.transactions > 0 and row.lag_max_us and row.skipped and row.deadlock_failures == 0 for row in rows)


def test_a_cut_off_aggregate_row_is_left_out() -> None:
    whole = b"1 2 3 4 5 6"
    assert list(pgbench_log.aggregate_rows([whole, b"1 2 3", b"1 2 3 4 5 x"])) == [AggregateRow(1, 2, 3, 4, 5, 6)]
