import pytest

from benchhub.bench.models import LatencyHistogram, Series
from benchhub.bench.run_page.figures import buckets_of, latency_figure, series_figure, too_few, with_warmup


def series(metric, values):
    return Series(metric=metric, unit="ms", start_epoch_s=0.0, step_s=0.5, values=values)


def histogram(lower, upper, counts):
    return LatencyHistogram(name="script", lower_us=lower, upper_us=upper, counts=counts)


def test_a_value_stands_at_the_end_of_its_interval_and_a_gap_stays_a_gap():
    figure = series_figure([series("latency_average", [1.0, None, 3.0])])
    assert (figure["data"][0]["x"], figure["data"][0]["y"]) == ([0.5, 1.0, 1.5], [1.0, None, 3.0])


def test_four_buckets_make_a_doubling():
    # 100 us: 4 x log2(100) = 26.6; 200 us, one doubling later, lies four buckets on.
    assert buckets_of([100, 200], [101, 201], [3, 4]) == {26: 3, 30: 4}


def test_shares_add_up_to_all_transactions_and_end_at_the_edge_of_the_last_bucket():
    trace = latency_figure([histogram([100, 200], [101, 201], [75, 25])])["data"][0]
    assert sum(trace["y"]) == pytest.approx(100)
    assert trace["y"][-1] == 0
    assert len(trace["x"]) == len(trace["y"]) == 6
    assert trace["x"][0] <= 0.1 < trace["x"][1]


def test_a_latency_of_zero_microseconds_has_a_place_on_a_logarithmic_axis():
    assert buckets_of([0], [1], [5]) == {0: 5}


def test_plotly_accepts_the_figures_as_valid():
    from plotly.graph_objects import Figure

    assert Figure(series_figure([series("a", [1.0]), series("b", [2.0])])).data
    assert Figure(latency_figure([histogram([100], [101], [1])])).data


def test_a_warm_up_ends_where_the_measured_part_begins_and_is_called_so():
    measured = series_figure([series("tps", [9.0])])
    figure = with_warmup(measured, series("warmup_tps", [1.0, 2.0, 3.0]))
    before, after = figure["data"]
    assert (before["x"], before["y"]) == ([-1.0, -0.5, 0.0], [1.0, 2.0, 3.0])
    assert (before["name"], before["line"]["dash"]) == ("warm-up, not measured", "dot")
    assert before["meta"] == {"series": 0, "is_ghost": True}  # a colour of its own would be that of another system
    assert after == measured["data"][0]


def test_types_of_few_logged_transactions_are_not_drawn_beside_others():
    histograms = [
        LatencyHistogram(name=name, lower_us=[100], upper_us=[101], counts=[logged])
        for name, logged in (("latency", 780), ("GET_ACCESS_DATA", 30), ("INSERT_CALL_FORWARDING", 5))
    ]
    drawn = latency_figure(histograms)["data"]
    assert [trace["name"] for trace in drawn] == ["all", "GET_ACCESS_DATA"]
    assert [trace.get("fill") for trace in drawn] == ["tozeroy", None]
    assert [histogram.name for histogram in too_few(histograms)] == ["INSERT_CALL_FORWARDING"]


def test_one_histogram_alone_is_drawn_however_few_it_has():
    assert latency_figure([histogram([100], [101], [2])])["data"]
