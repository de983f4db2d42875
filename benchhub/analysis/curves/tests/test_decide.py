"""Sequential decision: arithmetic by hand, then how often it is wrong when there is nothing to find."""

import math

import numpy as np
import pytest

from benchhub.analysis.curves.decide import EFFECT, Question, baseline_goes_first, decide, half_width

QUESTION = Question(pairs=40, precision=0.02)


def pairs(ratios, baseline=1000.0):
    return [(baseline, baseline * ratio) for ratio in ratios]


def test_the_interval_is_where_the_test_martingale_stays_below_twenty():
    values = [0.01, 0.03, 0.02, 0.04, 0.0, 0.02]
    # n = 6, mean 0.02, s = sqrt(0.001 / 5) = 0.014142; r = 1 / (1 + 6 x 4) = 1/25
    n, s, r = 6, math.sqrt(0.001 / 5), 1 / 25
    t = half_width(values) / (s / math.sqrt(n))
    martingale = math.sqrt(r) * ((1 + t**2 / (n - 1)) / (1 + r * t**2 / (n - 1))) ** (n / 2)
    assert EFFECT == 2 and martingale == pytest.approx(20)


def test_two_pairs_give_no_interval_and_no_answer():
    verdict = decide(pairs([1.5, 1.5]), QUESTION)
    assert (verdict.answer, verdict.low, verdict.n, verdict.pairs_left) == ("", None, 2, 38)
    assert "too few" in verdict.sentence("B", "A")


def test_a_clear_difference_is_answered_as_soon_as_it_is_known_well_enough():
    verdict = decide(pairs([1.10, 1.101, 1.099, 1.10, 1.102, 1.10]), QUESTION)
    assert verdict.answer == "faster" and verdict.is_precise and verdict.pairs_left == 34
    assert verdict.low < 1.1003 < verdict.high
    assert verdict.sentence("B", "A").startswith("B gives 1.10x the throughput of A (between 1.10 and 1.10, 6 pairs)")
    assert decide(pairs([0.9, 0.901, 0.899, 0.9, 0.9, 0.9]), QUESTION).answer == "slower"


def test_no_difference_is_an_answer_only_where_a_larger_one_is_ruled_out():
    agree = [1.001, 0.999, 1.0, 1.001, 0.999, 1.0]
    assert decide(pairs(agree), QUESTION).answer == "no difference"
    scattered = [1.1, 0.9, 1.05, 0.95, 1.0, 1.0]
    assert decide(pairs(scattered), QUESTION).answer == ""
    assert decide(pairs(scattered), Question(pairs=6, precision=0.02)).answer == "cannot tell"
    assert "cannot be told" in decide(pairs(scattered), Question(6, 0.02)).sentence("B", "A")


def test_direction_alone_ends_it_only_where_that_was_asked_for():
    ratios = [1.2, 1.3, 1.25, 1.2, 1.3, 1.25, 1.22, 1.28]
    assert decide(pairs(ratios), QUESTION).answer == ""
    verdict = decide(pairs(ratios), Question(40, 0.02, direction_is_enough=True))
    assert verdict.answer == "faster" and not verdict.is_precise


def test_a_budget_that_is_spent_on_runs_without_result_ends_it_too():
    verdict = decide(pairs([1.1, 1.1]), QUESTION, spoilt=38)
    assert (verdict.answer, verdict.pairs_left) == ("cannot tell", 0)
    assert decide([], QUESTION, spoilt=40).answer == "cannot tell"


def test_a_drift_that_both_runs_of_a_pair_share_does_not_count():
    drifting = [(1000.0 * (1 + 0.05 * i), 1100.0 * (1 + 0.05 * i)) for i in range(6)]
    verdict = decide(drifting, QUESTION)
    assert verdict.answer == "faster" and verdict.high - verdict.low < 1e-6


def test_each_two_pairs_have_both_orders_and_the_seed_repeats_them():
    orders = [baseline_goes_first(pair, seed=7) for pair in range(1, 41)]
    assert all(first != second for first, second in zip(orders[::2], orders[1::2], strict=True))
    assert orders == [baseline_goes_first(pair, seed=7) for pair in range(1, 41)]
    assert len(set(orders[::2])) == 2


def test_looking_after_every_pair_finds_false_differences_in_at_most_five_percent():
    # 2,000 series of 40 pairs without a difference; at 5% the count has a deviation of 9.7, so 120 is two above.
    rng = np.random.default_rng(11)
    false = sum(_ever_clear(rng.normal(0, 0.03, 40)) for _ in range(2000))
    assert 0 < false <= 100


def _ever_clear(values):
    return any(
        half is not None and abs(np.mean(values[:n])) > half
        for n in range(3, len(values) + 1)
        for half in [half_width(values[:n].tolist())]
    )


@pytest.mark.parametrize("wrong", [{"pairs": 0}, {"precision": 0}, {"precision": 1}, {"confidence": 1}])
def test_a_question_that_cannot_be_answered_is_refused(wrong):
    with pytest.raises(ValueError, match=r"at least one pair|shares"):
        Question(**{"pairs": 40, "precision": 0.02, **wrong})


def test_what_is_no_throughput_is_refused():
    with pytest.raises(ValueError, match="positive, finite"):
        decide([(1000.0, 0.0)], QUESTION)
