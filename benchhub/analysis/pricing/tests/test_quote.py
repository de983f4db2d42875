from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.rules import LicenceRules
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.listed import MissingPriceError, Price
from benchhub.analysis.pricing.money import PricingError, Rate, UnlikeCurrenciesError
from benchhub.analysis.pricing.quote import (
    Order,
    Terms,
    Throughput,
    UnlikeMetricsError,
    cost,
    licence_cost,
    measured,
    quote,
    require_alike,
)
from benchhub.analysis.pricing.sheets.sheet import Line, Maintenance, Sheet
from benchhub.analysis.pricing.topology import Deployment, Machine, Node
from benchhub.analysis.statistics.spread import summarise


def price(amount, currency="EUR", **changes):
    return replace(Price("item", Decimal(amount), currency, date(2015, 11, 12), "report A"), **changes)


def tps(value, lowest=None, highest=None):
    return Throughput(Decimal(value), Decimal(lowest or value), Decimal(highest or value), "TPS", "1 run")


S822L = Node(Machine("S822L", 2, 10), prices=(price("38364.00", row=7),))
X86 = Node(Machine("x86", 4, 15), prices=(price("61179.00"),))
HARDWARE_ONLY = Licence("Hardware only", LicenceRules("none"))
PURE = Licence("PURE", LicenceRules("socket"), (price("4200.00"),))
PPAS = Licence("PPAS", LicenceRules("core"), (price("1800.00"),))


def order(*nodes, licence=HARDWARE_ONLY):
    return Order(Deployment(nodes), (licence,))


