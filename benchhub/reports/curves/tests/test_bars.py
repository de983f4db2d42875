import pytest

from benchhub.analysis.curves.ratio import throughput_ratio, without_bounds
from benchhub.analysis.statistics.spread import summarise
from benchhub.reports.curves.bars import Reach, bars, bars_text, of_ratio, of_spread

TRACE = {"type": "scatter", "name": "A", "x": [1, 2, 8], "y": [100.0, 200.0, 800.0], "meta": {"series": 3}}
SINGLE, RANGE = Reach(100.0, 100.0, 1), Reach(190.0, 215.0, 2)
INTERVAL = Reach(780.0, 830.0, 3, is_interval=True)


def test_an_interval_has_caps_a_range_is_dotted_and_a_single_run_has_no_bar():
    trace, ranges = bars(TRACE, [SINGLE, RANGE, INTERVAL])
    assert trace["error_y"]["array"] == [None, None, 30.0]
    assert trace["error_y"]["arrayminus"] == [None, None, 20.0]
    assert (ranges["x"], ranges["y"]) == ([2, 2, 2], [190.0, 215.0, None])
    assert ranges["line"]["dash"] == "dot" and "error_y" not in ranges
    assert ranges["legendgroup"] == trace["legendgroup"] and not ranges["showlegend"]


def test_single_runs_alone_leave_the_trace_as_it_is():
    assert bars(TRACE, [SINGLE] * 3) == [TRACE]


def test_a_bar_that_begins_elsewhere_carries_its_interval_at_its_end():
    trace = {"type": "bar", "name": "gain", "base": [100.0], "x": [12.0], "y": ["1. memory"], "meta": {"series": 2}}
    [drawn] = bars(trace, [Reach(108.0, 117.0, 3, is_interval=True)], "x")
    assert (drawn["error_x"]["arrayminus"], drawn["error_x"]["array"]) == ([4.0], [5.0])
    _, ranges = bars(trace, [Reach(108.0, 117.0, 2)], "x")
    assert (ranges["x"], ranges["y"]) == ([108.0, 117.0, None], ["1. memory"] * 3)
    assert ranges["meta"]["is_on_bar"]


def test_the_caption_names_only_what_is_drawn():
    assert bars_text([SINGLE, RANGE, INTERVAL]) == (
        "A bar with caps is a 95% interval; a dotted bar is the range of 2 repeats; a single run has no bar."
    )
    assert bars_text([RANGE, Reach(1.0, 9.0, 3)]) == "A dotted bar is the range of 2 or 3 repeats."
    assert bars_text([]) == ""


@pytest.mark.parametrize(("values", "is_interval", "is_range"), [
    ((100.0,), False, False), ((100.0, 104.0), False, True), ((100.0, 104.0, 102.0), True, False),
])  # fmt: skip
def test_repeats_say_what_their_bar_is(values, is_interval, is_range):
    reach = of_spread(summarise(values))
    assert (reach.is_interval, reach.is_range) == (is_interval, is_range)


def test_a_ratio_whose_interval_is_withheld_has_no_bar():
    ratio = throughput_ratio((110.0, 111.0, 109.0), (100.0, 101.0, 99.0), "TPS", "TPS")
    assert of_ratio(ratio, 100.0, zero=1.0).low == pytest.approx(100 * (ratio.lowest - 1))
    withheld = of_ratio(without_bounds(ratio, "the host drifted"))
    assert not withheld.is_interval and not withheld.is_range


def test_a_ratio_of_few_repeats_has_a_range_and_no_interval():
    reach = of_ratio(throughput_ratio((110.0, 120.0), (100.0, 101.0), "TPS", "TPS"))
    assert reach.is_range and not reach.is_interval
