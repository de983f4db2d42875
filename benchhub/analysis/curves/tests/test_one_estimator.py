"""Every number of a curve rests on the geometric mean of its repeats, so that all of them name the same winner."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve, peak, ratio
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.pricing import certainty
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.questions import Load, at_peak
from benchhub.analysis.pricing.quote import Order, measured, quote
from benchhub.analysis.pricing.topology import Deployment, Machine, Node

CLIENTS = 8


def curve_of(system, repeats, clients=CLIENTS):
    return curve.build(RunPoint(n, clients, tps, "TPS", "p", system) for n, tps in enumerate(repeats))


def price_of(system, built):
    loads = [Load(measured(level.throughput, level.values, "TPS", system, level.clients)) for level in built.levels]
    price = Price("machine", Decimal(1000), "EUR", date(2026, 1, 1), "a list")
    machine = Order(Deployment((Node(Machine("machine", 1, 1), prices=(price,)),)))
    return quote(machine, at_peak(loads).throughput)


def winners(first, second):
    """Return the winner by each number that is given of two curves at one level: 'a' or 'b'."""
    a, b = curve_of("a", first), curve_of("b", second)
    level_ratio = ratio.by_level(a, b)[CLIENTS]
    prices = price_of("a", a), price_of("b", b)
    is_won_by_first = {
        "table and chart": a.levels[0].throughput.mean > b.levels[0].throughput.mean,
        "peak": a.peak.level.throughput.mean > b.peak.level.throughput.mean,
        "ratio": level_ratio.value > 1,
        "price": prices[0].quotient < prices[1].quotient,
        "ratio of prices": certainty.ratio(*prices).value < 1,
    }
    if (chance := certainty.ratio(*prices).probability_cheaper) is not None:
        is_won_by_first["probability"] = chance > 0.5
    if (tops := [peak.selected(peak.of_curve(side)) for side in (a, b)]) and all(tops):
        is_won_by_first["peaks"] = peak.ratio(*tops).value > 1
    if level_ratio.verdict in ("more", "less"):
        is_won_by_first["verdict"] = level_ratio.verdict == "more"
        is_won_by_first["sentence"] = (
            "a gives" in ratio.claim(level_ratio, "a", "b", "").statement and level_ratio.value > 1
        )
    return {name: "a" if is_first else "b" for name, is_first in is_won_by_first.items()}


def test_where_the_median_names_the_other_one_all_numbers_name_the_same():
    # Medians 840 and 696; geometric means (300 x 840 x 850) ** (1/3) = 598.3 and (690 x 696 x 1,000) ** (1/3) = 783.1
    assert set(winners((300.0, 840.0, 850.0), (690.0, 696.0, 1000.0)).values()) == {"b"}


def test_where_the_arithmetic_mean_names_the_other_one_all_numbers_name_the_same():
    # Arithmetic means 400 and 333; geometric means (100 x 100 x 1,000) ** (1/3) = 215.4 and 333.0
    assert set(winners((100.0, 100.0, 1000.0), (330.0, 333.0, 336.0)).values()) == {"b"}


repeats = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=7)


@given(repeats, repeats)
def test_of_any_repeats_table_ratio_price_peak_and_sentence_name_the_same_winner(first, second):
    assume(
        curve_of("a", first).levels[0].throughput.mean != pytest.approx(curve_of("b", second).levels[0].throughput.mean)
    )
    assert len(set(winners(first, second).values())) == 1


@given(st.dictionaries(st.integers(1, 100), repeats, min_size=1, max_size=5))
def test_of_any_levels_the_peak_is_the_same_for_table_price_and_estimate(levels):
    points = [(clients, tps) for clients, values in levels.items() for tps in values]
    built = curve.build(RunPoint(n, clients, tps, "TPS", "p", "a") for n, (clients, tps) in enumerate(points))
    assert price_of("a", built).throughput.clients == built.peak.level.clients == peak.best_level(levels)
    if selected := peak.selected(levels):
        assert (selected.clients, selected.value) == (built.peak.level.clients, built.peak.level.throughput.mean)


@given(repeats, repeats)
def test_a_price_and_its_throughput_are_tested_alike(first, second):
    a, b = curve_of("a", first), curve_of("b", second)
    level_ratio, price_ratio = ratio.by_level(a, b)[CLIENTS], certainty.ratio(price_of("a", a), price_of("b", b))
    assert level_ratio.is_tested == price_ratio.is_tested
    if level_ratio.is_tested:
        assume(all(end != pytest.approx(1) for end in (level_ratio.lowest, level_ratio.highest)))
        assert level_ratio.is_distinguishable == price_ratio.is_distinguishable
