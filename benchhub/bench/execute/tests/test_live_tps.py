"""The throughput of a run under way, out of whatever its load generator printed."""

import pytest

from benchhub.bench.execute.steps.look import live_tps
from benchhub.bench.results.live_log import RATE
from runners.tests.backtracking import steps

LINE = b"progress: 5.0 s, 4321.9 tps, lat 1.000 ms stddev 0.100, 0 failed\n"


def test_the_newest_line_counts():
    assert live_tps(LINE + LINE.replace(b"4321.9", b"17")) == {"live_tps": 17.0}
    assert live_tps(b"vacuuming...\n") == {}


@pytest.mark.parametrize("number", [b"9" * 400, b"1.2.3", b"nan", b"-1", b"."])
def test_what_is_no_number_that_can_be_is_none(number):
    assert live_tps(LINE.replace(b"4321.9", number)) == {}


@pytest.mark.parametrize("text", ["progress: ", "progress: 1 s, ", "progress: 1 s, 1", "1"])
def test_a_line_that_never_ends_is_read_in_steps_that_grow_with_it(text):
    few, many = (steps(RATE, text * number) for number in (100, 200))
    assert many < 2.5 * few + 100
