from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.doubts.alike import gathered

BUSY = "Just before the load {}% of the CPU time of the host went to other work."


def test_doubts_that_differ_in_one_number_become_one_with_its_range():
    texts = [BUSY.format(share) for share in (98, 95, 100)]
    assert set(gathered(texts).values()) == {BUSY.format("95% to 100")}


def test_a_doubt_alone_stays_as_it_is_and_so_does_the_same_doubt_twice():
    assert gathered([BUSY.format(98)] * 2) == {BUSY.format(98): BUSY.format(98)}


def test_doubts_about_other_things_are_not_mixed():
    texts = [BUSY.format(98), "3.1% of the CPU time was taken by other guests of the machine (steal)."]
    assert gathered(texts) == dict(zip(texts, texts, strict=True))


def test_numbers_that_belong_together_are_not_torn_apart():
    texts = ["Progress was reported for 40 of 60 s.", "Progress was reported for 10 of 30 s."]
    assert gathered(texts) == dict(zip(texts, texts, strict=True))


def test_numbers_are_compared_as_numbers_and_written_as_they_stood():
    texts = [f"{count} transactions failed." for count in ("9", "1,000", "12.5")]
    assert set(gathered(texts).values()) == {"9 to 1,000 transactions failed."}


def test_a_digit_within_a_name_is_no_number():
    texts = ["The p95 is missing.", "The p99 is missing."]
    assert gathered(texts) == dict(zip(texts, texts, strict=True))


@given(st.lists(st.integers(0, 10**9), min_size=2, unique=True))
def test_a_range_reaches_from_the_least_to_the_most(numbers):
    (sentence,) = set(gathered(f"It lost {number} s." for number in numbers).values())
    assert sentence == f"It lost {min(numbers)} to {max(numbers)} s."
