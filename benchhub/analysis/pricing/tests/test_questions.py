from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.listed import MissingPriceError, Price
from benchhub.analysis.pricing.money import PricingError, Rate, UnlikeCurrenciesError
from benchhub.analysis.pricing.questions import (
    Load,
    at_clients,
    at_peak,
    best_under,
    break_even,
    is_to_be_restated,
    pareto,
    per_million,
    sensitivity,
)
from benchhub.analysis.pricing.quote import USUAL, Order, Terms, Throughput, UnlikeMetricsError, quote
from benchhub.analysis.pricing.sheets.sheet import Line, Maintenance, Sheet
from benchhub.analysis.pricing.topology import POOLER, Deployment, Machine, Node


def price(amount, currency="EUR"):
    return Price("item", Decimal(amount), currency, date(2026, 1, 1), "a list")


def licence(name, amount, currency="EUR", **rules):
    return Licence(name, rules_from(rules), (price(amount, currency),))


def tps(value, unit="TPS", clients=8):
    return Throughput(Decimal(value), Decimal(value), Decimal(value), unit, "1 run", clients)


def bought(amount, *licences, currency="EUR"):
    return Order(Deployment((Node(Machine("box", 2, 10), prices=(price(amount, currency),)),)), licences)


def quoted(amount, throughput=1000, terms=USUAL):
    return quote(bought(amount), tps(throughput), terms)


def test_the_price_of_a_million_transactions_counts_those_of_the_whole_term():
    # 1,000 TPS at 50% over 3 x 31,536,000 s are 47,304,000,000 transactions; 47,304 EUR buy them all
    price = per_million(quoted("47304"), Decimal(50))
    assert price.transactions == 47_304_000_000
    assert price.price(4) == Decimal("1.0000")
    assert price.price(2, "up") == Decimal("1.00")
    assert str(price.step) == (
        "Per million: 3 years x 31,536,000 s at 50% of 1,000 TPS are 47,304,000,000 transactions; 47,304 EUR over them "
        "is 1.000000 EUR per million."
    )


def test_rates_per_minute_are_counted_per_minute_and_other_units_are_refused():
    per_minute = quote(bought("47304"), tps(60_000, "NOPM"))
    assert per_million(per_minute, Decimal(50)).price() == 1
    with pytest.raises(PricingError, match="QphH does not count transactions"):
        per_million(quote(bought("1"), tps(1000, "QphH")), Decimal(50))


@pytest.mark.parametrize("utilisation", ["0", "-1", "100.1"])
def test_a_utilisation_is_above_0_and_up_to_100_per_cent(utilisation):
    with pytest.raises(PricingError, match="above 0 and up to 100"):
        per_million(quoted("1"), Decimal(utilisation))


def test_the_break_even_is_where_the_cheaper_of_two_models_changes():
    # A year: 2 x 4,200 = 8,400 per socket; 2 x n x 1,000 per core: equal at 4.2, so per core is cheaper up to 4
    per_socket, per_core = licence("socket", "4200", metric="socket"), licence("core", "1000", metric="core")
    comparison = break_even(per_socket, per_core, Machine("m", 2, 1), range(1, 9), Terms(1))
    assert [(row.cost, row.other_cost) for row in comparison.rows][3:5] == [(8400, 8000), (8400, 10_000)]
    assert [row.cheaper for row in comparison.rows] == ["core"] * 4 + ["socket"] * 4
    assert [(row.cores_per_socket, row.cheaper) for row in comparison.changes] == [(5, "socket")]
    assert comparison.currency == "EUR"


def test_equal_costs_have_no_cheaper_and_cores_covered_make_it_change_twice():
    # 2 x ceil(n / 4) x 400 against 2 x n x 100: equal at 4 and 8, per core cheaper in between
    per_socket = licence("socket", "400", metric="socket", cores_per_licence=4)
    comparison = break_even(
        per_socket, licence("core", "100", metric="core"), Machine("m", 2, 1), range(3, 9), Terms(1)
    )
    assert [row.cheaper for row in comparison.rows] == ["core", "", "core", "core", "core", ""]
    assert [row.cores_per_socket for row in comparison.changes] == [4, 5, 8]


