import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.doubts.steadiness import of_series, sentences

ALTERNATING = [990.0, 1010.0] * 30


def test_a_run_that_only_flickers_is_steady():
    steadiness = of_series(ALTERNATING)
    assert (steadiness.seconds, steadiness.warm_up, steadiness.stalls_s) == (60, None, ())
    assert steadiness.variation_percent == pytest.approx(1.0, rel=0.01)  # 10 of 1,000, as a sample of 60
    assert sentences(steadiness) == []


def test_the_end_of_a_warm_up_is_found_to_the_second():
    steadiness = of_series([500.0] * 7 + ALTERNATING)
    assert steadiness.warm_up.end_s == 7
    assert steadiness.warm_up.percent == pytest.approx(50)
    assert sentences(steadiness)[0].startswith("The first 7 s ran at 50% of the throughput of the rest")


def test_a_start_that_is_faster_than_the_rest_is_one_too():
    assert of_series([2000.0] * 5 + ALTERNATING).warm_up.percent == pytest.approx(200)


def test_a_drop_in_the_middle_is_no_warm_up():
    assert of_series(ALTERNATING + [100.5] * 3 + ALTERNATING).warm_up is None


def test_a_trend_is_measured_from_end_to_end_of_the_batches():
    steadiness = of_series([1000.0 + 2 * second + (-1) ** second for second in range(100)])
    # Batch means 1009 .. 1189 in steps of 20: 180 of a mean of 1099
    assert steadiness.trend.percent == pytest.approx(100 * 180 / 1099)
    assert steadiness.has_trend
    assert "rose by 16%" in " ".join(sentences(steadiness))


def test_stalls_are_counted_and_the_longest_is_named():
    steadiness = of_series(ALTERNATING + [0.0] * 3 + ALTERNATING + [50.0] + ALTERNATING, step_s=2)
    assert steadiness.stalls_s == (6, 2)
    assert "stood still 2 times, for 6 s at the longest" in " ".join(sentences(steadiness))


def test_seconds_that_are_not_known_are_left_out():
    assert of_series([None, *ALTERNATING]).seconds == 60


@pytest.mark.parametrize("values", [[], [1000.0] * 19, [None] * 30, [0.0] * 30])
def test_too_little_to_judge_by_is_no_judgement(values):
    assert of_series(values) is None


def test_a_series_that_never_varies_has_no_trend_rather_than_a_certain_one():
    assert of_series([1000.0] * 60).trend is None
    assert sentences(of_series([1000.0] * 60)) == []


@pytest.mark.parametrize(("memory", "most"), [(0.0, 0.03), (0.6, 0.08)])
def test_steady_runs_are_seldom_called_unsteady_even_where_seconds_hang_together(memory, most):
    source, unsteady = random.Random(20261121), 0
    for _ in range(300):
        noise, values = 0.0, []
        for _ in range(60):
            noise = memory * noise + source.gauss(0, 0.04)
            values.append(1000 * (1 + noise))
        unsteady += sentences(of_series(values)) != []
    assert unsteady <= 300 * most


def test_a_trend_of_15_per_cent_under_4_per_cent_noise_is_mostly_seen():
    source = random.Random(20261121)
    trends = sum(
        of_series([1000 * (1 + 0.15 * second / 60 + source.gauss(0, 0.04)) for second in range(60)]).has_trend
        for _ in range(200)
    )
    assert trends >= 190


@given(st.lists(st.floats(1, 1e5), min_size=20, max_size=60), st.floats(0.5, 50))
def test_the_unit_does_not_matter(values, factor):
    plain, scaled = of_series(values), of_series([factor * value for value in values])
    assert scaled.variation_percent == pytest.approx(plain.variation_percent, abs=1e-6)
    assert sum(plain.stalls_s) <= plain.seconds


def test_a_warm_up_is_never_longer_than_half_of_the_run():
    values = [500.0 + 10 * second for second in range(40)] + [1000.0, 1010.0] * 10
    assert of_series(values).warm_up.end_s <= 30


@pytest.mark.parametrize("tps", [0.5, 2, 10, 20])
def test_few_transactions_a_second_vary_by_chance_and_that_is_no_doubt(tps):
    source, unsteady = random.Random(20261128), 0
    for _ in range(200):
        due, counts = 0.0, [0.0] * 60
        while (due := due + source.expovariate(tps)) < 60:
            counts[int(due)] += 1
        unsteady += any(counts) and sentences(of_series(counts)) != []
    assert unsteady <= 200 * 0.03


def test_a_stall_of_a_slow_load_is_told_where_chance_does_not_make_it():
    slow = [4.0, 6.0] * 15
    assert of_series([*slow, 0.0, *slow]).stalls_s == ()
    assert of_series([*slow, *[0.0] * 5, *slow]).stalls_s == (5,)
    assert of_series([*slow, *[30.0] * 5, *slow]).varies


def test_a_series_of_hours_is_passed_over_once_and_not_from_each_second_anew(monkeypatch):
    source = random.Random(20261128)
    values = [source.gauss(600 if second < 40 else 1000, 50) for second in range(120)]
    by_each = min(range(61), key=lambda cut: statistics.pvariance(values[cut:]) / (120 - cut))
    passes = []
    monkeypatch.setattr(statistics, "pvariance", lambda part: passes.append(part) or 1.0)
    assert of_series(values).warm_up.end_s == by_each
    assert len(passes) <= 1
