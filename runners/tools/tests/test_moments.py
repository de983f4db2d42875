"""What the reports of progress leave over of the summary is the run's last moment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.contract import Measure
from runners.tools.moments import Moment, doubts

# 60 seconds of 1,000 transactions of 10 +/- 5 ms, by 10 clients.
REPORTED = [Moment(float(second), 1_000.0, 10.0, 5.0) for second in range(1, 61)]
SUMMARY = {"transactions": 60_000, "latency_average_ms": 10.0, "latency_stddev_ms": 5.0, "tps": 1_000.0}


def is_doubted(moments: list[Moment], **changes: float) -> bool:
    values = {**SUMMARY, **changes}
    return bool(list(doubts(moments, {name: Measure(value, "") for name, value in values.items()})))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"latency_stddev_ms": 4.98}, False),  # (5^2 - 4.98^2) x 60,000 = 11,976 of 7,500,000 square ms: rounding
        ({"latency_stddev_ms": 4.0}, True),
        ({"latency_stddev_ms": 60.0}, True),  # one transaction would have had to take longer than the run
        ({"latency_average_ms": 9.5}, True),
        ({"transactions": 60_300}, False),  # 300 that ended after the last report
        ({"latency_stddev_ms": 4.0, "skipped_transactions": 7}, False),
    ],
)
def test_average_and_deviation_follow_from_the_reports(changes: dict[str, float], *, expected: bool) -> None:
    assert is_doubted(REPORTED, **changes) == expected


def test_a_report_that_comes_late_is_of_all_the_time_before_it() -> None:
    late = [*REPORTED[:10], replace(REPORTED[12], at_s=13.4), *REPORTED[13:]]
    assert not is_doubted(late)
    assert is_doubted(late, latency_stddev_ms=4.0)


def test_the_rounding_of_a_late_report_is_that_of_all_its_seconds() -> None:
    """Of 15 transactions in 6.4 s, 2.34 TPS, one took 6.2 s: squares of 38.8 million; 2.4 TPS print 1 million more."""
    late = replace(REPORTED[0], at_s=16.4, tps=2.4, average_ms=425.661, stddev_ms=1_553.71)
    moments = [*REPORTED[:10], late, *REPORTED[16:]]
    squares = 53_600 * (10**2 + 5**2) + 15 * (425.661**2 + 1_553.71**2)
    count, total_ms = 53_615, 53_600 * 10 + 15 * 425.661
    average_ms = total_ms / count
    stddev_ms = (squares / count - average_ms**2) ** 0.5
    summary = {"transactions": count, "latency_average_ms": average_ms, "latency_stddev_ms": stddev_ms}
    assert not is_doubted(moments, **summary)
    assert is_doubted(moments, **summary | {"latency_stddev_ms": 0.9 * stddev_ms})


@pytest.mark.parametrize(
    ("lasted_s", "clients", "expected"),
    [
        (60.2, 10, True),  # 600 x 10 ms are 6 s, of which 10 clients have 2.5 s, and one each sqrt(10 x 75,000) = 0.9 s
        (60.6, 10, False),
        (60.2, 40, False),
    ],
)
def test_what_ended_after_the_last_report_fits_into_the_time_that_was_left(
    lasted_s: float, clients: int, *, expected: bool
) -> None:
    """600 transactions are in no report."""
    values = {"transactions": 60_600.0, "tps": 60_600 / lasted_s, "reported_clients": clients}
    assert is_doubted(REPORTED, **values) == expected
    assert not is_doubted(REPORTED, **values, rate_limit_lag_average_ms=1.0)


def test_missing_reports_tell_nothing() -> None:
    assert not is_doubted([*REPORTED[:10], *REPORTED[50:]], latency_stddev_ms=4.0)
