import random

import pytest

from benchhub.analysis.statistics import drift
from benchhub.analysis.statistics.drift import Start


def starts(levels, *, first_s=0.0, duration_s=60.0, percent_per_run=0.0, noise=0.0, seed=1):
    source = random.Random(seed)
    return [
        Start(
            first_s + index * duration_s,
            duration_s,
            clients,
            1000.0 * clients * (1 + index * percent_per_run / 100) * (1 + source.gauss(0, noise)),
        )
        for index, clients in enumerate(levels)
    ]


def test_one_system_that_ran_when_the_other_was_through_is_not_in_turns():
    assert drift.one_after_the_other(starts([1, 8]), starts([1, 8], first_s=120))
    assert drift.one_after_the_other(starts([1, 8], first_s=120), starts([1, 8]))


def test_systems_that_alternate_or_run_at_the_same_time_are_in_turns():
    assert not drift.one_after_the_other(starts([1, 8], duration_s=120), starts([1, 8], first_s=60, duration_s=120))
    assert not drift.one_after_the_other(starts([1, 8]), starts([1, 8]))
    assert not drift.one_after_the_other(starts([1, 8]), [])


def test_an_order_that_alternates_only_between_levels_is_one_after_the_other_at_each():
    """A A A B B B at 1 client, then B B B A A A at 8: no level has both sides taking turns."""
    side = starts([1, 1, 1]) + starts([8, 8, 8], first_s=540)
    other_side = starts([1, 1, 1], first_s=180) + starts([8, 8, 8], first_s=360)
    assert drift.one_after_the_other(side, other_side)
    assert drift.one_after_the_other(other_side, side)


def test_one_run_that_was_done_again_later_does_not_mend_an_order():
    """Of 20 x 20 pairs all but 20 have the same side first: 95%."""
    side = starts([1, 2, 4, 8] * 5)
    side_repeated = [*side[1:], *starts([1], first_s=40 * 60.0)]
    other_side = starts([1, 2, 4, 8] * 5, first_s=20 * 60.0)
    assert drift.one_after_the_other(side_repeated, other_side)


def test_blocks_are_in_turns_however_few():
    """A B A B A B: of nine pairs six have A first."""
    side = [start for n in range(3) for start in starts([8], first_s=120.0 * n)]
    other_side = [start for n in range(3) for start in starts([8], first_s=120.0 * n + 60)]
    assert not drift.one_after_the_other(side, other_side)


def test_single_runs_that_take_turns_are_in_turns_although_one_is_first_at_each_level():
    """A B at 1 client, A B at 2, A B at 4: of nine pairs six have A first."""
    side = [start for n, clients in enumerate([1, 2, 4]) for start in starts([clients], first_s=120.0 * n)]
    other_side = [start for n, clients in enumerate([1, 2, 4]) for start in starts([clients], first_s=120.0 * n + 60)]
    assert not drift.one_after_the_other(side, other_side)


def test_repeats_of_a_level_next_to_each_other_are_in_a_row():
    assert drift.repeats_in_a_row(starts([1, 1, 1, 8, 8, 8]))
    assert not drift.repeats_in_a_row(starts([1, 8, 8, 1]))


def test_one_level_or_one_repeat_has_no_order():
    assert not drift.repeats_in_a_row(starts([8, 8, 8]))
    assert not drift.repeats_in_a_row(starts([1, 2, 4]))
    assert not drift.repeats_in_a_row([])


def test_runs_that_began_together_say_nothing_of_their_order():
    simultaneous_starts = [Start(0.001 * index, 60.0, clients, 1.0) for index, clients in enumerate([1, 1, 8, 8])]
    assert not drift.repeats_in_a_row(simultaneous_starts)


def test_a_drift_is_measured_from_the_first_start_to_the_last():
    change = drift.drift(starts([1, 8] * 6, percent_per_run=-1, noise=0.001))
    assert change.percent == pytest.approx(-11, abs=1)  # 1 to 0.89 over eleven steps
    assert change.is_clear


def test_levels_that_differ_are_no_drift():
    assert not drift.drift(starts([1, 2, 4, 8] * 3, noise=0.01)).is_clear


def test_too_few_repeats_show_no_drift():
    assert drift.drift(starts([1, 2, 4, 8])) is None
    assert drift.drift([]) is None


def test_a_host_that_does_not_drift_is_called_drifting_in_1_of_100_curves():
    false_alarms = sum(drift.drift(starts([1, 2, 4, 8] * 5, noise=0.02, seed=seed)).p < 0.01 for seed in range(1000))
    assert 1 <= false_alarms <= 20  # 10 expected, three standard errors of 3.1
