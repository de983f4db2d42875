import random

import pytest

from benchhub.analysis import turns
from benchhub.analysis.turns import Start


def starts(levels, *, first_s=0.0, duration_s=60.0, percent_per_run=0.0, noise=0.0, seed=1):
    source = random.Random(seed)
    return [
        Start(
            first_s + place * duration_s,
            duration_s,
            clients,
            1000.0 * clients * (1 + place * percent_per_run / 100) * (1 + source.gauss(0, noise)),
        )
        for place, clients in enumerate(levels)
    ]


def test_one_system_that_ran_when_the_other_was_through_is_not_in_turns():
    assert turns.one_after_the_other(starts([1, 8]), starts([1, 8], first_s=120))
    assert turns.one_after_the_other(starts([1, 8], first_s=120), starts([1, 8]))


def test_systems_that_alternate_or_run_at_the_same_time_are_in_turns():
    assert not turns.one_after_the_other(starts([1, 8], duration_s=120), starts([1, 8], first_s=60, duration_s=120))
    assert not turns.one_after_the_other(starts([1, 8]), starts([1, 8]))
    assert not turns.one_after_the_other(starts([1, 8]), [])


def test_repeats_of_a_level_next_to_each_other_are_in_a_row():
    assert turns.repeats_in_a_row(starts([1, 1, 1, 8, 8, 8]))
    assert not turns.repeats_in_a_row(starts([1, 8, 8, 1]))


def test_one_level_or_one_repeat_has_no_order():
    assert not turns.repeats_in_a_row(starts([8, 8, 8]))
    assert not turns.repeats_in_a_row(starts([1, 2, 4]))
    assert not turns.repeats_in_a_row([])


def test_runs_that_began_together_say_nothing_of_their_order():
    together = [Start(0.001 * place, 60.0, clients, 1.0) for place, clients in enumerate([1, 1, 8, 8])]
    assert not turns.repeats_in_a_row(together)


def test_a_drift_is_measured_from_the_first_start_to_the_last():
    found = turns.drift(starts([1, 8] * 6, percent_per_run=-1, noise=0.001))
    assert found.percent == pytest.approx(-11, abs=1)  # 1 to 0.89 over eleven steps
    assert found.is_clear


def test_levels_that_differ_are_no_drift():
    assert not turns.drift(starts([1, 2, 4, 8] * 3, noise=0.01)).is_clear


def test_too_few_repeats_show_no_drift():
    assert turns.drift(starts([1, 2, 4, 8])) is None
    assert turns.drift([]) is None


def test_a_host_that_does_not_drift_is_called_drifting_in_1_of_100_curves():
    called = sum(turns.drift(starts([1, 2, 4, 8] * 5, noise=0.02, seed=seed)).p < 0.01 for seed in range(1000))
    assert 1 <= called <= 20  # 10 expected, three standard errors of 3.1
