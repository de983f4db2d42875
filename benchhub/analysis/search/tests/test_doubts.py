"""What a search says where it does not know: noise, rough curves, drift, stalls, levels that were run once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchhub.analysis.search.advice import CONFIRMED, FEWEST, Goal, advise
from benchhub.analysis.search.belief import Trial, believe
from benchhub.analysis.search.testing import GOAL, LEVELS, follow, scalability
from benchhub.analysis.search.words import ISOLATED, reasons
from conftest import WHOLE

# Runs of 1 s on a busy machine: what repeats and neighbours say of each other is that they say nothing.
JUMPING = [
    (12, 15_200), (5, 22_900), (2, 7_100), (9, 9_800), (16, 23_300), (14, 11_000),
    (11, 8_700), (10, 21_400), (7, 12_600), (3, 16_900), (10, 9_200),
]  # fmt: skip


def test_values_that_jump_threefold_are_noise_and_nothing_is_known():
    advice = advise(range(1, 17), [Trial(*row) for row in JUMPING], Goal(runs=11, noisy_runs=11))
    assert advice.stopped == "spent" and advice.noise >= 0.25
    assert "noise" in advice.doubts and advice.probability < 0.9
    assert advice.best in dict(JUMPING)
    assert advice.low >= 7_100 and advice.low < 23_300, "the interval reaches down into what was seen"


@pytest.mark.parametrize("noise", [pytest.param(0.15, marks=pytest.mark.whole), 0.35])
def test_noise_is_estimated_beyond_a_tenth(noise):
    for seed in (1, 2) if WHOLE else (1,):
        advice, trials = follow(scalability, noise=noise, seed=seed)
        assert noise / 2.5 <= advice.noise <= 2 * noise
        assert (advice.stopped, len(trials)) == ("spent", 24)


def test_nothing_is_known_of_a_level_that_was_run_once():
    trials = [Trial(n, scalability(n)) for n in (104, 28, 8, 42, 16, 80, 36, 38, 44)]
    assert len(trials) == FEWEST
    advice = advise(LEVELS, trials, GOAL)
    assert advice.probability >= GOAL.confidence and "unconfirmed" in advice.doubts
    assert (advice.stopped, advice.clients, advice.is_confirming) == ("", advice.best, True)
    again = advise(LEVELS, [*trials, Trial(advice.best, scalability(advice.best))], GOAL)
    assert again.stopped == "known" and again.doubts == ()


def test_the_last_run_confirms_the_best_level_only_where_it_is_believed_in():
    """After nine runs one level is good beyond doubt and was run once; after three nobody knows."""
    trials = [Trial(n, scalability(n)) for n in (104, 28, 8, 42, 16, 80, 36, 38, 44)]
    advice = advise(LEVELS, trials, Goal(runs=10, noisy_runs=10))
    assert (advice.clients, advice.is_confirming, advice.runs_left) == (advice.best, True, 1)
    early = [Trial(n, scalability(n)) for n in (104, 28, 8)]
    open_advice = advise(LEVELS, early, Goal(runs=4, noisy_runs=4))
    assert open_advice.clients not in (104, 28, 8) and not open_advice.is_confirming


def test_levels_that_differ_while_their_repeats_agree_are_a_rough_curve_and_no_noise():
    """Each level lies up to 12% off, the same in every run."""
    offsets = dict(zip(LEVELS, np.random.default_rng(3).uniform(-0.12, 0.12, len(LEVELS)), strict=True))
    levels = [104, 28, 8, 60, 42, 80, 36, 50, 140, 60, 104, 36]
    trials = [Trial(n, 1000 * n / (n + 10) * (1 + offsets[n])) for n in levels]
    advice = advise(LEVELS, trials, GOAL)
    assert "rough" in advice.doubts and "noise" not in advice.doubts
    assert advice.stopped != "known" and advice.probability < 0.5


def test_repeats_that_fall_with_time_are_a_drift_of_the_host():
    levels = [104, 28, 8, 42, 104, 28, 8, 42, 104, 28, 42]
    trials = [Trial(n, scalability(n) * 0.97**k) for k, n in enumerate(levels)]
    advice = advise(LEVELS, trials, GOAL)
    assert "drift" in advice.doubts and "noise" not in advice.doubts
    assert advice.low <= scalability(42) * 0.97 ** (len(levels) - 1) <= advice.high, "as of the last run"
    assert "drift" not in advise(LEVELS, [Trial(n, scalability(n)) for n in levels], GOAL).doubts


def test_a_run_at_a_third_of_its_repeats_stalled_and_is_left_out_of_the_belief():
    levels = [104, 28, 8, 42, 16, 80, 36, 42, 28, 42]
    trials = [Trial(n, scalability(n) * (0.3 if k == 3 else 1)) for k, n in enumerate(levels)]
    belief = believe(LEVELS, trials)
    assert belief.stalls[3] > 0.9 and np.delete(belief.stalls, 3).max() < 0.1
    advice = advise(LEVELS, trials, GOAL)
    assert "stalls" in advice.doubts and "noise" not in advice.doubts
    assert scalability(advice.best) >= 0.99 * max(map(scalability, LEVELS))


def test_sentences_say_what_is_amiss_and_what_no_run_can_show_where_all_is_well():
    certain = advise(LEVELS, [Trial(n, scalability(n)) for n in (104, 28, 8, 42, 16, 80, 36, 38, 44, 38, 42)], GOAL)
    assert (certain.stopped, reasons(certain)) == ("known", [ISOLATED])
    noisy = advise(range(1, 17), [Trial(*row) for row in JUMPING], Goal(runs=11, noisy_runs=11))
    assert any(f"Noise of about {100 * noisy.noise:.1f}%" in sentence for sentence in reasons(noisy))
    assert reasons(advise(LEVELS, [], GOAL)) == []
    spent = advise(LEVELS, [Trial(4, 10.0), Trial(4, 10.0)], Goal(runs=2, noisy_runs=2))
    assert spent.stopped == "spent" and reasons(spent)


@settings(max_examples=15 if WHOLE else 5, deadline=None)
@given(st.data())
def test_the_best_level_was_run_and_what_is_known_was_run_again(data):
    levels = sorted(data.draw(st.sets(st.integers(1, 1000), min_size=2, max_size=12)))
    trial = st.builds(Trial, st.sampled_from(levels), st.floats(100, 10_000))
    trials = data.draw(st.lists(trial, min_size=1, max_size=14))
    advice = advise(levels, trials, GOAL)
    run_levels = [trial.clients for trial in trials]
    assert advice.best in run_levels
    assert advice.stopped != "known" or run_levels.count(advice.best) >= CONFIRMED
