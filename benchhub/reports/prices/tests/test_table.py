from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from django.http import QueryDict

from benchhub.analysis.pricing.money import Rate
from benchhub.analysis.pricing.steps import step
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.prices.queries import PriceBook
from benchhub.reports.prices.table import table
from benchhub.reports.prices.terms import terms
from benchhub.reports.prices.testing import PER_CORE, PER_SOCKET, TODAY, drawn, listed, price_book
from benchhub.reports.templatetags.priced import price_steps


def asked(query):
    return terms(QueryDict(query), TODAY)


def shown(query="", curves=None, **amounts):
    price_table = table(curves or [drawn(1000.0)], price_book(**amounts), asked(query))
    return [[str(cell.price) for cell in row.cells] for row in price_table.rows]


@pytest.mark.parametrize(
    ("query", "per_socket", "per_core"),
    [
        ("term=1", "13.40", "41.00"),  # 5,000 + 1 x 2 x 4,200 = 13,400; 5,000 + 1 x 20 x 1,800 = 41,000
        ("term=2", "21.80", "77.00"),
        ("term=3", "30.20", "113.00"),
        ("term=4", "38.60", "149.00"),
        ("term=5", "47.00", "185.00"),
    ],
)
def test_each_term_has_its_price(query, per_socket, per_core):
    assert shown(query) == [[per_socket, per_core]]


def test_the_range_is_rounded_the_way_the_price_is():
    price_table = table([drawn(800.0, 1250.0)], price_book(), asked("rounding=up&term=1"))
    cell = price_table.rows[0].cells[0]  # 13,400 / (800 x 1,250) ** 0.5 = 13.40, / 1,250 = 10.72, / 800 = 16.75
    assert [str(value) for value in (cell.price, cell.lowest, cell.highest)] == ["13.40", "10.72", "16.75"]


def test_only_the_licences_asked_for_are_shown_and_all_where_none_of_them_exists():
    assert shown("licence=8") == [["113.00"]]
    assert shown("licence=99") == [["30.20", "113.00"]]


def test_a_missing_price_names_what_to_add_and_leaves_the_others_alone():
    cells = table([drawn(1000.0)], price_book(core=None), asked("")).rows[0].cells
    assert (str(cells[0].price), cells[1].quote, cells[1].refusal.missing) == ("30.20", None, "licence_model:8")
    cells = table([drawn(1000.0)], price_book(box=None), asked("")).rows[0].cells
    assert [cell.refusal.missing for cell in cells] == ["hardware:3", "hardware:3"]


def verdicts(*curves, query=""):
    """For each curve, under the first licence model: whether it is called the lowest; None where it has no verdict."""
    rows = table(curves, price_book(), asked(query)).rows
    return [row.cells[0].verdict and row.cells[0].verdict.is_lowest for row in rows]


def test_the_lowest_is_marked_where_the_repeats_tell_it_apart_from_every_other():
    slow, fast = drawn(990.0, 1000.0, 1010.0), drawn(1990.0, 2000.0, 2010.0, series=1)
    assert verdicts(slow, fast) == [None, True]


def test_few_repeats_are_not_tested_however_far_apart_they_lie():
    slow, fast = drawn(980.0, 1020.0, label="slow"), drawn(11_990.0, 12_010.0, label="fast", series=1)
    assert verdicts(slow, fast) == [None, False]
    price_table = table([slow, fast], price_book(), asked(""))
    assert price_table.rows[1].cells[0].verdict.name == "not tested"
    assert price_table.lead == (
        "Lowest as measured: fast under Per socket, 2.517 EUR per TPS; not tested against slow under Per socket and "
        "slow under Per core, as that takes 3 repeats of each."
    )


def test_what_may_be_as_cheap_leaves_no_clear_winner_and_is_named_with_the_probability_that_it_takes():
    first, second = drawn(980.0, 1000.0, 1020.0, label="a"), drawn(985.0, 1004.0, 1026.0, label="b", series=1)
    price_table = table([first, second], price_book(), asked("licence=7"))
    verdict = price_table.rows[1].cells[0].verdict
    assert (verdict.name, verdict.leader.candidates) == ("no clear winner", ("a",))
    assert (
        price_table.lead
        == "No clear winner: b under Per socket, 30.05 EUR per TPS, is not distinguishable from a under Per socket."
    )
    # (ln 1,004.8 - ln 999.9) over their error, 0.29 with 4 degrees of freedom
    assert verdict.probability_text.startswith("the cheaper one with a probability of 6")
    assert verdict.probability_text.endswith("%; the lowest takes more than 97.5%")


