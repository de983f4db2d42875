import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve
from benchhub.analysis.curves import ratio as ratios
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.statistics.drift import NOT_IN_TURNS, Start


def ratio_of(values, baseline):
    return ratios.throughput_ratio(values, baseline, "TPS", "TPS")


def curve_of(*runs, unit="TPS", protocol="p"):
    points = (RunPoint(i, clients, tps, unit, protocol, "s") for i, (clients, tps) in enumerate(runs))
    return curve.build(points)


def test_the_ratio_is_of_geometric_means_and_its_range_of_extreme_repeats():
    ratio = ratio_of([1100.0, 1140.0], [980.0, 1020.0])
    assert ratio.value == pytest.approx((1100 * 1140 / 980 / 1020) ** 0.5)  # 1.12004
    assert ratio.lowest == pytest.approx(1100 / 1020)
    assert ratio.highest == pytest.approx(1140 / 980)
    assert (ratio.n, ratio.baseline_n, ratio.kind) == (2, 2, "range of repeats")


def test_neither_the_median_nor_the_arithmetic_mean_is_compared():
    assert ratio_of([100.0, 200.0, 1350.0], [100.0]).value == pytest.approx(3.0)  # 27,000,000 ** (1/3) over 100


@pytest.mark.parametrize(
    ("values", "baseline"),
    [
        ([12_000.0, 12_100.0], [1000.0, 1010.0]),  # twelvefold
        ([990.0, 1050.0], [1000.0, 1010.0]),  # the ranges overlap
        ([1000.0], [2000.0]),
        ([1000.0] * 5, [2000.0, 2010.0]),
    ],
)
def test_fewer_than_three_repeats_of_a_side_are_not_tested_however_far_apart_they_lie(values, baseline):
    ratio = ratio_of(values, baseline)
    assert (ratio.verdict, ratio.p, ratio.is_distinguishable) == ("not tested", None, False)
    sentence = str(ratios.claim(ratio, "b", "a", "at 1 client"))
    assert sentence.endswith(": not tested, as that takes 3 repeats of each.")
    assert "distinguishable" not in sentence


@pytest.mark.parametrize(("values", "baseline"), [([], [1.0]), ([1.0], [])])
def test_a_side_without_a_repeat_is_refused(values, baseline):
    with pytest.raises(ValueError, match="no value"):
        ratio_of(values, baseline)


@pytest.mark.parametrize("baseline", [[0.0], [-1.0], [float("nan")]])
def test_what_is_no_throughput_is_refused_rather_than_divided_by(baseline):
    with pytest.raises(ValueError, match="not a throughput"):
        ratio_of([1.0], baseline)


def test_unlike_units_are_refused_by_name():
    with pytest.raises(curve.UnlikeUnitsError, match="NOPM and TPS"):
        ratios.throughput_ratio([1.0], [1.0], "TPS", "NOPM")


def test_curves_are_compared_at_the_levels_that_both_have():
    ratio_by_clients = ratios.by_level(
        curve_of((1, 300.0), (8, 2000.0), (16, 1.0)), curve_of((1, 200.0), (4, 900.0), (8, 1000.0))
    )
    assert {clients: ratio.value for clients, ratio in ratio_by_clients.items()} == {1: 1.5, 8: 2.0}


def test_curves_of_different_protocols_or_units_have_no_ratio():
    with pytest.raises(curve.DifferentProtocolsError):
        ratios.by_level(curve_of((1, 300.0)), curve_of((1, 300.0), protocol="q"))
    with pytest.raises(curve.UnlikeUnitsError):
        ratios.by_level(curve_of((1, 300.0)), curve_of((1, 300.0), unit="NOPM"))


def test_the_sentence_says_what_was_found_and_how_sure_it_is():
    sentence = str(ratios.claim(ratio_of([1100.0, 1140.0], [980.0, 1020.0]), "18.4", "16.14", "at 8 clients"))
    assert sentence == (
        "18.4 gives 1.12x the throughput of 16.14 at 8 clients (range of repeats 1.08 to 1.16, 2 repeats each): "
        "not tested, as that takes 3 repeats of each."
    )


