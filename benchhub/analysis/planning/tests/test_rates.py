"""The rate to expect of a level, worked out by hand."""

import pytest

from benchhub.analysis.planning.rates import expected_tps

SHOWN = {1: 1_000.0, 4: 3_000.0, 64: 2_000.0}


@pytest.mark.parametrize(
    ("clients", "tps"),
    [
        (1, 1_000.0),
        (2, 2_000.0),  # as far from 4 as from 1: of the fewer clients, twice
        (3, 3_000.0),  # 4 is nearer than 1
        (8, 6_000.0),
        (32, 2_000.0),  # from more clients it is taken as it is
        (128, 4_000.0),
        (9, None),
        (31, None),
        (129, None),
    ],
)
def test_the_nearest_level_within_a_factor_of_two_tells_the_rate(clients, tps):
    assert expected_tps(clients, SHOWN) == tps


def test_nothing_shown_tells_nothing():
    assert expected_tps(1, {}) is None
