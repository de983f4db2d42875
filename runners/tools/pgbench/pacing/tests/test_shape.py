from __future__ import annotations

import gzip
import os
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.contract import Outputs
from runners.tools.pgbench.log import REDUCE_AWK, read_reduction, reduce_log
from runners.tools.pgbench.pacing import segments, shape
from runners.tools.pgbench.pacing.shape import Layer, Segment, Shape
from runners.tools.pgbench.testing import AWKS, PGBENCH, SPEC, numbers, series

BURST = "100 for 3, 400 for 2, 100 for 1"
SHAPED = replace(SPEC, parameters={**SPEC.parameters, "load_shape": BURST}, clients=8, threads=2, duration_s=6)
# Two of the first segment (one ends in the second), one of the burst, one skipped there, one of the last.
LOG = b"""\
0 1 200000 0 1700000000 700000 50
0 2 600000 0 1700000003 200000 150
0 1 1000 0 1700000004 0 2000
1 1 skipped 0 1700000004 500000 900
0 3 2000 0 1700000005 500000 10
broken
"""
SUMMARY = """\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: {clients}
number of threads: 1
maximum number of tries: 1
duration: {duration_s} s
number of transactions actually processed: {transactions}
number of failed transactions: 0 (0.000%)
latency average = {latency_ms} ms
latency stddev = 1.000 ms
rate limit schedule lag: avg 0.500 (max {lag_ms}) ms
initial connection time = 1.000 ms
tps = {tps} (without initial connection time)
"""


def test_a_burst_is_one_process_for_the_whole_run_and_one_for_what_rises_above() -> None:
    assert shape.read(BURST).layers(8, 2) == [Layer(0, 6, 100, 3, 1), Layer(3, 2, 300, 5, 1)]


def test_steps_up_and_down_add_up_to_their_rates() -> None:
    steps = shape.read("100 for 10, 200 for 10, 300 for 10, 200 for 5")
    assert steps.layers(9, 3) == [Layer(0, 35, 100, 3, 1), Layer(10, 25, 100, 3, 1), Layer(20, 10, 100, 3, 1)]
    valley = shape.read("300 for 10, 100 for 5, 300 for 10")
    assert [(layer.start_s, layer.duration_s, layer.rate_tps) for layer in valley.layers(4, 4)] == [
        (0, 25, 100), (0, 10, 200), (15, 10, 200),
    ]  # fmt: skip


@given(
    st.lists(st.builds(Segment, st.integers(1, 50), st.integers(1, 5)), min_size=2, max_size=12),
    st.integers(12, 40),
)
@settings(max_examples=60)
def test_at_every_second_the_processes_offer_the_planned_rate_with_no_more_than_all_clients(
    parts: list[Segment], clients: int
) -> None:
    planned = Shape(tuple(parts))
    layers = planned.layers(clients, 4)
    for second, rate_tps in enumerate(planned.planned_tps):
        running = [layer for layer in layers if layer.start_s <= second < layer.start_s + layer.duration_s]
        assert sum(layer.rate_tps for layer in running) == rate_tps
        assert sum(layer.clients for layer in running) <= clients
    assert all(1 <= layer.threads <= layer.clients for layer in layers)
    assert shape.read(planned.text) == planned


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("100 for 30", "2 to 20 segments, not 1"),
        (", ".join(["1 for 1"] * 21), "2 to 20 segments, not 21"),
        ("100 for 30, many for 10", "'many for 10' is no segment"),
        ("0 for 30, 100 for 10", "a rate is from 1 to"),
        ("100 for 0, 100 for 10", "for at least 1 s"),
        ("1 for 86400, 1 for 1", "at most 86,400 s, not 86,401 s"),
        ("1" * 1001, "at most 1,000 characters"),
    ],
)
def test_what_is_no_shape_is_refused_with_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        shape.read(text)