def test_one_run_each_tells_nothing_apart():
    slow, fast = drawn(1000.0, label="slow"), drawn(2000.0, series=1)
    assert verdicts(slow, fast) == [None, False]
    verdict = table([slow, fast], price_book(), asked("")).rows[1].cells[0].verdict
    assert (verdict.name, verdict.probability_text) == ("not tested", "")
    assert verdict.leader.words == "not tested against slow, as that takes 3 repeats of each"


def test_intervals_that_overlap_may_still_be_told_apart_and_the_probability_is_said_from_three_repeats_on():
    slow, fast = drawn(980.0, 1000.0, 1020.0), drawn(1050.0, 1070.0, 1090.0, series=1)
    rows = table([slow, fast], price_book(), asked("")).rows
    dear, cheap = (row.cells[0] for row in rows)
    # t(2) = 4.303 and s = 20: 4.303 x 20 / 1.732 = 49.7 about each mean, so that the intervals overlap.
    assert dear.lowest < cheap.highest
    assert cheap.verdict.is_lowest
    probability = cheap.verdict.probability_text.removeprefix("the cheaper one with a probability of ")
    assert 97.5 < float(probability.rstrip("%")) < 99.9
    assert dear.verdict is None


def test_nothing_is_lowest_where_there_is_no_choice_or_a_price_is_missing():
    assert verdicts(drawn(1000.0, 1001.0)) == [None]
    other = Hardware(pk=4, name="Unpriced", sockets=1, cores_per_socket=1)
    assert verdicts(drawn(1000.0, 1001.0), drawn(500.0, 501.0, hardware=other)) == [None, None]


def test_the_spread_is_a_range_below_three_repeats_and_says_so():
    cell = table([drawn(900.0, 1100.0)], price_book(), asked("term=1")).rows[0].cells[0]
    assert cell.spread_words == "range of repeats 12.18 to 14.89, 2 runs"  # 13,400 / 1,100 and / 900
    assert table([drawn(900.0)], price_book(), asked("")).rows[0].cells[0].spread_words == "1 run, no spread"


def test_from_three_repeats_on_the_spread_is_that_of_the_throughputs_interval():
    cell = table([drawn(990.0, 1000.0, 1010.0)], price_book(), asked("term=1")).rows[0].cells[0]
    # 999.97, s of the logarithms 0.0100, t(2) = 4.3027: a factor of 1.02515; 13.4004 / 1.02515 = 13.0717, x = 13.7375
    assert cell.spread_words == "95% interval 13.07 to 13.74, 3 runs"
    assert any("95% interval of the geometric mean of 3 repeats" in str(step) for step in cell.steps)


def test_a_million_transactions_are_priced_at_the_utilisation_over_the_term():
    cell = table([drawn(1000.0)], price_book(), asked("term=1&utilisation=25")).rows[0].cells[0]
    # 13,400 over 31,536,000 s x 1,000 x 25% = 7,884 million transactions: 1.69964... EUR
    assert str(cell.per_million) == "1.70"
    assert "Per million: 1 year x 31,536,000 s at 25% of 1,000 TPS" in str(cell.steps[-1])


def test_a_unit_of_no_transactions_has_no_price_per_million():
    assert table([drawn(1000.0, unit="QphH")], price_book(), asked("")).rows[0].cells[0].per_million is None


def test_the_discount_is_off_everything_and_the_list_stays_known():
    cell = table([drawn(1000.0)], price_book(), asked("term=1&discount=10")).rows[0].cells[0]
    assert str(cell.price) == "12.06"  # 13,400 less 10%
    assert cell.quote.cost.listed == 13_400


def test_support_is_at_the_per_cent_that_is_asked_for_where_licences_are_bought_for_good():
    for_good = LicenceModel(
        pk=9, name="For good", metric="socket", rules={"payment": "perpetual", "support_percent": "22"}
    )
    book = PriceBook((for_good, PER_SOCKET), {3: (listed("5000"),)}, {9: (listed("1000"),), 7: (listed("4200"),)})
    tables = [table([drawn(1000.0)], book, asked(query)) for query in ("", "support=10", "support=0")]
    # 5,000 + 2 x 1,000 + 3 x 22%, 10% or 0% of 2,000; the subscription stays (5,000 + 25,200) / 1,000
    assert [[str(cell.price) for cell in price_table.rows[0].cells] for price_table in tables] == [
        *(["8.32", "30.20"], ["7.60", "30.20"], ["7.00", "30.20"])
    ]
    assert "support at 10% a year" in tables[1].terms.words
    assert tables[0].has_support
    assert not table([drawn(1000.0)], price_book(), asked("")).has_support