@pytest.mark.parametrize(
    ("exempt", "costs", "cheaper"),
    [
        ([], (12_600, 24_000), ["socket"] * 8),  # 3 x 4,200; 1,000 x (2 x 4 + 16)
        (["pooler"], (8400, 8000), ["core"] * 4 + ["socket"] * 4),  # as if there were none
    ],
)
def test_the_machine_of_a_pooler_keeps_its_cores_in_a_break_even_unless_the_role_is_exempt(exempt, costs, cheaper):
    per_socket = licence("socket", "4200", metric="socket", exempt_roles=exempt)
    per_core = licence("core", "1000", metric="core", exempt_roles=exempt)
    pooler = Node(Machine("pooler", 1, 16), role=POOLER)
    comparison = break_even(per_socket, per_core, Machine("m", 2, 1), range(1, 9), Terms(1), poolers=(pooler,))
    assert (comparison.rows[3].cost, comparison.rows[3].other_cost) == costs
    assert [row.cheaper for row in comparison.rows] == cheaper


def test_support_counts_in_a_break_even():
    perpetual = licence("perpetual", "100", metric="core", payment="perpetual", support_percent="20")
    comparison = break_even(perpetual, licence("yearly", "50", metric="core"), Machine("m", 1, 1), (10,), Terms(3))
    assert (comparison.rows[0].cost, comparison.rows[0].other_cost) == (1600, 1500)  # 1,000 + 3 x 200; 3 x 500


def test_a_model_that_is_not_eligible_leaves_the_other():
    few = licence("few", "1", metric="core", max_cores=8)
    comparison = break_even(few, licence("any", "100", metric="core"), Machine("m", 2, 1), (4, 5), Terms(1))
    assert [(row.cost, row.cheaper) for row in comparison.rows] == [(8, "few"), (None, "any")]
    assert break_even(few, few, Machine("m", 2, 1), (5,), Terms(1)).rows[0].cheaper == ""


def test_named_users_stay_as_a_socket_grows():
    per_user = licence("user", "10", metric="user", users_per_processor=25, user_processor="core")
    comparison = break_even(per_user, licence("core", "300", metric="core"), Machine("m", 1, 1), (2, 6), Terms(1), 100)
    # 10 x max(100, 2 x 25) against 2 x 300; 10 x max(100, 6 x 25) against 6 x 300
    assert [(row.cost, row.other_cost) for row in comparison.rows] == [(1000, 600), (1500, 1800)]


def test_licences_in_unlike_currencies_have_a_break_even_by_a_dated_rate_only():
    first, second = licence("one", "100", metric="core"), licence("other", "100", "USD", metric="core")
    with pytest.raises(UnlikeCurrenciesError, match="EUR and USD have no break-even"):
        break_even(first, second, Machine("m", 1, 1), (1, 2))
    terms = Terms(1, currency="EUR", rates=(Rate("EUR", "USD", Decimal("1.25"), date(2026, 1, 1), "a bank"),))
    assert break_even(first, second, Machine("m", 1, 1), (2,), terms).rows[0].other_cost == 160  # 2 x 100 / 1.25


def test_what_moves_the_price_is_sorted_by_how_far():
    perpetual = licence("it", "100", metric="core", payment="perpetual", support_percent="20")
    effects = sensitivity(bought("1000", perpetual), tps(1000), Terms(3))
    # Now 1,000 + 2,000 + 3 x 400 = 4,200
    assert {effect.name: (effect.price_at_low, effect.price_at_high) for effect in effects} == {
        "term": (Decimal("3.4"), 5),  # 3,000 + 400; 3,000 + 2,000
        "discount": (Decimal("4.2"), Decimal("3.15")),  # 4,200 x 0.75
        "support": (Decimal("3.9"), Decimal("4.5")),  # 3,000 + 3 x 300; 3,000 + 3 x 500
    }
    assert [effect.name for effect in effects] == ["term", "discount", "support"]
    assert [effect.size for effect in effects] == [Decimal("1.6"), Decimal("1.05"), Decimal("0.6")]