def test_a_step_that_may_have_no_transaction_by_chance_is_refused_with_the_remedy() -> None:
    """From 100 to 109 TPS is a process of 9 TPS: 18 transactions in 2 s, 27 in 3 s."""
    with pytest.raises(ValueError, match=r"9 TPS for 2 s, to 109 TPS, has some 18 transactions.*make it higher"):
        shape.canonical("100 for 10, 109 for 2")
    assert shape.canonical("100 for 10, 109 for 3") == "100 for 10, 109 for 3"
    with pytest.raises(ValueError, match="1 TPS for 15 s, to 1 TPS, has some 15 transactions"):
        PGBENCH.check(replace(SHAPED, parameters={**SPEC.parameters, "load_shape": "1 for 10, 50 for 5"}))


def test_a_shape_has_one_form_however_it_was_typed() -> None:
    assert shape.canonical(" 100 TPS for 30 s\n400  for 10,") == "100 for 30, 400 for 10"
    assert shape.canonical(" ") == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"duration_s": 60}, "takes 6 s: give its runs that duration"),
        ({"clients": 1, "threads": 1}, "2 different rates needs at least 2 clients, not 1"),
        ({"parameters": {**SHAPED.parameters, "rate_tps": 5}}, "has rates of its own"),
        ({"parameters": {**SHAPED.parameters, "think_ms": 5}}, "has rates of its own"),
        ({"parameters": {**SHAPED.parameters, "load_shape": 5}}, "must be a text such as"),
        ({"tool_version": "9.6"}, "does not know load shapes; use 10 or newer"),
    ],
)
def test_a_run_that_does_not_fit_its_shape_is_refused_with_a_sentence(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        PGBENCH.check(replace(SHAPED, **change))


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_every_awk_counts_by_segment_and_second_what_was_counted_by_hand(awk: list[str]) -> None:
    def by(program: str) -> str:
        values = ["-v", "start=1700000000.000", "-v", "bounds=3 5 6"]
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run([*awk, *values, program], input=LOG, capture_output=True, check=True, env=environment)
        return done.stdout.decode()

    log = segments.read(by(segments.SEGMENTS_AWK), shape.read(BURST))
    assert (log.due, log.ended) == ((1, 0, 1, 1, 1, 1), (1, 0, 0, 1, 1, 1))
    assert log.segments == (
        segments.Counts(2, 1, 0, 200, 150), segments.Counts(2, 2, 1, 2000, 2000), segments.Counts(1, 1, 0, 10, 10),
    )  # fmt: skip
    reduction = read_reduction(by(segments.AWK + REDUCE_AWK))
    assert {number: totals.sum_us for number, totals in reduction.scripts.items()} == {0: 800_000, 1: 1000, 2: 2000}
    assert reduction.kinds == {"skipped": 1, "unreadable": 1}
    assert reduce_log(segments.lines_by_segment(LOG.splitlines(), shape.read(BURST), 1_700_000_000.0)) == reduction


@pytest.mark.parametrize(("started", "segments_n"), [({segments.START_FILE: b"1700000000.0"}, 3), ({}, 0)])
def test_a_kept_log_is_of_segments_as_well_and_of_none_where_its_start_is_not_known(
    started: dict[str, bytes], segments_n: int
) -> None:
    files = {"log.gz": gzip.compress(LOG), **started}
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 600)), files))
    names = [histogram.name for histogram in result.histograms]
    assert names == ["latency", *(f"latency of segment {number + 1}" for number in range(segments_n))]
    assert [sum(histogram.counts) for histogram in result.histograms][:2] == ([4, 2] if segments_n else [4])


@pytest.mark.parametrize("text", ["", "second 0 1 1\n", "second 0 1 1\nend\n", "x\nend\n", "second a b c\nend\n"])
def test_counts_that_are_damaged_or_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="counts by segment"):
        segments.read(text, shape.read(BURST))


def printed(counts: tuple[int, int], clients: tuple[int, int] = (3, 5)) -> str:
    rows = zip(clients, (6, 2), counts, ("2.000", "4.000"), ("3.000", "9.000"), strict=True)
    return "".join(
        SUMMARY.format(clients=n, duration_s=s, transactions=count, latency_ms=ms, lag_ms=lag, tps=f"{count / s:.6f}")
        for n, s, count, ms, lag in rows
    )


def outputs(text: str, files: dict[str, bytes] | None = None) -> Outputs:
    return Outputs(0, text.encode(), b"", {"started_epoch": b"1700000000", **(files or {})})


