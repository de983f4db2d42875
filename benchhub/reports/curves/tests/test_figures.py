import pytest

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.curves.figures import client_axes, latency_figure, throughput_figure


class Label:
    def __init__(self, label):
        self.label = label


def of_system(series, values, planned=()):
    points = [
        RunPoint(number, clients, tps, "TPS", "p", f"s{series}") for number, (clients, tps) in enumerate(values, 1)
    ]
    return SystemCurve(Label(f"system {series}"), series, curve.build(points), planned=tuple(planned))


VALUES = [(1, 100.0), (1, 120.0), (8, 500.0), (8, 400.0)]


def test_plotly_accepts_the_figure_as_valid():
    from plotly.graph_objects import Figure

    assert len(Figure(throughput_figure([of_system(0, VALUES), of_system(1, VALUES)])).data) == 6


def test_every_repeat_is_a_point_and_the_line_runs_through_the_geometric_means():
    repeats, means, _ = throughput_figure([of_system(0, VALUES)])["data"]
    assert list(zip(repeats["x"], repeats["y"], strict=True)) == VALUES
    assert repeats["customdata"] == [1, 2, 3, 4]
    assert repeats["mode"] == "markers"
    assert (means["x"], means["y"]) == ([1, 8], pytest.approx([12_000**0.5, 200_000**0.5]))
    assert means["hovertemplate"].startswith("geometric mean at")


def test_the_dotted_bar_spans_the_range_of_two_repeats_and_none_has_the_caps_of_an_interval():
    figure = throughput_figure([of_system(0, VALUES)])
    _, means, ranges = figure["data"]
    assert (ranges["x"], ranges["y"]) == ([1, 1, 1, 8, 8, 8], [100.0, 120.0, None, 400.0, 500.0, None])
    assert "error_y" not in means
    assert figure["layout"]["meta"]["bars_text"] == "A dotted bar is the range of 2 repeats."


def test_three_repeats_have_an_interval_with_caps_and_a_level_of_one_run_beside_them_has_none():
    figure = throughput_figure([of_system(0, [(1, 100.0), (8, 400.0), (8, 410.0), (8, 420.0)])])
    _, means = figure["data"]
    assert means["error_y"]["array"][0] is None and means["error_y"]["array"][1] > 0
    assert figure["layout"]["meta"]["bars_text"] == "A bar with caps is a 95% interval; a single run has no bar."


def test_systems_differ_in_marker_and_dash_and_not_in_colour_alone():
    _, first, _, _, second, _ = throughput_figure([of_system(0, VALUES), of_system(1, VALUES)])["data"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert first["line"]["dash"] != second["line"]["dash"]
    assert "color" not in first["line"]


def test_runs_stand_beside_the_bar_of_their_level_each_system_to_its_own_side():
    first, _, _, second, _, _ = throughput_figure([of_system(0, VALUES), of_system(1, VALUES)])["data"]
    assert (first["marker"]["angle"], second["marker"]["angle"]) == (90, -90)
    assert first["marker"]["standoff"] == [9, 9, 9, 9]


def test_a_run_that_is_alone_at_its_level_stands_on_its_mean():
    repeats, *_ = throughput_figure([of_system(0, [(1, 100.0), (8, 500.0), (8, 400.0)])])["data"]
    assert repeats["marker"]["standoff"] == [0, 9, 9]


def test_a_triangle_points_up_though_it_is_turned_aside():
    trace = throughput_figure([of_system(3, VALUES)])["data"][0]
    assert (trace["marker"]["symbol"], trace["marker"]["angle"]) == ("triangle-right-open", -90)


def test_a_few_levels_far_apart_are_ticks_of_a_logarithmic_axis_and_many_are_not():
    few = throughput_figure([of_system(0, VALUES)])["layout"]["xaxis"]
    assert (few["type"], few["tickvals"], few["ticktext"]) == ("log", [1, 8], ["1", "8"])
    many = throughput_figure([of_system(0, [(clients, 1.0) for clients in range(2, 161, 2)])])["layout"]["xaxis"]
    assert "tickvals" not in many


@pytest.mark.parametrize(
    ("planned", "first"), [(range(2, 161, 2), "linear"), ((1, 2, 4, 8, 16, 32), "log2"), ((1, 2, 4), "linear")]
)
def test_the_axis_that_a_figure_begins_with_stays_the_same_while_the_levels_of_a_plan_come_in(planned, first):
    order = sorted(planned, key=lambda clients: clients * 37 % 101)  # as a search takes them: in no order
    for count in range(1, len(order) + 1):
        curves = [of_system(0, [(clients, 100.0) for clients in order[:count]], planned)]
        for layout in (throughput_figure(curves)["layout"], latency_figure(curves)["layout"]):
            assert (layout["meta"]["axis"], layout["xaxis"]["type"][:3]) == (first, first[:3])


def test_a_linear_axis_of_few_clients_has_ticks_at_whole_ones_only():
    assert client_axes([1, 2])["linear"]["dtick"] == 1
    assert "dtick" not in client_axes([1, 64])["linear"]


def test_an_axis_starts_at_zero_so_that_a_small_difference_does_not_look_large():
    assert throughput_figure([of_system(0, VALUES)])["layout"]["yaxis"]["rangemode"] == "tozero"


def test_no_runs_make_an_empty_figure_rather_than_an_error():
    assert throughput_figure([])["data"] == []
