"""What contradicts itself within pgbench's own text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from runners.contract import Doubt
from runners.tools.pgbench.testing import PGBENCH, UNLOGGED, printing, recorded

LIMITED = recorded("18", "rate_limited").stdout.decode()
COUNTED = recorded("18", "logged").stdout.decode()
REPORT = "progress: 1.0 s, 100.0 tps, lat 2.000 ms stddev 0.500, 0 failed, lag {} ms\n"


def codes(stdout: str, stderr: str = "") -> set[str]:
    spec = replace(UNLOGGED, clients=2, threads=2, duration_s=1)
    return {doubt.code for doubt in PGBENCH.parse(spec, printing(stdout, stderr)).doubts}


def test_the_clients_transactions_come_to_those_that_were_planned() -> None:
    more = re.sub(r"(per client: \d+)", r"\g<1>0", COUNTED)
    assert more != COUNTED
    assert "count" not in codes(COUNTED)
    assert "count" in codes(more)


def test_a_share_counts_however_many_decimals_it_has() -> None:
    assert "share" not in codes(COUNTED)
    assert "share" in codes(COUNTED.replace("(0.000%)", "(1%)"))


@pytest.mark.parametrize(("lag", "is_wrong"), [("0.500", False), ("2.500", True)])
def test_a_lag_over_time_is_a_part_of_the_latency(lag: str, *, is_wrong: bool) -> None:
    text = re.sub(r"\(max \S+\)", "(max 20.000)", LIMITED)
    assert any("has a lag of" in doubt.text for doubt in _doubts(text, lag)) == is_wrong


@pytest.mark.parametrize(("longest", "is_wrong"), [("0.900", False), ("0.400", True)])
def test_no_lag_over_time_is_above_the_longest(longest: str, *, is_wrong: bool) -> None:
    text = re.sub(r"\(max \S+\)", f"(max {longest})", LIMITED)
    assert any("has a lag of" in doubt.text for doubt in _doubts(text, "0.500")) == is_wrong


def _doubts(stdout: str, lag: str, version: str = UNLOGGED.tool_version) -> list[Doubt]:
    spec = replace(UNLOGGED, clients=2, threads=2, duration_s=1, tool_version=version)
    return list(PGBENCH.parse(spec, printing(stdout, REPORT.format(lag))).doubts)


LATER = ", above its latency of 2 ms."
LONGER = ", above the longest of all, 0.4 ms."


@pytest.mark.parametrize(
    ("lag", "longest", "reason"), [("2.500", "20.000", LATER), ("0.500", "0.400", LONGER), ("2.500", "", LATER)]
)
def test_the_doubt_of_a_lag_over_time_says_what_it_is_above(lag: str, longest: str, reason: str) -> None:
    text = re.sub(r"\(max \S+\)", f"(max {longest})", LIMITED)
    text = text if longest else re.sub(r"^rate limit schedule lag.*\n", "", text, flags=re.MULTILINE)
    [doubt] = [doubt for doubt in _doubts(text, lag) if "has a lag of" in doubt.text]
    assert doubt.text == f"A report of progress has a lag of {float(lag):g} ms on average{reason}"


def test_up_to_9_5_a_lag_over_time_is_of_other_transactions_than_the_latency() -> None:
    text = re.sub(r"\(max \S+\)", "(max 0.400)", LIMITED)
    for version, is_wrong in (("9.4.26", False), ("9.5.25", False), ("9.6.24", True), ("18.1", True)):
        assert any("has a lag of" in doubt.text for doubt in _doubts(text, "2.500", version)) == is_wrong


@pytest.mark.parametrize(("version", "is_wrong"), [("10.23", False), ("11.22", True)])
def test_a_lag_that_skipped_transactions_were_taken_out_of_is_held_against_nothing(
    version: str, *, is_wrong: bool
) -> None:
    text = re.sub(r"\(max \S+\)", "(max 0.400)", LIMITED)
    skipped = REPORT.format("2.500").replace("0 failed, ", "").replace(" ms\n", " ms, 50 skipped\n")
    spec = replace(UNLOGGED, clients=2, threads=2, duration_s=1, tool_version=version)
    doubts = PGBENCH.parse(spec, printing(text, skipped)).doubts
    assert any("has a lag of" in doubt.text for doubt in doubts) == is_wrong


def test_a_transaction_of_another_thread_may_be_in_a_lag_over_time_alone() -> None:
    """Of 100 transactions one of 80 ms makes 0.8 ms of the average; a single thread reads nobody else's."""
    text = re.sub(r"\(max \S+\)", "(max 80.000)", LIMITED)
    of_two = re.sub(r"(number of threads: )1$", r"\g<1>2", text, flags=re.MULTILINE)
    for of_threads, is_wrong in ((of_two, False), (text, True)):
        assert any("has a lag of" in doubt.text for doubt in _doubts(of_threads, "2.700")) == is_wrong


