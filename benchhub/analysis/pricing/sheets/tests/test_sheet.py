"""Price sheets worked by hand to the cent; the comments are the arithmetic."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from benchhub.analysis.pricing.money import PricingError, Rate, UnlikeCurrenciesError
from benchhub.analysis.pricing.quote import Order, Terms, Throughput, cost, quote
from benchhub.analysis.pricing.sheets.sheet import Discount, Line, Maintenance, Sheet
from benchhub.analysis.pricing.sheets.total import total

ITSELF = Maintenance("itself")


def line(description, price, quantity=1, seller="1", category="", **changes):
    return Line(description, Decimal(price), quantity, seller=seller, category=category, **changes)


def percent(value, **changes):
    return Discount("discount", percent=Decimal(value), **changes)


def sheet(*lines, currency="USD", **changes):
    return Sheet("sheet", currency, lines, **changes)


# Prices: 4,321.99 + 24 x 349 (8,376) + 1,249 = 13,946.99 of seller 1 that can be discounted;
# + 2 x 5,999 (11,998) + 719 + 3 x 39.90 (119.70) - 500 = 26,283.69. Maintenance: 1,800 + 3 x 2,300 = 8,700.
OLTP = sheet(
    line("server", "4321.99", category="Server hardware", part_number="A1"),
    line("disk", "349.00", 24, category="Storage"),
    line("rack", "1249.00", category="Server hardware"),
    line("server service, 3 years, 24x7", "1800.00", category="Server hardware", maintenance=ITSELF),
    line("database, per processor", "5999.00", 2, "2", "Software", kind="licence"),
    line("database support, 1 year", "2300.00", 3, "2", "Software", kind="licence", maintenance=ITSELF),
    line("operating system", "719.00", 1, "3", "Software", kind="licence"),
    line("utilities", "0", 1, "", "Software", kind="licence", support="unsupported"),
    line("network switch", "39.90", 1, "4", "Connectivity", spares=2),
    line("trade-in", "-500.00", 1, "1", "Server hardware", is_discountable=False),
    discounts=(
        # 14.5% of 13,946.99 = 2,022.31355, and of 1,800 = 261.00
        Discount("large volume", percent=Decimal("14.5"), sellers=("1",), columns="both"),
        # 5% of what is left, 13,946.99 - 2,022.31 = 11,924.68: 596.234
        Discount("cash", percent=Decimal(5), sellers=("1",), is_on_rest=True),
    ),
)


def test_a_sheet_with_discounts_by_seller_spares_a_credit_and_service_in_its_own_column():
    sheet_total = total(OLTP)
    assert [str(row.price) for row in sheet_total.rows] == [
        *("4321.99", "8376.00", "1249.00", "0", "11998.00", "0", "719.00", "0.00", "119.70", "-500.00")
    ]
    assert [(str(deduction.price), str(deduction.maintenance)) for deduction in sheet_total.deductions] == [
        ("2022.31", "261.00"),
        ("596.23", "0"),
    ]
    assert (str(sheet_total.price), str(sheet_total.maintenance)) == (
        "23665.15",
        "8439.00",
    )  # 26,283.69 - 2,618.54; 8,700 - 261
    assert str(sheet_total.total) == "32104.15"
    assert sheet_total.rounding == 0


def test_subtotals_are_by_category_and_column_before_discounts():
    amounts_by_category = {
        subtotal.category: (str(subtotal.price), str(subtotal.maintenance)) for subtotal in total(OLTP).subtotals
    }
    assert amounts_by_category == {
        "Server hardware": ("5070.99", "1800.00"),  # 4,321.99 + 1,249 - 500
        "Storage": ("8376.00", "0"),
        "Software": ("12717.00", "6900.00"),  # 11,998 + 719 + 0
        "Connectivity": ("119.70", "0"),
    }


def test_the_split_by_kind_takes_discounts_off_what_they_were_on_and_adds_up():
    # Hardware: 13,946.99 + 119.70 - 500 - 2,022.31 - 596.23; licences 11,998 + 719; support 8,700 - 261
    assert total(OLTP).by_kind == {
        "hardware": Decimal("10948.15"),
        "licence": Decimal("12717.00"),
        "support": Decimal("8439.00"),
    }


def test_price_per_metric_is_the_grand_total_over_the_reported_metric():
    reported = Throughput(Decimal(100_000), Decimal(100_000), Decimal(100_000), "tpmC", "executive summary")
    price_quote = quote(Order(sheets=(OLTP,)), reported)
    assert (str(price_quote.price()), str(price_quote.price(rounding="up"))) == ("0.32", "0.33")  # 0.3210415
    assert price_quote.cost.listed == Decimal("34983.69")  # 26,283.69 + 8,700


# Prices: 2 x 12,345.50 = 24,691; 4 x 7,999.99 = 31,999.96; 16 x 1,400 = 22,400 by contract (28,000 at list).
# Maintenance: 24 months x 2 x 310 = 14,880; 3 x 8% x 31,999.96 = 7,679.9904; 3 x 22% x 22,400 = 14,784.
DECISION = sheet(
    line("server", "12345.50", 2, category="Hardware", maintenance=Maintenance("month", Decimal(310), months=24)),
    line("storage", "7999.99", 4, category="Hardware", maintenance=Maintenance("percent", Decimal(8))),
    line(
        "database, per core",
        "1750",
        16,
        "2",
        "Software",
        kind="licence",
        contracted_price=Decimal(1400),
        maintenance=Maintenance("percent", Decimal(22), percent_of="paid"),
    ),
    discounts=(
        # 27% of 56,690.96 = 15,306.5592, down to whole dollars
        Discount("volume", percent=Decimal(27), categories=("Hardware",), rounding="down", places=0),
        # 9.2% of 14,880 + 7,679.99 + 14,784 = 37,343.99: 3,435.64708
        Discount("prepaid service", percent=Decimal("9.2"), columns="maintenance"),
    ),
    total_places=0,
)


def test_a_sheet_with_monthly_and_per_cent_maintenance_a_contract_and_a_total_in_whole_dollars():
    sheet_total = total(DECISION)
    assert [str(row.maintenance) for row in sheet_total.rows] == ["14880.00", "7679.99", "14784.00"]
    assert [str(deduction.price + deduction.maintenance) for deduction in sheet_total.deductions] == [
        "15306",
        "3435.65",
    ]
    assert str(sheet_total.price) == "63784.96"  # 24,691 + 31,999.96 + 22,400 - 15,306
    assert str(sheet_total.maintenance) == "33908.34"  # 37,343.99 - 3,435.65
    assert (str(sheet_total.total), sheet_total.rounding) == ("97693", Decimal("-0.30"))
    assert sum(sheet_total.by_kind.values()) == 97693


# 3 x 1,234,567 = 3,703,701; 30 of 36 months of 98,765: 3 x 98,765 x 30 / 12 = 740,737.5;
# 2 x 999.95 USD = 1,999.90 USD x 151.37 = 302,724.863; 12.5% of 1,234,567 = 154,320.875, down, x 3 = 462,960.
YEN = sheet(
    line("server", "1234567", 3, maintenance=Maintenance("year", Decimal(98765), months=30), part_number="S"),
    line("software", "999.95", 2, kind="licence", currency="USD"),
    currency="JPY",
    places=0,
    discounts=(percent("12.5", lines=("S",), rounded_per="unit", rounding="down", places=0),),
    rates=(Rate("USD", "JPY", Decimal("151.37"), date(2026, 1, 5), "a bank"),),
)


def test_a_sheet_in_whole_yen_with_a_converted_line_and_a_discount_on_the_unit_price():
    sheet_total = total(YEN)
    assert [str(row.price) for row in sheet_total.rows] == ["3703701", "302725"]
    assert str(sheet_total.maintenance) == "740738"
    assert str(sheet_total.discounts) == "462960"
    assert str(sheet_total.total) == "4284204"  # 3,703,701 + 302,725 - 462,960 + 740,738
    assert any(
        "1,999.90 USD at 1 USD = 151.37 JPY is 302,725 JPY (2026-01-05" in str(step) for step in sheet_total.steps
    )


def test_a_line_in_another_currency_without_a_rate_never_adds():
    with pytest.raises(UnlikeCurrenciesError, match="USD and in JPY"):
        total(replace(YEN, rates=()))


@pytest.mark.parametrize(
    ("maintenance", "amount"),
    [
        (None, "0"),
        (Maintenance("term", Decimal(300)), "600.00"),  # 2 x 300
        (Maintenance("year", Decimal(100)), "600.00"),  # 3 x 2 x 100
        (Maintenance("year", Decimal(100), months=24), "400.00"),  # 2 x 2 x 100
        (Maintenance("year", Decimal(100), months=60), "600.00"),  # no more than the term
        (Maintenance("month", Decimal(10)), "720.00"),  # 36 x 2 x 10
        (Maintenance("month", Decimal(10), months=24), "480.00"),
        (Maintenance("percent", Decimal(10)), "1200.00"),  # 3 x 0.1 x 2 x 2,000
        (Maintenance("percent", Decimal(10), percent_of="paid"), "900.00"),  # 3 x 0.1 x 2 x 1,500
        (Maintenance("year", Decimal(100), quantity=1), "300.00"),  # one of the two is maintained
        (Maintenance("year", Decimal(1), months=5, quantity=1), "0.42"),  # 5 / 12
    ],
)
def test_maintenance_is_for_the_term_or_by_year_month_or_per_cent(maintenance, amount):
    made = line("server", "2000", 2, contracted_price=Decimal(1500), maintenance=maintenance, spares=1)
    sheet_total = total(sheet(made))
    assert str(sheet_total.maintenance) == amount  # a spare is not maintained
    assert sheet_total.price == 4500  # (2 + 1) x 1,500


def test_a_discount_of_a_line_is_rounded_where_the_line_is_extended():
    # 3 x 9.99 x 0.945 = 28.32165; 22% of 9.44055 a unit and year: 3 x 3 x 2.076921 = 18.692289
    maintenance = Maintenance("percent", Decimal(22), percent_of="paid")
    sheet_total = total(sheet(line("server", "9.99", 3, discount_percent=Decimal("5.5"), maintenance=maintenance)))
    assert (str(sheet_total.price), str(sheet_total.maintenance)) == ("28.32", "18.69")
    assert sheet_total.listed == Decimal("48.66")  # 29.97 + 18.69
    assert (
        str(sheet_total.steps[0]) == "Line: server, 3 x 9.44055 USD = 28.32 USD, instead of 9.99 USD each (seller 1)."
    )


def test_maintenance_for_the_term_is_not_stretched_over_another_term():
    made = sheet(line("server", "1", maintenance=Maintenance("term", Decimal(300))))
    with pytest.raises(PricingError, match="priced for 36 months, not for 60"):
        total(made, 60)
    assert total(sheet(line("server", "1", maintenance=Maintenance("year", Decimal(12)))), 60).maintenance == 60


@pytest.mark.parametrize(
    ("discount", "off"),
    [
        # Lines: 3 x 0.15 = 0.45 and 10.00 of seller 1, 20.00 of seller 2 in another category
        (percent("10"), "3.05"),  # 30.45 x 0.1 = 3.045
        (percent("10", rounding="down"), "3.04"),
        (percent("10", rounding="up"), "3.05"),
        (percent("10", rounding="exact"), "3.045"),
        (percent("10", places=0), "3"),
        (percent("10", rounded_per="line"), "3.05"),  # 0.045 -> 0.05, + 1.00 + 2.00
        (percent("10", rounded_per="unit"), "3.06"),  # 3 x (0.015 -> 0.02) + 1.00 + 2.00
        (percent("10", sellers=("1",)), "1.05"),  # 10.45 x 0.1 = 1.045
        (percent("10", sellers=("1", "2")), "3.05"),
        (percent("10", categories=("B",)), "2.00"),
        (percent("10", kinds=("hardware",)), "2.05"),  # 20.45 x 0.1 = 2.045
        (percent("10", kinds=("hardware", "licence")), "3.05"),
        (percent("10", sellers=("1",), kinds=("hardware",)), "0.05"),  # 0.45: what is both
        (percent("10", sellers=("1", "2"), categories=("A",), kinds=("licence",)), "1.00"),
        (percent("10", sellers=("1",), lines=("P", "three")), "1.00"),  # 'three' is of another seller
        (percent("10", lines=("P",)), "1.00"),
        (percent("10", lines=("three",)), "2.00"),
        (percent("10", categories=("B",), columns="maintenance"), "0.50"),  # 5.00 x 0.1
        (percent("10", categories=("B",), columns="both"), "2.50"),
        (Discount("fixed", amount=Decimal("7.77")), "7.77"),
        (Discount("fixed", amount=Decimal("1.23"), columns="maintenance"), "1.23"),
        # Surcharges
        (percent("-10", categories=("B",)), "-2.00"),
        (percent("-120", categories=("B",), columns="maintenance"), "-6.00"),
        (Discount("freight", amount=Decimal("-7.77")), "-7.77"),
    ],
)
def test_discounts_are_on_lines_categories_sellers_or_the_total_and_rounded_as_they_say(discount, off):
    lines = (
        line("one", "0.15", 3, "1", "A"),
        line("two", "10.00", 1, "1", "A", part_number="P", kind="licence"),
        line("three", "20.00", 1, "2", "B", maintenance=Maintenance("term", Decimal(5))),
    )
    sheet_total = total(sheet(*lines, discounts=(discount,)))
    assert str(sheet_total.discounts) == off
    assert sheet_total.listed == Decimal("35.45")
    assert sheet_total.total == Decimal("35.45") - sheet_total.discounts + sheet_total.rounding
    assert abs(sheet_total.rounding) <= Decimal("0.005")


def test_a_discount_on_the_rest_counts_only_what_fell_on_its_own_lines():
    lines = (line("one", "100", seller="1"), line("two", "300", seller="2"))
    discounts = (percent("10"), percent("50", sellers=("1",), is_on_rest=True))
    # 10% of 400 = 40, of which 10 fall on the first line; 50% of 100 - 10 = 45
    assert [deduction.price for deduction in total(sheet(*lines, discounts=discounts)).deductions] == [40, 45]


def test_discounts_are_on_list_amounts_unless_on_the_rest():
    discounts = (percent("10"), percent("10"))
    assert total(sheet(line("one", "100"), discounts=discounts)).discounts == 20
    discounts = (percent("10"), percent("10", is_on_rest=True))
    assert total(sheet(line("one", "100"), discounts=discounts)).discounts == 19  # 10 + 9


@pytest.mark.parametrize(
    ("changes", "whole"),
    [
        ({}, "1.01"),  # 0.335 -> 0.34 twice, + 0.33 (0.333)
        ({"rounded_per": "total"}, "1.00"),  # 1.003
        ({"rounded_per": "column"}, "1.00"),
        ({"rounded_per": "total", "rounding": "up"}, "1.01"),
        ({"places": 0}, "0"),  # each line is 0
        ({"places": 0, "rounded_per": "total"}, "1"),
    ],
)
def test_a_sheet_is_rounded_per_line_per_column_or_in_all(changes, whole):
    lines = (line("one", "0.335"), line("two", "0.335"), line("three", "0.333"))
    sheet_total = total(sheet(*lines, **changes))
    assert str(sheet_total.total) == whole
    assert sheet_total.total == sum(row.price for row in sheet_total.rows) + sheet_total.rounding


def test_thirds_of_a_year_do_not_carry_a_cent_up():
    lines = [line(str(n), "0", maintenance=Maintenance("year", Decimal(200), months=1)) for n in range(3)]
    assert str(total(sheet(*lines, rounded_per="total", rounding="up")).total) == "50.00"  # 3 x 200 / 12
    assert str(total(sheet(*lines)).total) == "50.01"  # 3 x 16.67


def test_free_software_is_0_with_a_mark_and_refused_without():
    with pytest.raises(PricingError, match="'PostgreSQL' is free: say that it is unsupported"):
        line("PostgreSQL", "0", kind="licence")
    steps = total(sheet(line("PostgreSQL", "0", kind="licence", support="unsupported"))).steps
    assert str(steps[0]) == "Line: PostgreSQL, 1 x 0 USD = 0 USD, unsupported (seller 1)."


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Discount("d"), "either per cent or an amount"),
        (lambda: percent("101"), "0 to 100"),
        (lambda: percent("-1000"), "a surcharge as per cent below 0, to -999"),
        (lambda: percent("10", kinds=("box",)), "there is no kind 'box': write hardware"),
        (lambda: Discount("d", amount=Decimal(1), columns="both"), "taken off once"),
        (lambda: percent("10", rounded_per="line", is_on_rest=True), "round the sum"),
        (lambda: percent("10", rounded_per="unit", columns="both"), "only prices have a unit price"),
        (lambda: sheet(line("one", "1"), discounts=(percent("10", sellers=("9",)),)), "is on no line"),
        (lambda: line("one", "1", discount_percent=Decimal(101)), "from 0 to 100"),
        (lambda: line("one", "1", discount_percent=Decimal(1), contracted_price=Decimal(1)), "either a discount"),
        (lambda: line("one", "1", -1), "write a credit as a price below 0"),
    ],
)
def test_what_cannot_be_reproduced_from_the_sheet_is_refused(made, message):
    with pytest.raises(PricingError, match=message):
        made()


def test_large_discounts_are_flagged_by_quantity_and_contracts_too():
    assert "27% on 'volume'" in total(DECISION).flags[0]
    assert len(total(DECISION).flags) == 1  # the contract has 20% off
    assert total(replace(DECISION, is_large_quantity=True)).flags == ()
    deep = sheet(line("one", "100", contracted_price=Decimal(40)), is_large_quantity=True)
    assert "60% on 'one' is over 50%, suspicious in large quantity" in total(deep).flags[0]


def test_the_sheet_is_available_when_its_last_line_is():
    lines = (line("one", "1", available_on=date(2026, 3, 1)), line("two", "1", available_on=date(2026, 5, 1)))
    assert total(sheet(*lines, line("three", "1"))).available_on == date(2026, 5, 1)
    assert total(sheet(line("three", "1"))).available_on is None


def test_the_derivation_names_part_seller_date_and_every_discount():
    made = line("server", "1000", 2, part_number="A1", priced_on=date(2026, 1, 1), row=7)
    sheet_total = total(sheet(made, discounts=(percent("10", sellers=("1",)),)))
    assert [str(step) for step in sheet_total.steps] == [
        "Line: server, 2 x 1,000 USD = 2,000 USD (list price 7, part A1, 2026-01-01, seller 1).",
        "Discount: discount, 10% of 2,000 USD prices of seller 1 is 200 USD.",
        "Sheet: sheet comes to 1,800 USD.",
    ]


# Report D: the parts list of solidDB. Operating system and maintenance are not priced.
PARTS = (
    line("x3690 X5, one X7560", "12476"),
    line("second X7560", "4999"),
    line("32 x 8GB memory", "10848"),
    line("QLogic QL2562 HBA", "1999"),
    line("DS5300 expansion unit", "80000"),
    line("4 x EXP5000, 16 x 146.8GB", "81160"),
    line("solidDB 6.5 FP5", "224000", kind="licence"),
)
MAX5 = (line("MAX5 memory expansion", "7495"), line("MAX5 cable kit", "1299"), line("memory for MAX5", "10848"))


@pytest.mark.parametrize(
    ("lines", "whole", "tps", "price"),
    [
        (PARTS, "415482", 19_253, "21.58"),
        (PARTS, "415482", 78_989, "5.26"),
        (PARTS + MAX5, "435124", 337_305, "1.29"),  # 7,495 + 1,299 + 10,848 = 19,642 more
        (PARTS + MAX5, "435124", 69_398, "6.27"),
    ],
)
def test_the_totals_and_prices_of_report_d_come_out(lines, whole, tps, price):
    derived = Throughput(Decimal(tps), Decimal(tps), Decimal(tps), "TPS", "derived")
    price_quote = quote(Order(sheets=(sheet(*lines),)), derived)
    assert price_quote.total == Decimal(whole)
    assert str(price_quote.price()) == price
    assert price_quote.licences == 224000
    assert price_quote.hardware == Decimal(whole) - 224000


def test_a_sheet_follows_the_term_of_the_quote():
    made = Order(sheets=(sheet(line("one", "100", maintenance=Maintenance("year", Decimal(10)))),))
    assert [cost(made, Terms(term)).total for term in (1, 3, 5)] == [110, 130, 150]
