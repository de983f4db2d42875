import math
from itertools import pairwise

import pytest

from benchhub.analysis.tuning import words
from benchhub.analysis.tuning.effects import Effects, effects
from benchhub.analysis.tuning.fractions import fraction
from benchhub.analysis.tuning.treatments import ALONE, CUMULATIVE, FACTORIAL, treatments

# What report C lists: its gains compound to 1.44.
GAINS = (1.12, 1.02, 1.06, 1.07, 1.09, 1.02)


def repeats(mean, *factors):
    return {8: [mean * factor for factor in factors or (0.99, 1.0, 1.01)]}


def series(kind, means, **options):
    return effects(kind, treatments(kind, len(means) - 1), [repeats(mean) for mean in means], **options)


def factorial(steps, size, mean_of):
    design, plan = fraction(steps, size), treatments(FACTORIAL, steps, size)
    return effects(FACTORIAL, plan, [repeats(mean_of(treatment)) for treatment in plan], design=design)


def test_cumulative_steps_compound_to_the_total_that_was_measured():
    means = [1000 * math.prod(GAINS[:count]) for count in range(7)]
    outcome = series(CUMULATIVE, means)
    assert [step.ratio.value for step in outcome.steps] == pytest.approx(GAINS)
    assert outcome.total.value == pytest.approx(math.prod(step.ratio.value for step in outcome.steps), rel=1e-12)
    assert outcome.total.value == pytest.approx(1.4406, abs=1e-4)
    assert outcome.over_baseline[0] is None
    assert [ratio.value for ratio in outcome.over_baseline[1:]] == pytest.approx([mean / 1000 for mean in means[1:]])
    assert all(step.ratio.adjusted_p >= step.ratio.p for step in outcome.steps)


def test_all_steps_together_say_what_the_last_of_them_says_over_the_baseline():
    apart = (0.9, 1.0, 1.1)
    results = [repeats(mean, *apart) for mean in (1000, 1010, 1020, 1260)]
    outcome = effects(CUMULATIVE, treatments(CUMULATIVE, 3), results)
    assert outcome.total == outcome.over_baseline[-1]
    assert outcome.total.adjusted_p > outcome.total.p
    assert words.effect_text(outcome.total) == words.effect_text(outcome.over_baseline[-1])


def test_an_interval_is_welchs_of_the_mean_logarithms():
    """Two means of three: s of the logarithms by hand, t with 4 degrees 2.776445."""
    outcome = series(CUMULATIVE, [1000, 1120])
    logs = [math.log(factor) for factor in (0.99, 1.0, 1.01)]
    variance = sum((log - sum(logs) / 3) ** 2 for log in logs) / 2
    half = 2.776445 * math.sqrt(2 * variance / 3)
    assert outcome.steps[0].ratio.lowest == pytest.approx(1.12 * math.exp(-half), rel=1e-6)
    assert outcome.steps[0].ratio.highest == pytest.approx(1.12 * math.exp(half), rel=1e-6)


def test_steps_one_at_a_time_are_each_against_the_baseline_and_have_no_measured_total():
    outcome = series(ALONE, [100, 110, 99])
    assert [step.ratio.value for step in outcome.steps] == pytest.approx([1.1, 0.99])
    assert outcome.total is None


def test_a_full_factorial_gives_effects_and_interaction_computed_by_hand():
    """Of (1), a, b and ab: A = sqrt(a/(1) x ab/b), B = sqrt(b/(1) x ab/a), and together ab x (1) / (a x b)."""
    means = {(): 100, (1,): 120, (2,): 110, (1, 2): 150}
    outcome = factorial(2, 4, means.get)
    first, second = (step.ratio.value for step in outcome.steps)
    assert first == pytest.approx(math.sqrt(1.2 * 150 / 110))
    assert second == pytest.approx(math.sqrt(1.1 * 150 / 120))
    (interaction,) = outcome.interactions
    assert interaction.steps == (1, 2)
    assert interaction.ratio.value == pytest.approx(150 * 100 / (120 * 110))


def test_a_fraction_recovers_effects_that_do_not_interact_and_shows_no_interaction():
    gains = dict(zip(range(1, 6), GAINS, strict=False))
    outcome = factorial(5, 16, lambda treatment: 1000 * math.prod(gains[number] for number in treatment))
    assert [step.ratio.value for step in outcome.steps] == pytest.approx(GAINS[:5])
    assert len(outcome.interactions) == 10
    assert [effect.ratio.value for effect in outcome.interactions] == pytest.approx([1] * 10)
    assert not any(effect.ratio.is_distinguishable for effect in outcome.interactions)


def test_an_interaction_of_a_fraction_names_what_it_cannot_be_told_from():
    """In the 2^(4-1) with I = ABCD, A with B moves the runs that C with D moves: whichever it was, both are named."""
    outcome = factorial(4, 8, lambda treatment: 1000 * (1.1 if {3, 4} <= set(treatment) else 1))
    effect = next(effect for effect in outcome.interactions if effect.steps == (1, 2))
    assert [alias.factors for alias in effect.aliases] == [(3, 4)]
    assert effect.ratio.value == pytest.approx(1.1)
    assert words.alias_text(effect, ["memory", "wal", "sync", "io"]) == "sync with io"


