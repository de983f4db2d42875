from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.money import (
    EXACT,
    Amount,
    PricingError,
    Rate,
    UnlikeCurrenciesError,
    ceiling,
    money,
    newest_rate,
    rounded,
    rounded_quotient,
)
from benchhub.analysis.words import plain

DAY = date(2026, 1, 1)


def rate(value="1.25", on=DAY, base="EUR", quoted="USD"):
    return Rate(base, quoted, Decimal(value), on, "a bank")


@pytest.mark.parametrize(
    ("dividend", "divisor", "nearest", "up", "down"),
    [
        ("12.123", "1", "12.12", "12.13", "12.12"),  # the TPC's own example of rounding up
        ("0.125", "1", "0.13", "0.13", "0.12"),
        ("1", "4", "0.25", "0.25", "0.25"),
        ("1", "3", "0.33", "0.34", "0.33"),
        ("2", "3", "0.67", "0.67", "0.66"),
        ("-1", "3", "-0.33", "-0.34", "-0.33"),  # in size: a credit as a charge
    ],
)
def test_a_quotient_is_rounded_once_and_exact_cents_are_left_alone(dividend, divisor, nearest, up, down):
    texts = [
        str(rounded_quotient(Decimal(dividend), Decimal(divisor), 2, rounding))
        for rounding in ("nearest", "up", "down")
    ]
    assert texts == [nearest, up, down]


@pytest.mark.parametrize(
    ("value", "places", "nearest", "up", "down"),
    [
        ("2.345", 2, "2.35", "2.35", "2.34"),
        ("2.344", 2, "2.34", "2.35", "2.34"),
        ("1234.50", 0, "1235", "1235", "1234"),
        ("-2.345", 2, "-2.35", "-2.35", "-2.34"),
        ("7", 2, "7.00", "7.00", "7.00"),
    ],
)
def test_amounts_are_rounded_half_up_or_up_or_down_in_size(value, places, nearest, up, down):
    texts = [str(rounded(Decimal(value), places, rounding)) for rounding in ("nearest", "up", "down")]
    assert texts == [nearest, up, down]


def test_a_quotient_a_hair_above_a_cent_is_rounded_up():
    dividend = Decimal("0.10" + 37 * "0" + "1")
    assert rounded_quotient(dividend, Decimal(1), 2, "up") == Decimal("0.11")


def test_what_a_quotient_without_end_leaves_behind_does_not_carry_a_cent_up():
    a_third = EXACT.divide(Decimal(50), Decimal(3))  # 16.66... with its last digit rounded up
    thrice = EXACT.multiply(a_third, Decimal(3))  # a hair above 50
    assert thrice > 50
    assert rounded(thrice, 2, "up") == 50


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("38364.0000", "38,364 EUR"),
        ("38364.5", "38,364.50 EUR"),
        ("0.0125", "0.0125 EUR"),
        ("0", "0 EUR"),
        ("-1234.5", "-1,234.50 EUR"),
    ],
)
def test_money_shows_cents_only_where_there_are_any(amount, text):
    assert money(Decimal(amount), "EUR") == text


@pytest.mark.parametrize(("value", "text"), [(1800, "1,800"), (Decimal("0.50"), "0.5"), (Decimal("1e3"), "1,000")])
def test_numbers_are_written_without_idle_zeros_or_exponents(value, text):
    assert plain(value) == text


@pytest.mark.parametrize(("value", "whole"), [(Decimal("2.0"), 2), (Decimal("2.01"), 3), (0, 0)])
def test_the_ceiling_is_the_least_whole_number_not_below(value, whole):
    assert ceiling(value) == whole


def test_amounts_of_one_currency_add_and_unlike_ones_never_do():
    assert Amount(Decimal("0.1"), "EUR") + Amount(Decimal("0.2"), "EUR") == Amount(Decimal("0.3"), "EUR")
    with pytest.raises(UnlikeCurrenciesError, match="1 EUR and 1 USD are amounts in unlike currencies"):
        Amount(Decimal(1), "EUR") + Amount(Decimal(1), "USD")


def test_a_rate_converts_both_ways_and_no_third_currency():
    assert rate().convert(Amount(Decimal(100), "EUR")) == Amount(Decimal(125), "USD")  # 100 x 1.25
    assert rate().convert(Amount(Decimal(100), "USD")) == Amount(Decimal(80), "EUR")  # 100 / 1.25
    with pytest.raises(UnlikeCurrenciesError, match="does not convert GBP"):
        rate().convert(Amount(Decimal(100), "GBP"))


@pytest.mark.parametrize("value", ["0", "-1", "NaN", "Infinity"])
def test_a_rate_is_a_number_above_0(value):
    with pytest.raises(PricingError, match="above 0"):
        rate(value)


def test_the_newest_rate_by_the_day_counts_in_either_direction():
    rates = (rate("1.1", date(2025, 1, 1)), rate("0.8", date(2025, 6, 1), "USD", "EUR"), rate("1.4", date(2026, 6, 1)))
    assert newest_rate(rates, "EUR", "USD", date(2026, 1, 1)) == rates[1]
    assert newest_rate(rates, "EUR", "USD") == rates[2]
    with pytest.raises(UnlikeCurrenciesError, match="no rate between them by 2024-01-01"):
        newest_rate(rates, "EUR", "USD", date(2024, 1, 1))


amounts = st.decimals(min_value="0.01", max_value="1e9", places=2)


@given(amounts, amounts, st.integers(0, 6))
def test_rounding_up_never_lowers_a_price_and_nearest_stays_within_half_a_unit(dividend, divisor, places):
    exact = Fraction(dividend) / Fraction(divisor)
    assert Fraction(rounded_quotient(dividend, divisor, places, "up")) >= exact
    assert Fraction(rounded_quotient(dividend, divisor, places, "down")) <= exact
    error = abs(Fraction(rounded_quotient(dividend, divisor, places, "nearest")) - exact)
    assert error <= Fraction(1, 2 * 10**places)


@given(
    st.decimals(min_value="-1e12", max_value="1e12", places=4),
    st.decimals(min_value="0.000001", max_value="100000", places=6),
    st.booleans(),
)
def test_conversion_there_and_back_gives_the_same_amount(value, worth, is_base):
    amount, between = Amount(value, "EUR" if is_base else "USD"), rate(worth)
    assert between.convert(between.convert(amount)) == amount
