"""Success shares by hand, and against random draws."""

from __future__ import annotations

import numpy as np
import pytest

from runners.tools.tatp import expected
from runners.tools.tatp.expected import State, bands, destination_share, expected_destination_share, keys, keys_of
from runners.tools.tatp.parameters import read

FRESH = State(rows=375_000, outside=0, facilities=250_000, subscribers=100_000)
MANY = dict.fromkeys(("GET_ACCESS_DATA", "GET_NEW_DESTINATION", "INSERT_CALL_FORWARDING"), 1e9)


def test_a_fresh_population_gives_a_new_destination_in_14_8_percent() -> None:
    """A forwarding from 0 covers 3.5 of the 24 ends on average, from 8 on 11.5, from 16 on 19.5, and the latest that
    has begun decides. It is there with 1/2; the one before it alone with 1/6; only that from 0, of three, with 1/12.
    """
    at_0 = 3.5 / 2
    at_8 = 11.5 / 2 + 3.5 / 6
    at_16 = 19.5 / 2 + 11.5 / 6 + 3.5 / 12
    by_hand = 0.625 * 0.85 * (at_0 + at_8 + at_16) / 24 / 3
    assert destination_share(np.array([1.0]), 8)[0] == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.148, abs=0.0005)


def test_the_rarest_type_is_an_insert_or_delete_that_succeeds_or_whatever_a_mix_has_least_of() -> None:
    assert expected.rarest_share(read({"subscribers": 1_000, "mix": "80/20"})) == pytest.approx(0.02 * 0.3125)
    assert expected.rarest_share(read({"subscribers": 1_000, "mix": "R100"})) == pytest.approx(0.12)


def test_a_population_that_was_replaced_gives_20_4_percent_whatever_its_rule() -> None:
    """Each place is taken with 1/2 and covers (24 - end) / 24 of the ends: with m places 1 - (1 - x)^m, x = j / 48."""
    covered = [sum(1 - (1 - j / 48) ** m for j in range(24)) / 24 for m in (1, 2, 3)]
    by_hand = 0.625 * 0.85 * sum(covered) / 3
    for longest in (8, 24):
        assert destination_share(np.array([0.0]), longest)[0] == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.204, abs=0.0005)


def test_the_population_of_the_original_tool_gives_24_2_percent() -> None:
    assert destination_share(np.array([1.0]), 24)[0] == pytest.approx(0.242, abs=0.0005)


def test_keys_are_distributed_as_they_are_drawn() -> None:
    """With A = 3 and N = 5: all 4 x 5 pairs of (random(0, 3) | random(1, 5)) % 5, one by one."""
    drawn = [(a | y) % 5 for a in range(4) for y in range(1, 6)]
    by_hand = sorted(drawn.count(key) / 20 for key in range(5))
    distribution = keys(5, 3)
    assert np.repeat(distribution.share, distribution.number.astype(int)).tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize("subscribers", [70_000, 100_000, 300_001])
def test_the_distribution_of_keys_is_one_and_favours_few(subscribers: int) -> None:
    distribution = keys(subscribers, 65_535)
    assert (distribution.share * distribution.number).sum() == pytest.approx(1)
    assert distribution.number.sum() == subscribers
    assert 1 / distribution.concentration < subscribers / 20
    assert 1 / keys(subscribers, 0).concentration == pytest.approx(subscribers)


def test_a_new_destination_is_found_the_more_often_the_more_was_replaced() -> None:
    """Keys that are written often are read often, so it rises faster than the share of what was replaced."""
    shares = [expected_destination_share(read({}), replaced) for replaced in (0, 0.1, 0.5, 1)]
    assert shares == sorted(shares)
    uniform = expected_destination_share(read({"keys": "uniform"}), 0.1)
    assert shares[0] < uniform < shares[1]


def test_what_was_replaced_is_known_by_the_ends_that_no_population_has() -> None:
    """Of what is inserted 1/3 ends 1 to 8 after its start: 200 outside of 1,000 are 300 that were inserted."""
    assert expected.replaced_share(State(1_000, 200, 0, 0), longest=8) == pytest.approx(0.3)
    assert expected.replaced_share(State(1_000, 100, 0, 0), longest=24) == pytest.approx(0.3)
    assert expected.replaced_share(FRESH, longest=8) == 0


def test_a_band_is_as_wide_as_the_number_of_executions_and_of_subscribers_makes_it() -> None:
    wide = bands(read({}), FRESH, FRESH, {"GET_ACCESS_DATA": 100})["GET_ACCESS_DATA"]
    narrow = bands(read({}), FRESH, FRESH, MANY)["GET_ACCESS_DATA"]
    assert wide.low < narrow.low < 0.625 < narrow.high < wide.high
    concentration = keys_of(read({})).concentration
    assert narrow.high - 0.625 == pytest.approx(4 * (1.25 / 16 * concentration) ** 0.5, rel=0.01)
    assert not narrow.holds(0.67) and not narrow.holds(0.58)


def test_the_band_of_new_destinations_reaches_from_what_was_to_what_is_replaced() -> None:
    worn = State(rows=375_000, outside=100_000, facilities=250_000, subscribers=100_000)
    fresh, both = (bands(read({}), FRESH, after, MANY)["GET_NEW_DESTINATION"] for after in (FRESH, worn))
    assert fresh.holds(0.148) and not fresh.holds(0.20)
    assert both.holds(0.148) and both.holds(0.20)


def test_what_must_succeed_has_no_band_around_it() -> None:
    assert not bands(read({}), FRESH, FRESH, MANY)["UPDATE_LOCATION"].holds(0.999)


def test_inserts_without_deletes_may_succeed_as_they_like() -> None:
    weights = {"INSERT_CALL_FORWARDING": 1}
    band_by_name = bands(read({"mix": "custom", "weights": weights}), FRESH, FRESH, MANY)
    assert band_by_name["INSERT_CALL_FORWARDING"].holds(0.01) and not band_by_name["INSERT_CALL_FORWARDING"].holds(0.8)
