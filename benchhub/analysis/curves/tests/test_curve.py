import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.curves.latencies import Histogram
from benchhub.analysis.statistics.drift import Start
from benchhub.analysis.statistics.spread import RANGE

PROTOCOLS = {
    "p": {"version": 1, "duration_s": 3, "path": "socket"},
    "q": {"version": 1, "duration_s": 300, "path": "network"},
}


def run(number, clients, tps, **changes):
    return RunPoint(number, clients, tps, "TPS", "p", "s")._replace(**changes)


def test_repeats_of_a_level_become_one_level_in_rising_order_of_clients():
    built = curve.build([run(1, 4, 400.0), run(2, 1, 100.0), run(3, 4, 420.0), run(4, 1, 110.0)])
    assert [level.clients for level in built.levels] == [1, 4]
    assert [level.values for level in built.levels] == [(100.0, 110.0), (400.0, 420.0)]
    assert [level.throughput.mean for level in built.levels] == pytest.approx([11_000**0.5, 168_000**0.5])
    assert built.levels[1].throughput.percent == pytest.approx(100 * 20 / 168_000**0.5)


def test_the_peak_is_the_level_with_the_highest_geometric_mean_not_the_highest_run():
    built = curve.build([run(1, 1, 50.0), run(2, 2, 100.0), run(3, 2, 100.0), run(4, 4, 60.0), run(5, 4, 130.0)])
    assert built.peak.level.clients == 2
    assert built.peak.edge == ""
    assert built.peak.sentence == ""


@pytest.mark.parametrize(
    ("tps", "clients", "edge"),
    [([1, 2, 3], 4, "highest"), ([3, 2, 1], 1, "lowest"), ([1, 3, 2], 2, ""), ([2, 2, 2], 1, "lowest")],
)
def test_a_peak_at_the_edge_of_the_sweep_is_called_that(tps, clients, edge):
    built = curve.build([run(i, 2**i, float(value)) for i, value in enumerate(tps)])
    assert (built.peak.level.clients, built.peak.edge) == (clients, edge)
    assert bool(built.peak.sentence) == bool(edge)


def test_a_single_level_is_not_called_a_peak_of_anything():
    assert curve.build([run(1, 8, 10.0)]).peak.edge == "only"


def test_unlike_units_are_refused_by_name():
    with pytest.raises(curve.UnlikeUnitsError, match="NOPM and TPS"):
        curve.build([run(1, 1, 10.0), run(2, 2, 20.0, unit="NOPM")])


def test_differing_protocols_are_refused_and_the_fields_are_named():
    with pytest.raises(curve.DifferentProtocolsError, match="duration, connection path") as refusal:
        curve.build([run(1, 1, 10.0), run(2, 1, 20.0, protocol_digest="q")], PROTOCOLS)
    assert refusal.value.fields == ("duration_s", "path")


def test_differing_protocols_are_refused_even_where_their_forms_are_not_at_hand():
    with pytest.raises(curve.DifferentProtocolsError) as refusal:
        curve.build([run(1, 1, 10.0), run(2, 1, 20.0, protocol_digest="q")])
    assert refusal.value.fields == ()


def test_runs_of_two_systems_do_not_make_one_curve():
    with pytest.raises(curve.MixedSystemsError):
        curve.build([run(1, 1, 10.0), run(2, 2, 20.0, system_digest="t")])


def test_no_runs_make_no_curve():
    with pytest.raises(ValueError, match="needs a run that counts"):
        curve.build([])


def test_curves_of_two_systems_under_one_protocol_may_be_compared():
    first, second = curve.build([run(1, 1, 10.0)]), curve.build([run(2, 1, 20.0, system_digest="t")])
    curve.require_comparable([first, second])
    assert first.system_digest != second.system_digest


def test_curves_under_two_protocols_or_in_two_units_may_not():
    first = curve.build([run(1, 1, 10.0)])
    other_protocol = curve.build([run(2, 1, 20.0, protocol_digest="q")])
    other_unit = curve.build([run(3, 1, 20.0, unit="NOPM")])
    with pytest.raises(curve.DifferentProtocolsError, match="duration, connection path"):
        curve.require_comparable([first, other_protocol], PROTOCOLS)
    with pytest.raises(curve.UnlikeUnitsError):
        curve.require_comparable([first, other_unit])