def test_utilisation_moves_only_what_is_paid_by_the_hour_and_not_what_is_reserved():
    hourly = {"metric": "flat", "payment": "hourly"}
    ranges = {"utilisation": (Decimal(50), Decimal(100))}
    effects = sensitivity(bought("1000", licence("it", "1", **hourly)), tps(1000), Terms(1), ranges)
    assert [(effect.price_at_low, effect.price_at_high) for effect in effects] == [(Decimal("5.38"), Decimal("9.76"))]
    reserved = licence("it", "1", **hourly, reserved_years=1)
    assert sensitivity(bought("1000", reserved), tps(1000), Terms(1), ranges) == ()


def test_what_moves_nothing_is_left_out():
    assert [effect.name for effect in sensitivity(bought("1000"), tps(1000))] == ["discount"]


def test_a_term_that_a_sheet_is_not_priced_for_is_left_out_and_a_missing_price_is_still_an_error():
    maintained = Line("server", Decimal(1000), maintenance=Maintenance("term", Decimal(300)))
    made = Order(sheets=(Sheet("sheet", "EUR", (maintained,)),))
    assert [effect.name for effect in sensitivity(made, tps(1000))] == ["discount"]
    with pytest.raises(MissingPriceError):
        sensitivity(Order(Deployment((Node(Machine("box", 2, 10)),))), tps(1000))


def test_the_frontier_keeps_what_nothing_beats_in_both_cost_and_throughput():
    quotes = [quoted("300", 3000), quoted("100", 1000), quoted("200", 900), quoted("300", 2000), quoted("150", 1000)]
    assert pareto(quotes) == (1, 0)  # 200 gives less than 100 does; 2,000 costs what 3,000 does; 150 gives no more
    assert pareto([quoted("100"), quoted("100")]) == (0, 1)  # equals do not beat each other
    assert pareto([]) == ()


def test_unlike_prices_have_no_frontier():
    with pytest.raises(UnlikeMetricsError):
        pareto([quoted("1"), quoted("1", terms=Terms(5))])


LOADS = tuple(
    Load(tps(value, clients=clients), latency_ms)
    for clients, value, latency_ms in (
        (1, 500, 2.0),
        (8, 2000, 4.0),
        (16, 2500, 6.4),
        (32, 2500, 12.8),
        (64, 2100, None),
    )
)


def test_the_peak_is_the_highest_throughput_with_the_fewest_clients():
    assert at_peak(LOADS).throughput.clients == 16
    with pytest.raises(PricingError, match="no level"):
        at_peak(())


def test_a_client_count_that_was_not_measured_is_refused_with_those_that_were():
    assert at_clients(LOADS, 8).throughput.value == 2000
    with pytest.raises(PricingError, match=r"12 clients were not measured.*1, 8, 16, 32, 64"):
        at_clients(LOADS, 12)


@pytest.mark.parametrize(("ceiling_ms", "clients"), [(100, 16), (6.4, 16), (6.3, 8), (2, 1)])
def test_the_best_load_under_a_latency_ceiling(ceiling_ms, clients):
    assert best_under(LOADS, ceiling_ms).throughput.clients == clients


def test_a_ceiling_that_no_level_keeps_is_refused_with_the_lowest_latency():
    with pytest.raises(PricingError, match="No level keeps 1 ms: the lowest latency measured is 2 ms"):
        best_under(LOADS, 1)
    with pytest.raises(PricingError, match="known latency"):
        best_under(LOADS[-1:], 1)


@pytest.mark.parametrize(
    ("amount", "is_restated"), [("1019.99", False), ("1020", True), ("980", True), ("980.01", False), ("1000", False)]
)
def test_a_price_list_that_moves_the_price_by_2_per_cent_is_to_be_restated(amount, is_restated):
    assert is_to_be_restated(quoted("1000"), quoted(amount)) == is_restated


def test_a_restatement_compares_like_with_like():
    with pytest.raises(UnlikeMetricsError):
        is_to_be_restated(quoted("1"), replace(quoted("1"), throughput=tps(1000, "NOPM")))