FIVE = (1118.0, 1122.0, 1120.0, 1121.0, 1119.0)
FIVE_OF_BASELINE = (998.0, 1002.0, 1000.0, 1001.0, 999.0)


def test_from_three_repeats_on_each_side_there_is_an_interval_and_a_test():
    ratio = ratio_of(FIVE, FIVE_OF_BASELINE)
    assert ratio.kind == ratios.INTERVAL
    assert ratio.value == pytest.approx(1.12, rel=1e-6)
    # s of the logs 0.001412 and 0.001581; 2.311 (7.9 degrees) x sqrt((0.001412^2 + 0.001581^2) / 5) = 0.00219
    assert (ratio.lowest, ratio.highest) == (pytest.approx(1.11755, abs=2e-5), pytest.approx(1.12246, abs=2e-5))
    assert ratio.p < 1e-10
    assert (ratio.is_distinguishable, ratio.verdict) == (True, "more")


def test_the_sentence_of_a_tested_ratio_is_plain():
    values = [tenth * 10 for tenth in (111, 112, 113)]
    sentence = str(ratios.claim(ratio_of(values, (1000.0, 1001.0, 999.0)), "18.4", "16.14", "at 8 clients"))
    assert sentence == "18.4 gives 1.12x the throughput of 16.14 at 8 clients, between 1.10 and 1.14, 3 repeats each."


def test_not_distinguishable_is_a_result():
    ratio = ratio_of([990.0, 1050.0, 1020.0], [1000.0, 1010.0, 1005.0])
    assert ratio.verdict == "not distinguishable"
    sentence = str(ratios.claim(ratio, "b", "a", "at 1 client"))
    assert sentence == "b and a are not distinguishable at 1 client: 1.01x, between 0.95 and 1.09, 3 repeats each."


def test_three_repeats_against_two_have_no_test():
    ratio = ratio_of([990.0, 1050.0, 1020.0], [1000.0, 1010.0])
    assert (ratio.kind, ratio.p) == ("range of repeats", None)


def test_repeats_without_any_scatter_are_not_tested():
    ratio = ratio_of([1010.0] * 3, [1000.0] * 3)
    assert (ratio.p, ratio.verdict) == (None, "not tested")
    sentence = str(ratios.claim(ratio, "b", "a", "at 1 client"))
    assert sentence.endswith("not tested, as equal repeats say nothing about scatter.")


def test_one_level_of_several_that_stands_out_by_chance_is_not_called_different():
    # p is 0.03 at the first level alone, and 4 x 0.03 among four
    first = [(1, tps) for tps in (1000.0, 1010.0, 1020.0)]
    others = [(clients, tps) for clients in (2, 4, 8) for tps in (100.0, 101.0, 99.0)]
    baseline = [(1, tps) for tps in (980.0, 985.0, 990.0)]
    alone = ratios.by_level(curve_of(*first), curve_of(*baseline))[1]
    among = ratios.by_level(curve_of(*first, *others), curve_of(*baseline, *others))[1]
    assert alone.is_distinguishable
    assert alone.p == among.p
    assert among.adjusted_p == pytest.approx(4 * among.p)
    assert not among.is_distinguishable
    assert str(ratios.claim(among, "b", "a", "at 1 client")).endswith(
        "the interval leaves out 1, but of several levels one does so by chance."
    )


def test_the_sentence_claims_no_spread_for_single_runs():
    sentence = str(ratios.claim(ratio_of([2000.0], [1000.0]), "b", "a", "at 1 client"))
    assert sentence == (
        "b gives 2.00x the throughput of a at 1 client (1 run each): not tested, as that takes 3 repeats of each."
    )


def test_unequal_numbers_of_repeats_are_both_named():
    assert "1 and 2 repeats" in str(ratios.claim(ratio_of([2000.0], [1000.0, 1100.0]), "b", "a", "at 1 client"))


