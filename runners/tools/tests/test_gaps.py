"""The interval of reports of progress, by the times at which they came."""

import pytest

from runners.tools.gaps import reports_interval_s


@pytest.mark.parametrize(
    ("times_s", "interval_s"),
    [
        ((0.0, 1.0, 2.0, 3.0), 1),
        ((0.0, 10.0, 20.0, 31.4), 10),
        ((0.0, 11.3), 11),  # of a single one that came late, it may have been as long as that
        ((0.0, 10.7, 21.2), 10),
        ((0.0, 11.3, 20.0), 10),
        ((0.0, 1.4), 1),
        ((0.0, 0.4), 1),
        ((0.0,), 1),
        ((1_700_000_010.700, 1_700_000_021.200), 10),
    ],
)
def test_reports_that_are_all_late_came_no_earlier_than_each_was_due(times_s, interval_s):
    assert reports_interval_s(times_s) == interval_s
