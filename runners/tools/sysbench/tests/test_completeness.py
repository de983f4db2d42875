"""Reports of progress of sysbench that are missing, or come to other numbers than the report."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runners.contract import Measure
from runners.tools.sysbench import completeness


def texts(
    reports: Sequence[tuple[int, float]],
    transactions: int,
    measured_s: float,
    *,
    interval_s: int = 1,
    longest_ms: float = 20.0,
    head: str = "",
) -> list[str]:
    """Return the doubts about reports of (second, TPS) of four threads, whose quickest transaction took 2 ms."""
    lines = [
        f"[ {at_s}s ] thds: 4 tps: {tps:.2f} qps: {tps:.2f} (r/w/o: {tps:.2f}/0.00/0.00) "
        "lat (ms,95%): 9.00 err/s: 0.00 reconn/s: 0.00"
        for at_s, tps in reports
    ]
    measures = {
        "transactions": Measure(transactions, "transactions"),
        "measured_s": Measure(measured_s, "s"),
        "reported_clients": Measure(4, "clients"),
        "latency_min_ms": Measure(2.0, "ms"),
        "latency_max_ms": Measure(longest_ms, "ms"),
    }
    interval = f"Report intermediate results every {interval_s} second(s)"
    return [doubt.text for doubt in completeness.doubts("\n".join([head, interval, *lines]), measures)]


EVEN = [(second, 1_000.0) for second in range(1, 11)]


@pytest.mark.parametrize(
    ("reports", "transactions", "is_doubted"),
    [
        (EVEN, 10_000, False),
        (EVEN, 10_150, False),  # 1% and 4 threads are 106, 0.054 s of 1,000 are 54, and 12 fit into the last 4 ms
        (EVEN, 10_400, True),
        (EVEN, 9_800, True),  # nothing rises, so no report's delay gives it more
        ([*EVEN[:9], (10, 1_500.0)], 10_300, False),  # 0.5 s of the rise by 500 may be the ninth second's
        (EVEN[:9], 10_000, False),  # of the last second there is no report: it had as many as fit
        (EVEN[:9], 11_700, True),  # 2,017 fit into it, 500 into half a second of delay, and 121 are room
    ],
)
def test_reports_come_to_the_transactions_but_for_their_delay(
    reports: Sequence[tuple[int, float]], transactions: int, is_doubted: bool
) -> None:
    assert bool(texts(reports, transactions, 10.004)) == is_doubted


def test_a_first_report_that_came_late_says_nothing_of_its_time() -> None:
    assert texts([(2, 1_200.0)], 2_000, 1.67) == []  # asked for every second, it came at 1.67 s


def test_a_run_that_went_on_has_more_reports_unless_something_stood_still() -> None:
    cut = "The last report of progress is of 10 s, although the run lasted 20 s and no transaction took that long."
    assert texts(EVEN, 20_000, 20.004) == [cut]
    assert texts(EVEN, 10_000, 20.004, longest_ms=10_000.0) == []
    assert texts(EVEN, 10_000, 20.004, head="Target transaction rate: 1000/sec") == []


def test_every_second_report_left_out_is_seen_by_what_was_asked_for() -> None:
    thinned = [(second, 1_000.0) for second in range(2, 14, 2)]
    missing = "Its reports of progress are 2 s apart or more, 1 s were asked for: some are missing."
    assert texts(thinned, 12_000, 12.004) == [missing]
    assert texts(thinned, 12_000, 12.004, interval_s=2) == []
    assert texts(thinned[:5], 10_000, 10.004) == []  # five may all have come late


def test_a_warm_up_of_its_own_is_in_no_number_of_the_report() -> None:
    assert texts(EVEN, 5_000, 5.004, head="Warmup time: 5s") == []
