from decimal import Decimal

import pytest

from benchhub.analysis.words import count, duration, listing, p_value, percentage, plain, significant, size


@pytest.mark.parametrize(
    ("number", "noun", "plural", "text"),
    [
        (0, "run", "", "0 runs"),
        (1, "run", "", "1 run"),
        (1200, "run", "", "1,200 runs"),
        (2, "entry", "entries", "2 entries"),
        (Decimal("0.50"), "core", "", "0.5 cores"),
        (Decimal("1.00"), "core", "", "1 core"),
    ],
)
def test_a_count_agrees_with_its_noun(number, noun, plural, text):
    assert count(number, noun, plural) == text


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_listing_reads_as_a_sentence_does(items, text):
    assert listing(items) == text
    assert listing(iter(items), "or") == text.replace(" and ", " or ")


def test_plain_numbers_keep_every_digit_and_no_idle_zero():
    values = (1800, 0.5, Decimal("2.500"), Decimal("1E+3"))
    assert [plain(value) for value in values] == [
        "1,800",
        "0.5",
        "2.5",
        "1,000",
    ]


def test_significant_digits_round_what_was_measured_and_leave_small_counts_alone():
    assert [significant(21_347.6, 3), significant(9_999, 3), significant(21_347, 3)] == ["21,300", "9,999", "21,300"]
    assert [significant(0.012345, 3), significant(3.14159, 3)] == ["0.0123", "3.14"]


def test_what_is_smaller_than_can_matter_is_said_to_be_small():
    assert [p_value(p) for p in (0.123, 0.00421, 0.00001)] == ["0.12", "0.0042", "< 0.0001"]


def test_a_percentage_has_two_digits_and_only_all_of_it_is_100():
    shares = (0.84, 0.0123, 0.0001, 0.00001, 0, 0.99, 0.994, 1000 / 1003, 0.9999999, 1)
    assert [percentage(share) for share in shares] == [
        "84%", "1.2%", "0.010%", "less than 0.01%", "0%", "99%", *["more than 99%"] * 3, "100%",
    ]  # fmt: skip


def test_bytes_are_in_powers_of_1024():
    assert [size(n) for n in (0, 1023, 1024, 16 * 2**30, -(2**20))] == [
        "0 bytes",
        "1023 bytes",
        "1 KiB",
        "16 GiB",
        "-1 MiB",
    ]


def test_durations_have_two_units_at_most():
    assert [duration(s) for s in (12, 125, 300, 3600, 3900, None)] == [
        "12 s",
        "2 min 5 s",
        "5 min",
        "1 h",
        "1 h 5 min",
        "–",
    ]
