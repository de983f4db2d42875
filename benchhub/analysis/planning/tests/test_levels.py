import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.planning.levels import MOST_CLIENTS, MOST_LEVELS, LevelsError, levels_text, parse, spell

clients = st.integers(min_value=1, max_value=MOST_CLIENTS)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("8", [8]),
        ("1, 2, 4, 8", [1, 2, 4, 8]),
        ("1,2 , 4,", [1, 2, 4]),
        ("3..6", [3, 4, 5, 6]),
        ("2..16:2", [2, 4, 6, 8, 10, 12, 14, 16]),
        ("1..64*2", [1, 2, 4, 8, 16, 32, 64]),
        ("3..100*3", [3, 9, 27, 81]),
        # 1, 1.5, 2.25, 3.375, 5.06, 7.59, 11.4, 17.1: each rounded by itself, half up.
        ("1..20*1.5", [1, 2, 3, 5, 8, 11, 17]),
        ("10..20*1.25", [10, 13, 16, 20]),  # 10, 12.5, 15.625, 19.53
        ("1 .. 10 : 4", [1, 5, 9]),
        ("1, 2..8*2, 16..48:16", [1, 2, 4, 8, 16, 32, 48]),
        ("5..5", [5]),
    ],
)
def test_levels_are_numbers_steps_and_multiples(text, levels):
    assert parse(text) == levels


def test_the_order_typed_is_kept_and_a_level_named_twice_counts_once():
    assert parse("8, 1..8*2, 1") == [8, 1, 2, 4]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "There is no client level: write numbers"),
        (" , ", "There is no client level"),
        ("many", "'many' is no client level"),
        ("1 2", "'1 2' is no client level"),
        ("-4", "'-4' is no client level"),
        ("1.5", "'1.5' is no client level"),
        ("1..8/2", "'1..8/2' is no client level"),
        ("0", "the lowest is 1"),
        ("0..8", "the lowest is 1"),
        ("8..1", "runs backwards: write 1..8"),
        ("1..8:0", "its step must be at least 1"),
        ("1..8*1", "its factor must be at least 1.1"),
        ("1..8*1.05", "its factor must be at least 1.1"),
        ("1..8:1.5", "'1..8:1.5' is no client level"),
        ("1..8*0", "its factor must be at least 1.1"),
        ("100001", "more than 100,000 clients"),
        ("1..99999999999999999999", "more than 100,000 clients"),
        ("1..201", "more than 200 levels"),
        ("9" * 5000, "...' has a number of too many digits: write numbers"),
        (f"1..8*{'9' * 5000}", "a number of too many digits"),
        ("4, x", "'x' is no client level"),
    ],
)
def test_what_is_no_list_of_levels_is_refused_with_a_sentence_that_says_what_to_write(text, why):
    with pytest.raises(LevelsError) as refusal:
        parse(text)
    assert why in str(refusal.value)


@given(st.lists(clients, min_size=1, max_size=MOST_LEVELS, unique=True))
def test_a_list_written_out_reads_back_as_itself(levels):
    assert parse(", ".join(map(str, levels))) == levels


@given(clients, clients, st.integers(min_value=1, max_value=1000), st.sampled_from(":*"))
def test_a_range_rises_within_its_ends_or_is_refused(first, last, step, kind):
    try:
        levels = parse(f"{first}..{last}{kind}{step}")
    except LevelsError:
        return
    assert levels[0] == first
    assert levels == sorted(set(levels))
    assert levels[-1] <= last < (levels[-1] + step if kind == ":" else levels[-1] * step)


@given(st.text(max_size=30))
def test_any_text_gives_levels_that_can_be_run_or_a_sentence(text):
    try:
        levels = parse(text)
    except LevelsError as refusal:
        assert str(refusal).endswith(".")
    else:
        assert 1 <= len(levels) <= MOST_LEVELS
        assert all(1 <= level <= MOST_CLIENTS for level in levels)


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([8], "8"),
        ([1, 2], "1, 2"),
        ([1, 2, 4, 8], "1..8*2"),
        ([1, 2, 3, 4], "1..4"),
        (list(range(2, 161, 2)), "2..160:2"),
        ([2, 4, 8, 16, 32, 48, 64, 80, 128], "2..32*2, 48..80:16, 128"),
        ([8, 4, 1], "8, 4, 1"),
        ([], ""),
    ],
)
def test_levels_are_spelled_as_a_person_would_type_them(levels, text):
    assert spell(levels) == text


@given(st.lists(clients, min_size=1, max_size=MOST_LEVELS, unique=True))
def test_what_is_spelled_reads_back_as_it_was(levels):
    assert parse(spell(levels)) == levels


def test_many_levels_are_written_as_ranges():
    assert levels_text([1, 2, 4]) == "1, 2 and 4"
    assert levels_text(list(range(2, 161, 2))) == "2..160:2"
