from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing import (
    Licence,
    Machine,
    MissingPriceError,
    Price,
    PricingError,
    Throughput,
    UnlikeCurrenciesError,
    count_units,
    money,
    quote,
    rounded_quotient,
)


def price(amount, currency="EUR", **changes):
    return replace(Price("item", Decimal(amount), currency, date(2015, 11, 12), "report A"), **changes)


def tps(value, lowest=None, highest=None):
    return Throughput(Decimal(value), Decimal(lowest or value), Decimal(highest or value), "TPS", "1 run")


S822L = Machine("S822L", 2, 10, price("38364.00", row=7))
X86 = Machine("x86", 4, 15, price("61179.00"))
HARDWARE_ONLY = Licence("Hardware only", "none")
PURE = Licence("PURE", "socket", price("4200.00"))
PPAS = Licence("PPAS", "core", price("1800.00"))


# Report A, section 8. The first was published as 0.11: it is 0.10 to the nearest cent and 0.11 rounded up.
@pytest.mark.parametrize(
    ("machine", "licence", "throughput", "total", "four_places", "nearest", "up"),
    [
        (S822L, HARDWARE_ONLY, 365_974, "38364", "0.1048", "0.10", "0.11"),
        (S822L, HARDWARE_ONLY, 492_072, "38364", "0.0780", "0.08", "0.08"),
        (S822L, PURE, 365_974, "63564", "0.1737", "0.17", "0.18"),  # 38,364 + 3 x 2 x 4,200
        (S822L, PURE, 492_072, "63564", "0.1292", "0.13", "0.13"),
        (X86, HARDWARE_ONLY, 190_000, "61179", "0.3220", "0.32", "0.33"),
        (X86, HARDWARE_ONLY, 360_000, "61179", "0.1699", "0.17", "0.17"),
        (X86, PPAS, 190_000, "385179", "2.0273", "2.03", "2.03"),  # 61,179 + 3 x 60 x 1,800
        (X86, PPAS, 360_000, "385179", "1.0699", "1.07", "1.07"),
    ],
)
def test_the_prices_of_report_a_come_out(machine, licence, throughput, total, four_places, nearest, up):
    quoted = quote(machine, licence, tps(throughput))
    assert quoted.total == Decimal(total)
    assert str(quoted.price(places=4)) == four_places
    assert str(quoted.price(2, "nearest")) == nearest
    assert str(quoted.price(2, "up")) == up


@pytest.mark.parametrize(
    ("term_years", "licences"),
    [(1, 8_400), (2, 16_800), (3, 25_200), (5, 42_000)],  # years x 2 sockets x 4,200
)
def test_the_licence_grows_with_the_term_and_the_hardware_does_not(term_years, licences):
    quoted = quote(S822L, PURE, tps(1000), term_years)
    assert (quoted.hardware, quoted.licences) == (Decimal(38_364), Decimal(licences))


@pytest.mark.parametrize(
    ("machine", "metric", "units"),
    [(S822L, "none", 0), (S822L, "socket", 2), (S822L, "core", 20), (X86, "socket", 4), (X86, "core", 60)],
)
def test_sockets_and_physical_cores_are_counted_as_bought(machine, metric, units):
    assert count_units(machine, metric) == units


def test_the_derivation_names_price_rows_dates_sources_arithmetic_and_runs():
    measured = replace(tps(365_974), evidence="median of runs 3 and 9 at 28 clients")
    text = "\n".join(quote(S822L, PURE, measured).steps)
    assert "S822L costs 38,364 EUR (list price 7, 2015-11-12, source: report A)." in text
    assert "counted per occupied socket as bought; S822L has 2." in text
    assert "3 years x 2 x 4,200 EUR = 25,200 EUR" in text
    assert "38,364 EUR + 25,200 EUR = 63,564 EUR" in text
    assert "365,974 TPS (median of runs 3 and 9 at 28 clients)" in text
    assert "63,564 EUR / 365,974 TPS = 0.173684 EUR per TPS" in text
    assert "0.17 by rounding to nearest, 0.18 by rounding up" in text
    assert "Range of repeats" not in text