def test_the_newest_price_by_the_day_counts_and_a_move_of_two_per_cent_is_to_be_restated():
    prices = (listed("6000", day=date(2026, 5, 1), pk=2), listed("5000"))
    book = PriceBook((PER_SOCKET,), {3: prices}, {7: (listed("4200"),)})
    today = table([drawn(1000.0)], book, asked("term=1")).rows[0].cells[0]
    then = table([drawn(1000.0)], book, asked("term=1&day=2026-03-01")).rows[0].cells[0]
    assert (str(today.price), today.flags) == ("14.40", ())
    assert str(then.price) == "13.40"
    assert then.flags == (
        "To be re-stated: by today's prices this is 14.40 EUR per TPS, +7.5%; 2% or more is a new result.",
    )


def test_a_move_below_two_per_cent_is_not_restated():
    prices = (listed("5100", day=date(2026, 5, 1), pk=2), listed("5000"))  # 13,500 against 13,400: 0.75%
    book = PriceBook((PER_SOCKET,), {3: prices}, {7: (listed("4200"),)})
    assert table([drawn(1000.0)], book, asked("term=1&day=2026-03-01")).rows[0].cells[0].flags == ()


def test_a_day_is_priced_by_its_licence_model_and_restated_by_what_became_of_that():
    per_pack = LicenceModel(pk=9, name="Per core", metric="core", revision=2, rules={"pack": 8})
    book = price_book(revised={8: per_pack, 7: None})
    book = replace(book, of_licence_model={**book.of_licence_model, 9: (listed("1800"),)})
    per_socket, per_core = table([drawn(1000.0)], book, asked("term=1&day=2026-03-01")).rows[0].cells
    assert str(per_core.price) == "41.00"  # 20 cores; in packs of 8 they are 24: 5,000 + 24 x 1,800 = 48,200
    assert [flag for flag in per_core.flags if "48.20 EUR per TPS, +17.6%" in flag]
    assert per_socket.flags == (
        "There is no price of today to hold this one against: Per socket is not on offer any more.",
    )


def test_an_address_that_names_any_revision_of_a_licence_model_shows_the_one_of_the_day():
    book = price_book(revisions={7: frozenset({7}), 8: frozenset({8, 9})})
    cells = table([drawn(1000.0)], book, asked("licence=9&day=2026-03-01")).rows[0].cells
    assert [cell.model for cell in cells] == [PER_CORE]


def test_before_the_first_price_the_page_names_the_first_day():
    cell = table([drawn(1000.0)], price_book(), asked("day=2025-12-31")).rows[0].cells[0]
    assert "the first is of 2026-01-01" in cell.refusal.sentence
    assert cell.refusal.missing == ""


def test_standbys_are_bought_and_licensed_unless_the_licence_exempts_them():
    exempting = LicenceModel(pk=9, name="Exempting", metric="socket", rules={"exempt_roles": ["standby"]})
    book = PriceBook((PER_SOCKET, exempting), {3: (listed("5000"),)}, {7: (listed("4200"),), 9: (listed("4200"),)})
    paid, exempt = table([drawn(1000.0)], book, asked("term=1&standbys=2")).rows[0].cells
    assert str(paid.price) == "40.20"  # 3 x (5,000 + 2 x 4,200)
    assert str(exempt.price) == "23.40"  # 3 x 5,000 + 2 x 4,200
    assert any("Exempt: Box needs none of Exempting, as its role is standby" in str(step) for step in exempt.steps)


def test_a_limit_on_users_asks_how_many_there_are():
    few = LicenceModel(pk=9, name="Few", metric="server", rules={"max_users": 10})
    book = PriceBook((few,), {3: (listed("5000"),)}, {9: (listed("1000"),)})
    refused, dear, affordable = (table([drawn(1000.0)], book, asked(query)) for query in ("", "users=11", "users=10"))
    assert refused.has_users
    assert "named users, and their number is not known" in refused.rows[0].cells[0].refusal.sentence
    assert dear.rows[0].cells[0].refusal.is_not_eligible
    assert affordable.rows[0].cells[0].price == Decimal("8.00")  # (5,000 + 3 x 1,000) / 1,000
    assert not table([drawn(1000.0)], price_book(), asked("")).has_users