def _planned(printed: int, ended: int = 5_000_000_000, clients: int = 50) -> str:
    counts = {"actually processed: ": f"{ended}/{printed}", "per client: ": 100_000_000, "of clients: ": clients}
    text = COUNTED
    for name, count in counts.items():
        text = re.sub(rf"({name})\S+", rf"\g<1>{count}", text)
    return text


@pytest.mark.parametrize(("printed", "ended"), [(705_032_704, 5_000_000_000), (-1_294_967_296, 3_000_000_000)])
def test_a_planned_number_of_more_than_31_bits_is_read(printed: int, ended: int) -> None:
    spec = replace(UNLOGGED, clients=50, threads=2, duration_s=1)
    text = _planned(printed, ended, clients=ended // 100_000_000)
    result = PGBENCH.parse(spec, printing(text))
    assert result.outcome == "succeeded", result.reason
    assert result.measures["planned_transactions"].value == ended
    assert not any("planned ones" in doubt.text for doubt in result.doubts)


def test_a_planned_number_below_0_that_is_no_wrapped_one_is_left_out() -> None:
    spec = replace(UNLOGGED, clients=50, threads=2, duration_s=1)
    result = PGBENCH.parse(spec, printing(_planned(-7)))
    assert "planned_transactions" not in result.measures


def test_a_wrapped_number_that_is_not_planned_is_contradicted() -> None:
    spec = replace(UNLOGGED, clients=50, threads=2, duration_s=1)
    doubts = PGBENCH.parse(spec, printing(_planned(705_032_705))).doubts
    assert any("are not the 705,032,705 planned ones" in doubt.text for doubt in doubts)


def test_too_few_of_a_wrapped_number_are_seen_from_the_summary_alone() -> None:
    text = _planned(705_032_704, 4_900_000_000)
    reason = PGBENCH.parse(UNLOGGED, replace(printing(text), returncode=None)).reason
    assert reason == "pgbench was aborted: only 4,900,000,000 of 5,000,000,000 transactions ended."


EACH_5_000 = """\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
number of transactions per client: 5000
number of transactions actually processed: 20000/20000
number of failed transactions: 0 (0.000%)
latency average = {average_ms:.3f} ms
latency stddev = 1.000 ms
initial connection time = 5.000 ms
tps = {tps:.6f} (without initial connection time)
"""


def reports(seconds: int) -> str:
    line = "progress: {}.0 s, 400.0 tps, lat 10.000 ms stddev 1.000, 0 failed\n"
    return "".join(line.format(second) for second in range(1, seconds + 1))


def test_reports_end_only_with_the_clients_of_the_first_thread() -> None:
    """Of 20,000 transactions at 400 TPS by 4 clients, all of whom were busy for 50 s."""
    summary = EACH_5_000.format(average_ms=10.0, tps=400.0)
    assert "progress" not in codes(summary, reports(49))
    assert "progress" in codes(summary, reports(30))
    # In the second half only two of them were.
    halves = EACH_5_000.format(average_ms=10.0, tps=20_000 / 75)
    assert "progress" not in codes(halves, reports(25))