@pytest.mark.parametrize(
    ("value", "text"), [(1.005, "1.00"), (0.126, "0.13"), (12.34, "12.3"), (1234.5, "1,230"), (0.0123456, "0.0123")]
)
def test_ratios_are_rounded_to_what_can_be_read(value, text):
    assert ratios.number(value) == text


repeats = st.lists(st.floats(0.01, 1e7), min_size=1, max_size=6)


@given(repeats)
def test_the_ratio_of_a_set_to_itself_is_1_and_never_tells_it_from_itself(values):
    assert ratio_of(values, values).value == 1
    assert not ratio_of(values, values).is_distinguishable


@given(repeats, repeats)
def test_swapping_the_sides_inverts_the_ratio_and_its_range(values, baseline):
    forward, backward = ratio_of(values, baseline), ratio_of(baseline, values)
    assert forward.value * backward.value == pytest.approx(1)
    assert forward.lowest * backward.highest == pytest.approx(1)
    assert forward.highest * backward.lowest == pytest.approx(1)


@given(repeats, repeats)
def test_every_pair_of_repeats_lies_within_the_range(values, baseline):
    ratio = ratio_of(values, baseline)
    assert ratio.lowest <= ratio.value <= ratio.highest
    assert ratio.is_tested or all(ratio.lowest <= v / b <= ratio.highest for v in values for b in baseline)


@given(repeats, repeats, st.floats(0.1, 10))
def test_the_unit_of_measure_does_not_matter(values, baseline, factor):
    scaled = ratio_of([v * factor for v in values], [b * factor for b in baseline])
    assert scaled.value == pytest.approx(ratio_of(values, baseline).value)


def ordered(order, base, place="host 1"):
    """A curve of 8 clients with a run in each of these minutes, of `base` TPS and one more with each run."""
    return curve.build(
        RunPoint(n, 8, base + n, "TPS", "p", "s", start=Start(60.0 * minute, 60.0, 8, base + n), place=place)
        for n, minute in enumerate(order)
    )


def test_systems_that_ran_one_after_the_other_have_a_ratio_without_interval_test_and_verdict():
    ratio = ratios.by_level(ordered([3, 4, 5], 1100.0), ordered([0, 1, 2], 1000.0))[8]
    assert ratio.value == pytest.approx(1.1, rel=1e-3)  # 1,101 to 1,001
    assert (ratio.lowest, ratio.highest, ratio.p, ratio.adjusted_p, ratio.bounds) == (None,) * 5
    assert (ratio.verdict, ratio.withheld, ratio.has_spread) == ("withheld", NOT_IN_TURNS, False)
    assert not ratio.is_distinguishable and not ratio.is_tested
    sentence = str(ratios.claim(ratio, "18", "16", "at 8 clients"))
    assert sentence.startswith(
        "18 gives 1.10x the throughput of 16 at 8 clients (3 repeats each), but nothing says how"
    )
    assert sentence.endswith("Run them in one experiment, repeat by repeat or at random.")
    assert "between 1" not in sentence


def test_the_same_numbers_in_turns_have_their_interval():
    ratio = ratios.by_level(ordered([1, 3, 5], 1100.0), ordered([0, 2, 4], 1000.0))[8]
    assert (ratio.verdict, ratio.withheld) == ("more", "")
    assert ratio.bounds == (ratio.lowest, ratio.highest)


def test_two_hosts_do_not_drift_together_so_that_their_order_says_nothing():
    ratio = ratios.by_level(ordered([3, 4, 5], 1100.0, "host 2"), ordered([0, 1, 2], 1000.0))[8]
    assert (ratio.verdict, ratio.withheld) == ("more", "")


def test_runs_of_which_nobody_knows_when_they_ran_have_their_interval():
    assert ratios.by_level(curve_of((8, 10.0), (8, 11.0), (8, 12.0)), curve_of((8, 10.0), (8, 11.0), (8, 12.5)))[
        8
    ].bounds