def test_the_processes_of_a_shape_are_one_result() -> None:
    """600 and 600 transactions in 6 s are 200 TPS; latencies of 2 and 4 ms average to 3."""
    seconds = "".join(f"second {n} {due} {due}\n" for n, due in enumerate((100, 100, 100, 400, 400, 100)))
    counts = "segment 0 300 300 0 30000 900\nsegment 1 800 790 0 8000 3000\nsegment 2 100 110 0 0 0\nend\n"
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 600)), {segments.SEGMENTS_FILE: (seconds + counts).encode()}))
    measures = numbers(result)
    assert (measures["tps"], measures["transactions"], measures["latency_average_ms"]) == (200.0, 1200.0, 3.0)
    assert measures["rate_limit_lag_max_ms"] == 9.0
    assert measures["segment_2_achieved_tps"] == 395.0
    assert (measures["segment_1_lag_average_ms"], measures["segment_1_lag_max_ms"]) == (0.1, 0.9)
    assert series(result)["planned_tps"] == series(result)["tps"] == (100, 100, 100, 400, 400, 100)
    assert result.doubts == ()
    assert PGBENCH.contradictions(SHAPED, outputs(printed((600, 600)))) == ()
    assert not PGBENCH.expectation(SHAPED.parameters).is_steady


@pytest.mark.parametrize(("word", "start_epoch_s"), [(b"1700000000.25\n", 1_700_000_000.25), (b"x", 1_700_000_000.0)])
def test_seconds_begin_when_the_driver_says_that_it_started(word: bytes, start_epoch_s: float) -> None:
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 600)), {segments.START_FILE: word}))
    assert {row.start_epoch_s for row in result.series} == {start_epoch_s}


def test_a_segment_in_which_less_was_begun_than_planned_is_doubted() -> None:
    seconds = "".join(f"second {n} 1 1\n" for n in range(6))
    counts = "segment 0 300 300 0 0 0\nsegment 1 400 400 0 0 0\nsegment 2 100 100 0 0 0\nend\n"
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 200)), {segments.SEGMENTS_FILE: (seconds + counts).encode()}))
    assert [doubt.code for doubt in result.doubts] == ["load-shape"]
    assert "In segment 2 transactions were begun for 200 TPS, not the 400" in result.doubts[0].text
    assert "opens its connections at the start of a step" in result.doubts[0].text
    more = counts.replace("segment 1 400 400", "segment 1 1200 400")
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 600)), {segments.SEGMENTS_FILE: (seconds + more).encode()}))
    assert "for 600 TPS, not the 400 of its plan: the load generator or the driver's clock" in result.doubts[0].text
    assert "connections" not in result.doubts[0].text


def test_a_warm_up_is_at_the_first_rate_with_all_clients() -> None:
    command = PGBENCH.warmup_command(replace(SHAPED, warmup_s=2))
    assert "-c 8 -j 2 -T 2" in command and "-R 100 " in command and "-R 300" not in command
    assert PGBENCH.at_first_segment(SHAPED.parameters) == {**SPEC.parameters, "rate_tps": 100}
    assert PGBENCH.at_first_segment(SPEC.parameters) == SPEC.parameters


def test_without_the_counts_a_remark_says_why_nothing_is_known_of_segments() -> None:
    result = PGBENCH.parse(SHAPED, outputs(printed((600, 600))))
    assert result.outcome == "succeeded"
    assert any("Nothing is known of its segments" in remark for remark in result.remarks)
    assert "tps" not in series(result)


def test_a_summary_that_is_missing_or_of_other_clients_is_noticed() -> None:
    first = printed((600, 600)).split("transaction type")[1]
    result = PGBENCH.parse(SHAPED, outputs(f"transaction type{first}"))
    assert (result.outcome, "has 1 of the 2 summaries" in result.reason) == ("failed", True)
    others = PGBENCH.contradictions(SHAPED, outputs(printed((600, 600), clients=(5, 3))))
    assert [row.name for row in others] == ["clients"]
    assert others[0].text == "The output is of 5 clients; 3 clients, not of 3; 5."
    assert PGBENCH.contradictions(SPEC, outputs(printed((600, 600)))) != ()