# Report A, section 8. The first was published as 0.11: it is 0.10 to the nearest cent and 0.11 rounded up.
@pytest.mark.parametrize(
    ("node", "licence", "throughput", "total", "four_places", "nearest", "up"),
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
def test_the_prices_of_report_a_come_out(node, licence, throughput, total, four_places, nearest, up):
    quoted = quote(order(node, licence=licence), tps(throughput))
    assert quoted.total == Decimal(total)
    assert str(quoted.price(places=4)) == four_places
    assert str(quoted.price(2, "nearest")) == nearest
    assert str(quoted.price(2, "up")) == up


@pytest.mark.parametrize(
    ("term_years", "licences"),
    [(1, 8_400), (2, 16_800), (3, 25_200), (5, 42_000)],  # years x 2 sockets x 4,200
)
def test_the_licence_grows_with_the_term_and_the_hardware_does_not(term_years, licences):
    quoted = quote(order(S822L, licence=PURE), tps(1000), Terms(term_years))
    assert (quoted.hardware, quoted.licences) == (Decimal(38_364), Decimal(licences))


def test_the_terms_say_how_the_price_is_rounded():
    made = order(S822L, licence=PURE)
    assert str(quote(made, tps(365_974), Terms(rounding="up")).price()) == "0.18"
    assert str(quote(made, tps(365_974), Terms(places=4)).price()) == "0.1737"


def test_the_derivation_names_price_rows_dates_sources_arithmetic_and_runs():
    throughput = replace(tps(365_974), evidence="median of runs 3 and 9 at 28 clients")
    text = "\n".join(map(str, quote(order(S822L, licence=PURE), throughput).steps))
    assert "S822L costs 38,364 EUR (list price 7, 2015-11-12, source: report A)." in text
    assert "counted per occupied socket as bought; S822L has 2." in text
    assert "3 years x 2 x 4,200 EUR = 25,200 EUR" in text
    assert "38,364 EUR + 25,200 EUR = 63,564 EUR" in text
    assert "365,974 TPS (median of runs 3 and 9 at 28 clients)" in text
    assert "63,564 EUR / 365,974 TPS = 0.173684 EUR per TPS, money per transaction per second" in text
    assert "0.17 by rounding to nearest, 0.18 by rounding up" in text
    assert "Range of repeats" not in text


def test_a_step_reads_with_its_number_and_the_list_price_that_it_rests_on():
    [first, *_] = quote(order(S822L, licence=PURE), tps(365_974)).steps
    sentence = str(first)
    assert sentence.startswith("Hardware: S822L costs 38,364 EUR")
    assert sentence.endswith("(list price 7, 2015-11-12, source: report A).")


def test_names_in_braces_do_no_harm_to_a_sentence():
    odd = Node(Machine("{result} {0}", 1, 1), prices=(price("10"),))
    assert str(quote(order(odd), tps(1)).steps[0]).startswith("Hardware: {result} {0} costs 10 EUR")


def test_hardware_alone_says_that_support_is_not_bought():
    assert any("support is not bought" in str(step) for step in quote(order(S822L), tps(1)).steps)


def test_a_very_small_price_shows_its_digits():
    price_quote = quote(order(Node(Machine("m", 1, 1), prices=(price("1"),))), tps(2_000_000))
    assert "= 0.0000005000 EUR per TPS" in str(price_quote.steps[-1])


def test_the_highest_throughput_gives_the_lowest_price():
    node = Node(Machine("m", 1, 1), prices=(price("1000"),))
    quoted = quote(order(node), tps(1000, lowest=800, highest=1250))
    assert str(quoted.steps[-1]).startswith("Range of repeats: 800 to 1,250 TPS gives 0.800000 to 1.250000 EUR")


def test_a_throughput_is_the_geometric_mean_of_its_repeats_with_their_range():
    repeats = (500.0, 1000.0, 2000.0)
    throughput = measured(summarise(repeats), repeats, "TPS", "3 runs", 8)
    assert (float(throughput.value), throughput.lowest, throughput.highest) == (pytest.approx(1000), 500, 2000)
    assert (throughput.clients, throughput.repeats) == (8, repeats)


def test_a_topology_of_several_machines_with_an_exempt_standby():
    rules = rules_from({"metric": "core", "exempt_roles": ["standby"], "payment": "perpetual", "support_percent": "20"})
    licence = Licence("it", rules, (price("100"),))
    price_quote = quote(order(S822L, replace(S822L, role="standby", quantity=2), licence=licence), tps(1000))
    assert price_quote.hardware == 115_092  # 3 x 38,364
    assert price_quote.licences == 2000  # 20 cores x 100; the standbys are exempt
    assert price_quote.support == 1200  # 3 x 0.2 x 2,000
    assert price_quote.total == 118_292
    assert any("Exempt: S822L needs none of it, as its role is standby." in str(step) for step in price_quote.steps)
    assert any("2 x S822L, each 38,364 EUR, cost 76,728 EUR" in str(step) for step in price_quote.steps)


def test_items_say_what_was_listed_and_what_is_paid():
    licence = Licence("it", rules_from({"metric": "core", "discount_percent": "30"}), (price("100"),))
    order_cost = cost(order(S822L, licence=licence))
    assert [(item.kind, item.listed, item.paid) for item in order_cost.items] == [
        ("hardware", 38364, 38364),
        ("licence", 6000, 4200),
    ]
    assert (order_cost.listed, order_cost.total) == (44_364, 42_564)
    assert "30% on the licence it" in order_cost.flags[0]


def test_a_discount_on_everything_keeps_the_list_total_known():
    order_cost = cost(order(S822L, licence=PURE), Terms(discount_percent=Decimal(10)))
    assert (order_cost.listed, order_cost.total) == (63_564, Decimal("57207.60"))  # 63,564 x 0.9
    assert order_cost.subtotal("hardware") == Decimal("34527.60")  # 38,364 x 0.9


def test_a_sheet_prices_the_machines_that_have_no_list_price():
    sheet = Sheet("quote 12", "EUR", (Line("server", Decimal(1000), maintenance=Maintenance("year", Decimal(100))),))
    made = Order(Deployment((Node(S822L.machine),)), (PURE,), (sheet,))
    order_cost = cost(made)
    assert order_cost.subtotals == {"hardware": 1000, "licence": 25_200, "support": 300, "other": 0}
    software = Sheet("quote 13", "EUR", (Line("software", Decimal(1), kind="licence"),))
    with pytest.raises(MissingPriceError, match="the hardware 'S822L'"):
        cost(replace(made, sheets=(software,)))


def test_a_missing_price_is_an_error_that_names_what_is_missing_and_not_zero():
    with pytest.raises(MissingPriceError, match="the hardware 'S822L'") as missing:
        quote(order(replace(S822L, prices=())), tps(1000))
    assert missing.value.kind == "hardware"
    with pytest.raises(MissingPriceError, match="the licence 'PURE'") as missing:
        quote(order(S822L, licence=replace(PURE, prices=())), tps(1000))
    assert missing.value.kind == "licence"


def test_what_was_priced_on_a_day_is_priced_again_by_that_days_list():
    node = replace(S822L, prices=(price("100", priced_on=date(2020, 1, 1)), price("90", priced_on=date(2021, 1, 1))))
    assert [cost(order(node), Terms(on=date(year, 6, 1))).total for year in (2020, 2021)] == [100, 90]
    with pytest.raises(MissingPriceError, match="on 2019-06-01: the first is of 2020-01-01"):
        cost(order(node), Terms(on=date(2019, 6, 1)))


def test_unlike_currencies_never_add():
    abroad = replace(PURE, prices=(price("4200", "USD"),))
    with pytest.raises(UnlikeCurrenciesError, match=r"'PURE' is priced in USD.*cannot be added") as error:
        quote(order(S822L, licence=abroad), tps(1000))
    assert "rate" in str(error.value)


def test_a_dated_rate_converts_and_is_cited():
    abroad = replace(PURE, prices=(price("4200", "USD"),))
    rates = (Rate("EUR", "USD", Decimal("1.25"), date(2026, 1, 5), "a bank"),)
    order_cost = cost(order(S822L, licence=abroad), Terms(rates=rates))
    assert (order_cost.currency, order_cost.subtotal("licence")) == ("EUR", 20_160)  # 25,200 / 1.25
    sentence = "Conversion: PURE, 25,200 USD at 1 EUR = 1.25 USD is 20,160 EUR (2026-01-05, source: a bank)."
    assert sentence in map(str, order_cost.steps)
    order_cost = cost(order(S822L, licence=abroad), Terms(rates=rates, currency="USD"))
    assert (order_cost.currency, order_cost.total) == ("USD", 73_155)  # 38,364 x 1.25 + 25,200
    with pytest.raises(UnlikeCurrenciesError, match="by 2026-01-04"):
        cost(order(S822L, licence=abroad), Terms(rates=rates, on=date(2026, 1, 4)))


def test_what_a_licence_does_not_cover_has_its_reason_instead_of_a_price():
    licence = Licence("Small", rules_from({"metric": "core", "max_sockets": 1}), (price("1"),))
    answer = quote(order(S822L, licence=licence), tps(1000))
    assert isinstance(answer, NotEligible)
    assert "at most 1 socket" in answer.reason


def test_a_licence_alone_has_a_cost():
    assert licence_cost(PURE, Deployment((X86,))).total == 50_400  # 3 x 4 x 4,200
    nothing = licence_cost(HARDWARE_ONLY, Deployment((X86,)))
    assert (nothing.total, nothing.currency) == (0, "")


def test_no_price_comes_of_no_throughput_no_term_or_nothing_bought():
    with pytest.raises(PricingError, match="throughput above 0"):
        quote(order(S822L), tps(0))
    with pytest.raises(PricingError, match="one year at least"):
        quote(order(S822L), tps(1000), Terms(0))
    with pytest.raises(PricingError, match="0 to 100 per cent"):
        Terms(discount_percent=Decimal(101))
    with pytest.raises(PricingError, match="nothing to be priced"):
        cost(Order())


def test_prices_of_unlike_units_currencies_or_terms_are_not_compared():
    first = quote(order(S822L), tps(1000))
    require_alike([first, quote(order(X86), tps(2000))])
    with pytest.raises(UnlikeMetricsError, match="per NOPM and TPS"):
        require_alike([first, quote(order(S822L), replace(tps(1000), unit="NOPM"))])
    with pytest.raises(UnlikeMetricsError, match="over 3 years and 5 years"):
        require_alike([first, quote(order(S822L), tps(1000), Terms(5))])
    abroad = replace(S822L, prices=(price("1", "USD"),))
    with pytest.raises(UnlikeCurrenciesError, match="EUR and USD"):
        require_alike([first, quote(order(abroad), tps(1000))])


amounts = st.decimals("0.01", "1e7", places=2)


@given(amounts, amounts, st.integers(1, 9), st.decimals(0, 100, places=2), st.integers(1, 5))
def test_subtotals_add_up_to_the_total(machine, licence, quantity, discount, term_years):
    rules = rules_from({"metric": "core", "payment": "perpetual", "support_percent": "17.3", "discount_percent": "3.3"})
    node = Node(Machine("m", 2, 7), quantity, prices=(price(machine),))
    terms = Terms(term_years, discount_percent=discount)
    order_cost = cost(order(node, licence=Licence("it", rules, (price(licence),))), terms)
    assert sum(order_cost.subtotals.values()) == order_cost.total <= order_cost.listed


@given(amounts, st.integers(1, 10**7), st.integers(0, 6))
def test_rounding_up_never_lowers_a_price(amount, throughput, places):
    price_quote = quote(order(Node(Machine("m", 1, 1), prices=(price(amount),))), tps(throughput))
    assert price_quote.price(places, "up") >= price_quote.price(places, "nearest") >= price_quote.price(places, "down")