def test_every_run_of_a_factorial_is_at_work_for_every_effect():
    """Twelve runs against twelve: narrower than three against three would be, by the root of 4 and by t of 16 for 4."""
    outcome = factorial(3, 8, lambda _: 1000)
    single = series(ALONE, [1000, 1000]).steps[0].ratio
    width, single_width = (math.log(ratio.highest / ratio.lowest) for ratio in (outcome.steps[0].ratio, single))
    assert width == pytest.approx(single_width / 2 * 2.119905 / 2.776445, rel=1e-5)


def test_below_three_repeats_nothing_is_tested_and_says_how_many_there_were():
    outcome = effects(CUMULATIVE, [(), (1,)], [repeats(100, 0.99, 1.01), repeats(150, 0.99, 1.01)])
    ratio = outcome.steps[0].ratio
    assert (ratio.is_tested, ratio.bounds, ratio.verdict) == (False, None, "not tested")
    assert words.effect_text(ratio) == "+50%, not tested: 2 repeats"
    assert outcome.rivals(1, [0, 1]) == [0]


def test_repeats_that_do_not_scatter_are_not_called_sure():
    outcome = effects(CUMULATIVE, [(), (1,)], [repeats(100, 1, 1, 1), repeats(150, 1, 1, 1)])
    assert words.effect_text(outcome.steps[0].ratio) == "+50%, not tested: repeats without scatter"


def test_a_series_under_way_has_the_effects_whose_runs_have_ended():
    outcome = effects(CUMULATIVE, [(), (1,), (1, 2)], [repeats(100), repeats(112), {}])
    assert outcome.steps[0].ratio.value == pytest.approx(1.12)
    assert outcome.steps[1].ratio is None
    assert outcome.total is None
    assert not outcome.is_whole
    assert words.effect_text(None) == "no result yet"
    assert effects(CUMULATIVE, [(), (1,)], [{}, {}]).steps[0].ratio is None


def test_a_factorial_has_no_effect_until_all_its_runs_have_ended():
    design, plan = fraction(2, 4), treatments(FACTORIAL, 2, 4)
    outcome = effects(FACTORIAL, plan, [repeats(100), repeats(120), repeats(110), {}], design=design)
    assert [step.ratio for step in outcome.steps] == [None, None]
    assert outcome.over_baseline[1].value == pytest.approx(1.2)


def test_several_levels_count_as_their_geometric_mean_and_only_those_that_all_ran():
    rows = [{8: [100, 101, 99], 16: [200, 201, 199]}, {8: [110, 111, 109], 16: [264, 265, 263], 32: [1, 2, 3]}]
    outcome = effects(CUMULATIVE, [(), (1,)], rows)
    assert outcome.levels == (8, 16)
    assert outcome.steps[0].ratio.value == pytest.approx(math.sqrt(1.1 * 1.32), rel=1e-4)


def test_an_interval_is_withheld_where_the_order_of_runs_says_nothing():
    outcome = series(CUMULATIVE, [100, 112], withheld=lambda *_: "they ran one after the other")
    assert outcome.steps[0].ratio.bounds is None
    assert words.effect_text(outcome.steps[0].ratio) == "+12%, not known how sure: they ran one after the other"


def test_what_is_not_told_apart_from_the_best_is_named():
    outcome = series(CUMULATIVE, [100, 149, 150])
    assert outcome.rivals(2, [0, 1, 2]) == [1]


def test_a_series_of_another_kind_takes_no_design():
    with pytest.raises(ValueError, match="A factorial has a design"):
        effects(CUMULATIVE, [(), (1,)], [{}, {}], design=fraction(2))


@pytest.mark.parametrize(
    ("gain", "scatter", "text"),
    [
        (1.12, 0.01, "+12% (9 to 15%)"),
        (0.8, 0.01, "-20% (-22 to -18%)"),
        (1.001, 0.01, "no effect shown (-2 to +2%)"),
        (1.0, 0.01, "no effect shown (-2 to +2%)"),
        (1.12, 0.001, "+12.0% (11.7 to 12.3%)"),
        (2.46, 0.01, "+146% (140 to 152%)"),
    ],
)
def test_an_effect_is_a_change_in_per_cent_with_its_interval(gain, scatter, text):
    factors = (1 - scatter, 1, 1 + scatter)
    outcome = effects(CUMULATIVE, [(), (1,)], [repeats(1000, *factors), repeats(1000 * gain, *factors)])
    assert words.effect_text(outcome.steps[0].ratio) == text


def test_an_interaction_is_worded_as_what_the_two_give_together():
    outcome = factorial(2, 4, {(): 100, (1,): 120, (2,): 110, (1, 2): 150}.get)
    text = words.interaction_text(outcome.interactions[0].ratio)
    assert text.startswith("together +14% (11 to 17%) on top of both effects")
    assert words.interaction_text(factorial(2, 4, lambda _: 100).interactions[0].ratio) == (
        "no interaction shown (-3 to +3%)"
    )
    assert words.interaction_text(None) == "no result yet"


def test_throughput_of_a_treatment_is_the_geometric_mean_of_its_repeats():
    outcome: Effects = effects(CUMULATIVE, [(), (1,)], [repeats(100, 1, 4), repeats(100, 1, 1)])
    assert outcome.measured[0].throughput == pytest.approx(200)
    assert [earlier.n for earlier, later in pairwise(outcome.measured)] == [2]