def latencies_of(latency_us, count):
    return Histogram([latency_us], [latency_us + 1], [count], latency_us, latency_us)


def test_percentiles_of_repeats_are_never_put_together_but_their_histograms_are():
    repeats = [
        run(1, 1, 10.0, latency_p95_ms=1.0, latency_average_ms=1.0, histogram=latencies_of(1000, 970)),
        run(2, 1, 11.0, latency_p95_ms=4.0, histogram=latencies_of(4000, 30)),
    ]
    level = curve.build(repeats).levels[0]
    assert (level.latency_p95_ms, level.latency_p99_ms) == (1.0, 4.0)  # 97% of the 1,000 take 1 ms
    assert (level.latencies.repeats, level.latencies.samples) == (2, 1000)
    assert level.latency_average_ms == 1.0


def test_percentiles_are_unknown_where_the_latencies_of_one_repeat_are():
    repeats = [run(1, 1, 10.0, latency_p95_ms=2.0, histogram=latencies_of(2000, 999)), run(2, 1, 1.0)]
    level = curve.build(repeats).levels[0]
    assert (level.latencies, level.latency_p95_ms) == (None, None)


def test_a_single_run_without_a_histogram_has_the_percentile_that_its_program_printed():
    assert curve.build([run(1, 1, 10.0, latency_p95_ms=2.0)]).levels[0].latency_p95_ms == 2.0
    printed_twice = [run(1, 1, 10.0, latency_p95_ms=2.0), run(2, 1, 10.0, latency_p95_ms=2.0)]
    assert curve.build(printed_twice).levels[0].latency_p95_ms is None
    few = run(1, 1, 10.0, latency_p95_ms=2.0, histogram=latencies_of(2000, 20))
    assert curve.build([few]).levels[0].latency_p95_ms is None


def started(number, at_s, clients, tps):
    return run(number, clients, tps, start=Start(at_s, 60.0, clients, tps))


def test_repeats_that_were_run_in_a_row_have_no_interval_and_the_curve_says_why():
    """1, 1, 1, then 8, 8, 8: three repeats a minute apart share what the host was like just then."""
    in_a_row = [started(n, 60.0 * n, clients, 10.0 + n) for n, clients in enumerate([1, 1, 1, 8, 8, 8])]
    built = curve.build(in_a_row)
    assert built.withheld.startswith("the repeats of each level were run in a row")
    assert [(level.throughput.interval, level.throughput.kind) for level in built.levels] == [(None, RANGE)] * 2
    in_turns = [started(n, 60.0 * n, clients, 10.0 + n) for n, clients in enumerate([1, 8, 1, 8, 1, 8])]
    assert curve.build(in_turns).withheld == ""
    assert all(level.throughput.interval for level in curve.build(in_turns).levels)


def test_latencies_have_a_spread_of_their_own_of_those_that_are_known():
    level = curve.build([run(i, 1, 10.0, latency_average_ms=ms) for i, ms in enumerate((2.0, None, 4.0))]).levels[0]
    assert (level.latency.n, level.latency.low, level.latency.high) == (2, 2.0, 4.0)
    assert level.throughput.n == 3
    assert curve.build([run(1, 1, 10.0)]).levels[0].latency is None


def test_a_doubt_of_several_repeats_is_said_once():
    level = curve.build([run(1, 1, 10.0, doubts=("a", "b")), run(2, 1, 11.0, doubts=("a",))]).levels[0]
    assert level.doubts == ("a", "b")


@given(st.permutations([(1, 10.0), (1, 12.0), (2, 20.0), (4, 15.0), (4, 18.0)]))
def test_the_order_of_runs_changes_neither_levels_nor_peak(order):
    built = curve.build([run(i, clients, tps) for i, (clients, tps) in enumerate(order)])
    assert [level.throughput.mean for level in built.levels] == pytest.approx([120**0.5, 20.0, 270**0.5])
    assert built.peak.level.clients == 2
