import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.planning import design
from benchhub.analysis.planning.design import DesignError, Slot, canary, narrowed, slots

PART = {"workload": 1, "scale": 3000, "threads": "clients/2"}


def test_blocked_goes_repeat_by_repeat_and_at_each_level_through_all_systems_in_turn():
    assert slots(2, [1, 8], 3) == [
        (1, 1, 1), (2, 1, 1), (1, 8, 1), (2, 8, 1),
        (2, 1, 2), (1, 1, 2), (2, 8, 2), (1, 8, 2),
        (1, 1, 3), (2, 1, 3), (1, 8, 3), (2, 8, 3),
    ]  # fmt: skip


def test_listed_goes_system_by_system_and_level_by_level_as_typed():
    assert slots(2, [8, 1], 2, order="listed") == [
        (1, 8, 1), (1, 8, 2), (1, 1, 1), (1, 1, 2),
        (2, 8, 1), (2, 8, 2), (2, 1, 1), (2, 1, 2),
    ]  # fmt: skip


def test_a_seed_gives_this_order_for_ever():
    assert slots(1, [1, 2, 4, 8], 1, order="random", seed=7) == [
        Slot(1, 8, 1), Slot(1, 2, 1), Slot(1, 1, 1), Slot(1, 4, 1),
    ]  # fmt: skip


def test_another_seed_gives_another_order_of_the_same_runs():
    first, second = (slots(2, list(range(1, 21)), 2, order="random", seed=seed) for seed in (1, 2))
    assert first != second and sorted(first) == sorted(second)


def test_shuffled_keeps_the_repeats_apart_and_random_does_not():
    levels = list(range(1, 21))
    shuffled = slots(2, levels, 3, order="shuffled", seed=1)
    assert [slot.repeat for slot in shuffled] == [1] * 40 + [2] * 40 + [3] * 40
    assert [slot.level for slot in shuffled[:40]] != sorted(levels * 2)
    mixed = slots(2, levels, 3, order="random", seed=1)
    assert [slot.repeat for slot in mixed] != sorted(slot.repeat for slot in mixed)


def test_runs_are_left_out_by_all_conditions_of_a_line_and_any_line():
    # Of 2 systems x 4 levels: without system 2 from 4 clients on, and without 1 client on any.
    planned = slots(2, [1, 2, 4, 8], 1, left_out=["system=2; clients=4..100", "", "clients=1"])
    assert planned == [(1, 2, 1), (2, 2, 1), (1, 4, 1), (1, 8, 1)]


def test_a_sweep_of_rates_calls_its_levels_so():
    assert slots(1, [1000, 2000], 1, level="rate", left_out=["rate=2000"]) == [(1, 1000, 1)]
    assert slots(1, [1000, 2000], 1, level="rate", left_out=["clients=2000"]) == [(1, 1000, 1), (1, 2000, 1)]


def test_what_is_kept_only_is_narrowed_by_what_is_left_out():
    assert slots(2, [1, 2, 4], 1, kept_only=["clients=1, 4"], left_out=["system=2"]) == [(1, 1, 1), (1, 4, 1)]


@pytest.mark.parametrize(
    ("kept_only", "left_out", "expected"),
    [
        ([], [], ([], [])),
        ([], ["scale=3000; clients=100..160"], ([], ["clients=100..160"])),
        ([], ["scale=100; clients=100..160"], ([], [])),
        ([], ["scale=3000; threads=clients/2"], None),
        ([], ["threads=clients, clients/2; scale=100..3000"], None),
        (["scale=100"], [], None),
        (["scale=3000"], ["system=2"], ([], ["system=2"])),
        (["scale=100; clients=1", "workload=1; clients=2"], [], (["clients=2"], [])),
    ],
)
def test_a_part_of_a_design_keeps_only_the_rules_that_can_hold_in_it(kept_only, left_out, expected):
    assert narrowed(kept_only, left_out, PART) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("clients", "'clients' is no condition: write conditions such as"),
        ("clients=", "'clients=' is no condition"),
        ("colour=3", "'colour' cannot be asked about: a condition is about one of workload, scale"),
        ("clients=8..1", "In 'clients=8..1': '8..1' runs backwards"),
        ("scale=big", "In 'scale=big': 'big' is no number"),
    ],
)
def test_what_is_no_rule_is_refused_with_a_sentence_that_says_what_to_write(line, why):
    with pytest.raises(DesignError) as refusal:
        design.rules([line])
    assert why in str(refusal.value)


def test_the_canary_is_the_first_run_at_each_systems_lowest_and_highest_level():
    planned = slots(2, [4, 1, 8], 2, left_out=["system=2; clients=8"])
    assert canary(planned) == [(1, 1, 1), (1, 8, 1), (2, 1, 1), (2, 4, 1)]
    assert canary(slots(1, [4], 3)) == [(1, 4, 1)]
    assert canary([]) == []


@given(
    st.integers(1, 4), st.lists(st.integers(1, 50), min_size=1, max_size=8, unique=True), st.integers(1, 4),
    st.sampled_from([design.BLOCKED, design.SHUFFLED, design.RANDOM, design.LISTED]), st.integers(0, 9),
)  # fmt: skip
def test_every_order_plans_each_run_once(systems, levels, repeats, order, seed):
    planned = slots(systems, levels, repeats, order=order, seed=seed)
    assert len(set(planned)) == len(planned) == systems * len(levels) * repeats
    assert {slot.level for slot in planned} == set(levels)
