"""Reports of sysbench 0.5, 1.0 and 1.1, recorded, with what each prints otherwise."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from runners import tools
from runners.contract import Outputs, RunResult
from runners.tools.pgbench.testing import RECORDED
from runners.tools.pgbench.testing import SPEC as PGBENCH_SPEC

SPEC = replace(PGBENCH_SPEC, tool="sysbench", parameters={"script": "oltp_read_write"})
OF_0_5 = """sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2

Threads started!

[   2s] threads: 2, tps: 90.00, reads: 1260.00, writes: 360.00, response time: 30.00ms (95%), errors: 0.50, reconnects:  0.00
[   4s] threads: 2, tps: 110.00, reads: 1540.00, writes: 440.00, response time: 20.00ms (95%), errors: 0.00, reconnects:  0.00
OLTP test statistics:
    queries performed:
        read:                            5600
        write:                           1600
        other:                           800
        total:                           8000
    transactions:                        400    (100.00 per sec.)
    read/write requests:                 7200   (1800.00 per sec.)
    other operations:                    800    (200.00 per sec.)
    ignored errors:                      1      (0.25 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          4.0000s
    total number of events:              400
    total time taken by event execution: 8.0000s
    response time:
         min:                                  5.00ms
         avg:                                 20.00ms
         max:                                 60.00ms
         approx.  95 percentile:              28.00ms
"""  # noqa: E501


def parsed(text: str) -> RunResult:
    return tools.get("sysbench").parse(SPEC, Outputs(0, text.encode(), b""))


def recorded(name: str) -> RunResult:
    return parsed((RECORDED / f"sysbench-{name}.txt").read_text())


def values(result: RunResult) -> dict[str, float]:
    assert result.outcome == "succeeded", result.reason
    return {name: measure.value for name, measure in result.measures.items()}


def series(result: RunResult) -> dict[str, tuple[float, ...]]:
    return {line.metric: line.values for line in result.series}


def test_0_5_prints_milliseconds_an_approximate_percentile_and_its_sum_in_seconds() -> None:
    result = parsed(OF_0_5)
    assert values(result) == {
        "tps": 100, "transactions": 400, "queries": 8000, "ignored_errors": 1, "reconnects": 0, "latency_min_ms": 5,
        "latency_average_ms": 20, "latency_max_ms": 60, "latency_sum_ms": 8000, "latency_p95_ms": 28, "measured_s": 4,
        "reported_clients": 2, "report_interval_s": 2,
    }  # fmt: skip
    assert series(result) == {
        "tps": (90, 90, 110, 110), "reads_per_s": (1260, 1260, 1540, 1540), "writes_per_s": (360, 360, 440, 440),
        "errors_per_s": (0.5, 0.5, 0, 0), "latency_p95_ms": (30, 30, 20, 20),
    }  # fmt: skip
    assert result.doubts == ()
    assert result.remarks[0] == "Measured by sysbench 0.5."


@pytest.mark.parametrize(
    "name", ["0.5-progress", "0.5-rate", "1.1-progress", "1.1-rate", "1.1-histogram", "1.1-warmup"]
)
def test_recorded_reports_of_progress_come_to_the_transactions(name: str) -> None:
    result = recorded(name)
    lines = series(result)
    assert set(lines) >= {"tps", "errors_per_s"}
    assert sum(lines["tps"]) == pytest.approx(values(result)["transactions"], rel=0.05)
    assert any(metric.startswith("latency_p") for metric in lines)
    assert not any("progress" in remark for remark in result.remarks)


@pytest.mark.parametrize("name", ["0.5-plain", "0.5-progress", "1.1-plain", "1.1-progress", "1.1-histogram"])
def test_a_recorded_report_has_every_latency_and_its_own_time(name: str) -> None:
    result = recorded(name)
    numbers = values(result)
    assert numbers["latency_sum_ms"] / numbers["transactions"] == pytest.approx(
        numbers["latency_average_ms"], abs=0.006
    )
    assert numbers["transactions"] / numbers["measured_s"] == pytest.approx(numbers["tps"], rel=0.01)
    assert numbers["latency_min_ms"] < numbers["latency_average_ms"] < numbers["latency_max_ms"]
    assert {"latency_p95_ms", "latency_p99_ms"} & numbers.keys()
    assert result.doubts == ()


def test_1_1_counts_its_time_without_its_own_warm_up() -> None:
    result = recorded("1.1-warmup")
    assert values(result)["measured_s"] == 4.0298
    assert "sysbench warmed up for 2 s first (--warmup-time): that is in no number." in result.remarks
    assert "Measured by sysbench 1.1.0-3ceba0b." in result.remarks


@pytest.mark.parametrize("name", ["0.5-checkpoints", "1.1-checkpoints"])
def test_a_report_in_parts_is_no_result(name: str) -> None:
    result = recorded(name)
    assert (result.outcome, "--report-checkpoints" in result.reason) == ("failed", True)


def test_a_report_of_progress_that_cannot_be_read_is_remarked() -> None:
    unread = parsed(OF_0_5.replace("tps: 90.00", "tps: many"))
    assert series(unread)["tps"] == (110,) * 4
    assert (
        "1 of the 2 lines of progress cannot be read: their seconds have the values of the next line that can, or none."
        in (unread.remarks)
    )
    none = parsed(OF_0_5.replace("threads: 2, tps", "streams: 2, tps"))
    assert none.series == ()
    assert none.remarks[-1] == "None of the 2 lines of progress can be read: there are no values over time."


def test_a_percentile_that_was_not_asked_for_is_none() -> None:
    text = OF_0_5.replace("(95%)", "(0%)").replace("         approx.  95 percentile:              28.00ms\n", "")
    assert not any("latency_p" in metric for metric in (*series(parsed(text)), *values(parsed(text))))


@pytest.mark.parametrize("wrong", ["approx. 195 percentile:              28.00ms", "95th percentile:  l8.00"])
def test_a_percentile_that_is_none_is_remarked_and_in_no_measure(wrong: str) -> None:
    result = parsed(OF_0_5.replace("approx.  95 percentile:              28.00ms", wrong))
    assert not any(name.startswith("latency_p") for name in result.measures)
    assert f"The line '{wrong}' cannot be read: its number is left out." in result.remarks


def test_a_percentile_above_100_makes_no_series() -> None:
    result = parsed(OF_0_5.replace("30.00ms (95%)", "30.00ms (195%)"))
    assert "latency_p195_ms" not in series(result)
    assert any(remark.startswith("1 of the 2 lines of progress cannot be read") for remark in result.remarks)


def test_lines_that_end_as_on_windows_are_read_alike() -> None:
    assert values(parsed(OF_0_5.replace("\n", "\r\n"))) == values(parsed(OF_0_5))


def test_deadlocks_of_the_first_0_5_are_its_ignored_errors() -> None:
    whole = parsed(OF_0_5)
    renamed = parsed(re.sub("ignored errors:", "deadlocks:     ", OF_0_5))
    assert renamed.measures == whole.measures


def test_a_line_whose_number_cannot_be_read_is_remarked() -> None:
    result = parsed(re.sub(r"(ignored errors: +)1", r"\g<1>l", OF_0_5))
    assert "ignored_errors" not in result.measures
    assert any(remark.startswith("The line 'ignored errors:") for remark in result.remarks)
    assert not any(remark.startswith("The line") for remark in parsed(OF_0_5).remarks)