def test_a_licence_that_does_not_cover_the_machine_is_not_eligible_and_says_why():
    small = LicenceModel(pk=9, name="Small", metric="socket", rules={"max_sockets": 1})
    book = PriceBook((small,), {3: (listed("5000"),)}, {9: (listed("100"),)})
    cell = table([drawn(1000.0)], book, asked("")).rows[0].cells[0]
    assert cell.refusal.is_not_eligible
    assert "it is for servers of at most 1 socket, and Box has 2." in cell.refusal.sentence


def test_a_currency_that_a_rate_reaches_converts_everything_by_the_rate_of_the_day():
    rates = (Rate("EUR", "USD", Decimal("1.10"), date(2026, 1, 1), "a bank"),)
    book = price_book(rates=rates)
    assert book.currencies == ["EUR", "USD"]
    cell = table([drawn(1000.0)], book, asked("term=1&currency=USD")).rows[0].cells[0]
    assert (str(cell.price), cell.quote.currency) == ("14.74", "USD")  # 13,400 x 1.10
    cell = table([drawn(1000.0)], book, asked("term=1&currency=GBP")).rows[0].cells[0]
    assert "there is no rate between them" in cell.refusal.sentence


def test_all_that_is_paid_may_be_discounted_away_and_nothing_breaks():
    curves = [drawn(1000.0, 1001.0, 1002.0), drawn(900.0, 901.0, 902.0, series=1)]
    assert shown("discount=100", curves) == [["0.00", "0.00"], ["0.00", "0.00"]]
    assert verdicts(*curves, query="discount=100") == [None, None]


def test_the_systems_of_report_a_cost_what_it_says():
    power = Hardware(pk=3, name="S822L", sockets=2, cores_per_socket=10)
    xeon = Hardware(pk=4, name="Xeon", sockets=4, cores_per_socket=15)
    book = PriceBook(
        (PER_SOCKET, PER_CORE),
        {3: (listed("38364"),), 4: (listed("61179"),)},
        {7: (listed("4200"),), 8: (listed("1800"),)},
    )
    rows = table([drawn(365_974.0, hardware=power), drawn(1000.0, hardware=xeon, series=1)], book, asked("")).rows
    totals = [[cell.quote.total for cell in row.cells] for row in rows]
    # 38,364 + 3 x 2 x 4,200 and + 3 x 20 x 1,800; 61,179 + 3 x 4 x 4,200 and + 3 x 60 x 1,800
    assert totals == [[63_564, 146_364], [111_579, 385_179]]
    assert str(rows[0].cells[0].price) == "0.174"  # 63,564 / 365,974 = 0.17368; the report prints 0.17


def test_there_is_nothing_to_price_without_licence_models_or_curves():
    assert table([], price_book(), asked("")).rows == ()
    assert table([drawn(1000.0)], PriceBook((), {}, {}), asked("")).licence_models == ()


def test_the_lines_of_a_sheet_are_derived_once_on_a_page_and_other_prices_lead_there():
    price_table = table([drawn(1000.0)], price_book(), asked(""))
    row, lines = price_table.rows[0], tuple(step("line", "Line: {result}", number) for number in range(8))
    cell, other = (replace(cell, steps=(*lines, step("sheet", "Sheet: {result}", 99))) for cell in row.cells)
    first, second = price_steps(row, cell, price_table, 1), price_steps(row, other, price_table, 1)
    assert (first.count("<li>"), second.count("<li>")) == (9, 2)
    assert 'their 8 steps stand <a href="#why-0-7">' in second
    assert "Line: 3" not in second
    assert "Sheet: 99." in second
    assert price_steps(row, cell, price_table, 1) == first


def test_lines_that_another_price_has_in_part_are_derived_again_with_the_rest():
    price_table = table([drawn(1000.0)], price_book(), asked(""))
    row, lines = price_table.rows[0], tuple(step("line", "Line: {result}", number) for number in range(9))
    cell, other = (replace(cell, steps=lines[:end]) for cell, end in zip(row.cells, (8, 9), strict=True))
    counts = [price_steps(row, each, price_table, 1).count("<li>Line: ") for each in (cell, other)]
    assert counts == [8, 9]


def test_a_few_lines_are_derived_with_every_price():
    price_table = table([drawn(1000.0)], price_book(), asked(""))
    row, lines = price_table.rows[0], (step("line", "Line: {result}", 1),)
    cells = [replace(cell, steps=lines) for cell in row.cells]
    assert [price_steps(row, cell, price_table, 1) for cell in cells] == ["<li>Line: 1.</li>"] * 2