def test_cores_are_derived_from_sockets_in_the_sentence():
    assert any("x86 has 4 x 15 = 60." in step for step in quote(X86, PPAS, tps(190_000)).steps)


def test_hardware_alone_says_that_support_is_not_bought():
    assert any("support is not bought" in step for step in quote(S822L, HARDWARE_ONLY, tps(1)).steps)


def test_the_highest_throughput_gives_the_lowest_price():
    quoted = quote(Machine("m", 1, 1, price("1000")), HARDWARE_ONLY, tps(1000, lowest=800, highest=1250))
    assert quoted.price_range() == (Decimal("0.80"), Decimal("1.25"))
    assert quoted.steps[-1].startswith("Range of repeats: 800 to 1,250 TPS gives 0.800000 to 1.250000 EUR")


def test_a_missing_price_is_an_error_that_names_what_is_missing_and_not_zero():
    with pytest.raises(MissingPriceError, match="the hardware 'S822L'") as missing:
        quote(replace(S822L, price=None), HARDWARE_ONLY, tps(1000))
    assert missing.value.of == "hardware"
    with pytest.raises(MissingPriceError, match="the licence 'PURE'") as missing:
        quote(S822L, replace(PURE, price=None), tps(1000))
    assert missing.value.of == "licence"


def test_unlike_currencies_never_add():
    with pytest.raises(UnlikeCurrenciesError, match="EUR and the licence 'PURE' in USD"):
        quote(S822L, replace(PURE, price=price("4200", "USD")), tps(1000))


def test_no_price_comes_of_no_throughput_or_no_term():
    with pytest.raises(PricingError, match="throughput above 0"):
        quote(S822L, PURE, tps(0))
    with pytest.raises(PricingError, match="one year at least"):
        quote(S822L, PURE, tps(1000), 0)


@pytest.mark.parametrize(
    ("dividend", "divisor", "nearest", "up"),
    [
        ("12.123", "1", "12.12", "12.13"),
        ("0.125", "1", "0.13", "0.13"),
        ("1", "4", "0.25", "0.25"),
        ("1", "3", "0.33", "0.34"),
    ],
)
def test_rounding_to_nearest_is_half_up_and_rounding_up_leaves_exact_cents_alone(dividend, divisor, nearest, up):
    assert str(rounded_quotient(Decimal(dividend), Decimal(divisor), 2, "nearest")) == nearest
    assert str(rounded_quotient(Decimal(dividend), Decimal(divisor), 2, "up")) == up


def test_a_quotient_a_hair_above_a_cent_is_rounded_up():
    dividend = Decimal("0.10" + 37 * "0" + "1")
    assert rounded_quotient(dividend, Decimal(1), 2, "up") == Decimal("0.11")


@pytest.mark.parametrize(
    ("amount", "text"),
    [("38364.0000", "38,364 EUR"), ("38364.5", "38,364.50 EUR"), ("0.0125", "0.0125 EUR"), ("0", "0 EUR")],
)
def test_money_shows_cents_only_where_there_are_any(amount, text):
    assert money(Decimal(amount), "EUR") == text


amounts = st.decimals(min_value="0.01", max_value="1e9", places=2)


@given(amounts, amounts, st.integers(0, 6))
def test_rounding_up_never_lowers_a_price_and_nearest_stays_within_half_a_unit(dividend, divisor, places):
    exact = Fraction(dividend) / Fraction(divisor)
    assert Fraction(rounded_quotient(dividend, divisor, places, "up")) >= exact
    error = abs(Fraction(rounded_quotient(dividend, divisor, places, "nearest")) - exact)
    assert error <= Fraction(1, 2 * 10**places)


@given(st.integers(1, 8), st.integers(1, 128), st.integers(1, 128))
def test_more_cores_never_cost_less_per_core_and_cost_the_same_per_socket(sockets, fewer, more):
    fewer, more = sorted((fewer, more))
    small, large = (Machine("m", sockets, cores, price("1")) for cores in (fewer, more))
    assert quote(small, PPAS, tps(1)).total <= quote(large, PPAS, tps(1)).total
    assert quote(small, PURE, tps(1)).total == quote(large, PURE, tps(1)).total
