import pytest
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
    texts = ["It was busy 40% and idle 60% of the time.", "It was busy 10% and idle 30% of the time."]
    assert gathered(texts) == dict(zip(texts, texts, strict=True))


def test_shares_are_compared_as_numbers_and_written_as_they_stood():
    assert set(gathered(f"{share}% of it failed." for share in ("9", "10.0", "12.5")).values()) == {
        "9% to 12.5% of it failed."
    }


@pytest.mark.parametrize(
    "pair",
    [
        ("The p95 is missing.", "The p99 is missing."),
        ("work_mem is 4MB and was asked to be 8MB.", "work_mem is 16MB and was asked to be 8MB."),
        ("PostgreSQL 16.4 ran.", "PostgreSQL 16.10 ran."),
        ("The clock was -5 s off.", "The clock was -12 s off."),
        ("The host db-1 was busy.", "The host db-2 was busy."),
        ("It grew by -5% there.", "It grew by -12% there."),
        ("It took 95 s of it.", "It took 95% of it."),
    ],
)
def test_what_is_no_share_has_no_range(pair):
    assert gathered(pair) == dict(zip(pair, pair, strict=True))


@given(st.lists(st.integers(0, 100), min_size=2, unique=True))
def test_a_range_reaches_from_the_least_to_the_most(shares):
    (sentence,) = set(gathered(f"It lost {share}% of the time." for share in shares).values())
    assert sentence == f"It lost {min(shares)}% to {max(shares)}% of the time."
