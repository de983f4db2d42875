"""Sheets in the shapes that published results have, typed in as CSV: invented numbers, worked by hand to the cent."""

from decimal import Decimal

import pytest

from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.sheets.reported import per_metric
from benchhub.analysis.pricing.sheets.sheet import Line, Sheet
from benchhub.analysis.pricing.sheets.total import total
from benchhub.catalog.sheets import csv as sheets_csv
from benchhub.catalog.sheets.rows import check_rows
from benchhub.catalog.sheets.texts import DISCOUNT, LINE, SHEET
from benchhub.ui.row_set import RowSet

# Two columns; price sources 1 to 3; support as lines of the second column; a tenth of the disks as spares, and two
# switches; lines that are included; a large purchase discount on both columns of source 1, one for prepaid support.
OLTP = """\
record,description,part_number,seller,category,kind,unit_price,quantity,spares,maintenance_per,support,percent,of_sellers,columns,is_on_rest,currency
sheet,,,,,,,,,,,,,,,USD
line,Rack server 4 x 8-core,SRV-1,1,Server Hardware,hardware,24870.00,1,,,,,,,,
line,Memory 16 GB,MEM-16,1,Server Hardware,hardware,1249.00,32,,,,,,,,
line,"Server support, 24x7, 4 h, 3 years",SUP-1,1,Server Hardware,support,4310.00,1,,itself,,,,,,
line,Rack,RCK,1,Server Hardware,hardware,0,2,,,included,,,,,
line,Disk shelf,SHF,1,Server Storage,hardware,3199.00,20,,,,,,,,
line,Disk 36 GB 15K,DSK,1,Server Storage,hardware,249.00,500,50,,,,,,,
line,"Shelf support, 24x7, 4 h, 3 years",SUP-2,1,Server Storage,support,650.00,20,,itself,,,,,,
line,"Database, per processor",DB-1,2,Server Software,licence,23911.00,4,,,,,,,,
line,Database support incident,DB-S,2,Server Software,support,245.00,1,,itself,,,,,,
line,Operating system,OS-1,2,Server Software,licence,2280.00,1,,,bought,,,,,
line,Compiler,OS-C,2,Server Software,licence,0.00,1,,,included,,,,,
line,Client,CLI,1,Client Hardware,hardware,1519.00,9,,,,,,,,
line,"Client support, 24x7, 4 h, 3 years",SUP-3,1,Client Hardware,support,489.00,9,,itself,,,,,,
line,Switch,SW,3,Connectivity,hardware,59.99,3,2,,,,,,,
discount,Large purchase and net 30,,,,,,,,,,16.0,1,both,,
discount,Prepaid support,,,,,,,,,,5,1,maintenance,yes,
"""

# Each unit price is rounded after its own discount, as the offer prints it; fees by the year and month stand in the
# column of prices; one warranty year; a discount on the hardware of seller 1 alone; a lump sum off maintenance.
DECISION = """\
record,description,seller,kind,unit_price,quantity,discount_percent,charged,maintenance_per,maintenance_price,maintenance_months,maintenance_percent_of,percent,amount,of_sellers,of_kinds,columns,rounded_per,total_places,currency
sheet,,,,,,,,,,,,,,,,,unit,0,EUR
line,Server,1,hardware,8765.43,2,23.5,,percent,9.5,24,paid,,,,,,,,
line,SSD,1,hardware,1133.33,24,31.25,,month,2.15,,,,,,,,,,
line,Installation,1,other,500.00,1,,,,,,,,,,,,,,
line,Database subscription,2,licence,2109.90,2,,year,,,,,,,,,,,,
line,Backup service,2,other,19.99,1,,month,,,,,,,,,,,,
discount,Net 30,,,,,,,,,,,4,,1,hardware,price,,,
discount,Prepaid,,,,,,,,,,,,250.00,,,maintenance,,,
"""

# Whole yen; a line in dollars at the sheet's rate; a credit that discounts spare; one discount on two sellers within
# two categories, line by line and down; one on each unit price, down to tens; one on the maintenance of one line.
YEN = """\
record,description,seller,category,kind,unit_price,quantity,spares,is_discountable,maintenance_per,maintenance_price,currency,exchange_rate,percent,of_sellers,of_categories,of_lines,columns,rounded_per,rounding,places
sheet,,,,,,,,,,,JPY,,,,,,,line,nearest,0
line,Server,1,Server,hardware,2345678,2,,,year,123456,,,,,,,,,,
line,Disk,1,Storage,hardware,45670,40,4,,,,,,,,,,,,,
line,Switch,2,Network,hardware,39800,1,2,,,,,,,,,,,,,
line,Software,3,Software,licence,1499.95,4,,,,,USD,149.275,,,,,,,,
line,Trade-in,1,Server,hardware,-300000,1,,no,,,,,,,,,,,,
discount,Volume,,,,,,,,,,,,12.5,1; 2,Storage; Network,,price,line,down,0
discount,Project,,,,,,,,,,,,7,1,Server,,price,unit,down,-1
discount,Prepaid,,,,,,,,,,,,3,,,Server,maintenance,sum,nearest,0
"""

# Rented: hours of three years as a quantity, fees by the month, some of them fractions of a cent, support by the month
# in the second column, and a discount for paying upfront.
CLOUD = """\
record,description,part_number,category,kind,unit_price,quantity,charged,maintenance_per,percent,of_lines,currency
sheet,,,,,,,,,,,USD
line,Compute hours,C-1,Compute,hardware,4.032,78840,,,,,
line,"Storage, GB-months",S-1,Storage,hardware,0.125,65536,month,,,,
line,Requests,S-2,Storage,hardware,0.000005,1000000,month,,,,
line,Support plan,P-1,Support,support,1500,1,month,itself,,,
discount,Paid upfront,,,,,,,,37.5,C-1,
"""

# Five years, the first under warranty; maintenance by the month with an uplift for 24x7 and less for paying ahead;
# spares in its place; a warranty that covers nothing of the database; whole dollars.
FIVE_YEARS = """\
record,description,seller,kind,unit_price,quantity,spares,maintenance_per,maintenance_price,maintenance_months,percent,of_sellers,columns,is_on_rest,places,term_months,currency
sheet,,,,,,,,,,,,,,0,60,USD
line,Server,1,hardware,48500,2,,month,385.50,48,,,,,,,
line,Disk,1,hardware,1295,84,,month,6.25,48,,,,,,,
line,Terminal,1,hardware,199,120,12,,,,,,,,,,
line,UPS,3,hardware,2450.49,1,,year,120,,,,,,,,
line,"Database, 64 users",2,licence,15999,1,,percent,15,,,,,,,,
discount,Volume,,,,,,,,,18.5,1,price,,0,,
discount,"24x7, within 4 hours",,,,,,,,,-25,1,maintenance,,0,,
discount,Prepaid,,,,,,,,,10,1,maintenance,yes,0,,
"""

# Nothing is rounded but the total: a discount by the parts that it names, one for the maintenance alone, support less
# a discount of its own, and maintenance in per cent of the price for the whole term: 12 months of it are paid.
CLUSTER = """\
record,description,part_number,kind,unit_price,quantity,discount_percent,maintenance_per,maintenance_price,maintenance_months,maintenance_percent_of,percent,of_lines,columns,rounding,rounded_per,currency
sheet,,,,,,,,,,,,,,nearest,total,USD
line,Node,N-1,hardware,10333.33,17,,,,,,,,,,,
line,"Node support, 3 years",N-S,support,1111.11,17,12.5,itself,,,,,,,,,
line,Software,SW,licence,4999.99,17,,percent,17,12,paid,,,,,,
line,Switch,NET,hardware,7777.77,2,,,,,,,,,,,
discount,Key A,,,,,,,,,,33.333,N-1; NET,price,exact,,
discount,Key B,,,,,,,,,,8,,maintenance,exact,,
"""

# Prices in three currencies, each converted and rounded by the unit, and a discount on each unit of what is imported.
IMPORTED = """\
record,description,category,kind,unit_price,quantity,maintenance_per,maintenance_price,currency,exchange_rate,percent,of_categories,rounded_per
sheet,,,,,,,,EUR,,,,unit
line,Server,Imported,hardware,1999.00,3,,,USD,0.9187,,,
line,Drive,Imported,hardware,249.90,10,year,40.00,GBP,1.1655,,,
line,Rack,Local,hardware,5000.00,1,,,,,,,
discount,Importer,,,,,,,,,7.5,Imported,unit
"""

# Rented by the month at thousandths of a cent, with a fee that is reserved by the year, a monthly credit that nothing
# is taken off or put on, and a support plan in per cent of the rest.
METERED = """\
record,description,category,kind,unit_price,quantity,charged,is_discountable,percent,of_categories,currency
sheet,,,,,,,,,,USD
line,Requests,Rent,hardware,0.00001234,250000000,month,,,,
line,vCPU hours,Rent,hardware,0.04048,11680,month,,,,
line,Reserved capacity,Rent,hardware,5000,2,year,,,,
line,Credit,Rent,other,-100,1,month,no,,,
discount,Support plan,,,,,,,-10,Rent,
"""


def read(text):
    """A file as the page reads it, as a sheet of the engine."""
    texts = sheets_csv.read(text)
    lines, discounts = RowSet("lines", "Line", LINE, texts.lines), RowSet("discounts", "Off", DISCOUNT, texts.discounts)
    engine_lines, engine_discounts = check_rows(lines, discounts)
    assert [*lines.problems, *discounts.problems] == []
    own = {field.name: field.read(texts.sheet[field.name]) for field in SHEET if field.name in texts.sheet}
    return Sheet("sheet", own.pop("currency"), tuple(engine_lines), tuple(engine_discounts), **own)


def amounts(sheet_total):
    return [f"{amount:.2f}" for amount in (sheet_total.price, sheet_total.maintenance, sheet_total.total)]


def test_a_sheet_of_a_transaction_benchmark_with_two_columns_spares_and_a_large_purchase_discount():
    sheet_total = total(read(OLTP))
    # Prices of source 1: 24,870 + 32 x 1,249 (39,968) + 20 x 3,199 (63,980) + 550 x 249 (136,950) + 9 x 1,519 (13,671)
    # = 279,439; support of source 1: 4,310 + 20 x 650 (13,000) + 9 x 489 (4,401) = 21,711. 16% of each:
    assert [f"{amount:.2f}" for amount in (sheet_total.deductions[0].price, sheet_total.deductions[0].maintenance)] == [
        "44710.24",
        "3473.76",
    ]
    assert f"{sheet_total.deductions[1].maintenance:.2f}" == "911.86"  # 5% of 21,711 - 3,473.76 = 18,237.24: 911.862
    # 279,439 + 4 x 23,911 (95,644) + 2,280 + 5 x 59.99 (299.95) - 44,710.24; 21,711 + 245 - 3,473.76 - 911.86
    assert amounts(sheet_total) == ["332952.71", "17570.38", "350523.09"]
    storage = next(subtotal for subtotal in sheet_total.subtotals if subtotal.category == "Server Storage")
    assert (storage.price, storage.maintenance) == (200_930, 13_000)  # 63,980 + 136,950
    assert sheet_total.by_kind["hardware"] == Decimal("235028.71")  # 279,439 + 299.95 - 44,710.24
    assert any(
        str(step).startswith("Line: Compiler, 1 x 0 USD = 0 USD, included in another") for step in sheet_total.steps
    )


def test_price_performance_is_rounded_up_to_the_decimals_that_are_asked_for():
    sheet_total = total(read(OLTP))  # 350,523.09 / 607,123 = 0.577350...
    prices = [str(per_metric(sheet_total, Decimal(607123), "tpmC", places)[0]) for places in (0, 2, 3, 4)]
    assert prices == ["1", "0.58", "0.578", "0.5774"]
    assert str(per_metric(sheet_total, Decimal(607123), "tpmC", 2, "nearest")[0]) == "0.58"
    assert str(per_metric(sheet_total, Decimal(607123), "tpmC", 3, "nearest")[0]) == "0.577"
    _, step = per_metric(sheet_total, Decimal(607123), "tpmC")
    assert str(step) == (
        "Price: 350,523.09 USD / 607,123 tpmC = 0.577351 USD per tpmC, money per new order per minute; "
        "rounded up: 0.58."
    )
    with pytest.raises(PricingError, match="metric above 0"):
        per_metric(sheet_total, Decimal(0), "tpmC")


def test_the_example_of_the_tpc_comes_out():
    """859,100 $ and 1,562 tpmC are 550 $ per tpmC: tpc.org, the questions about TPC-C, on price/performance."""
    sheet_total = total(Sheet("system", "USD", (Line("all of it", Decimal(859_100)),)))
    for way in ("up", "nearest", "down"):
        assert str(per_metric(sheet_total, Decimal(1562), "tpmC", 2, way)[0]) == "550.00"


def test_a_sheet_with_a_column_of_discounts_rounded_by_unit_and_fees_by_year_and_month():
    sheet_total = total(read(DECISION))
    # 8,765.43 x 0.765 = 6,705.55395: 2 x 6,705.55; 1,133.33 x 0.6875 = 779.164375: 24 x 779.16; 3 x 2 x 2,109.90;
    # 36 x 19.99
    extended = [f"{row.price:.2f}" for row in sheet_total.rows]
    assert extended == ["13411.10", "18699.84", "500.00", "12659.40", "719.64"]
    # 9.5% of 6,705.55 = 637.02725, rounded by unit: 2 units x 2 years x 637.03; 24 x 36 x 2.15
    assert [f"{row.maintenance:.2f}" for row in sheet_total.rows[:2]] == ["2548.12", "1857.60"]
    assert f"{sheet_total.deductions[0].price:.2f}" == "1284.44"  # 4% of 13,411.10 + 18,699.84 = 32,110.94: 1,284.4376
    # 32,110.94 + 500 + 12,659.40 + 719.64 - 1,284.44; 2,548.12 + 1,857.60 - 250: together 48,861.26
    assert amounts(sheet_total) == ["44705.54", "4155.72", "48861.00"]
    steps = [str(step) for step in sheet_total.steps]
    assert "Line: Backup service, 1 x 19.99 EUR a month, 36 months = 719.64 EUR (seller 2)." in steps
    assert any(
        "4% of 32,110.94 EUR prices of seller 1 and also of kind hardware is 1,284.44 EUR" in step for step in steps
    )


def test_fees_follow_the_term_and_what_is_paid_once_does_not():
    sheet = read(DECISION)
    # Over 5 years: 5 x 4,219.80 (21,099) and 60 x 19.99 (1,199.40); maintenance 2,548.12 and 24 x 60 x 2.15 (3,096)
    sheet_total = total(sheet, 60)
    assert [f"{row.price:.2f}" for row in sheet_total.rows] == ["13411.10", "18699.84", "500.00", "21099.00", "1199.40"]
    assert amounts(sheet_total)[1] == "5394.12"  # 2,548.12 + 3,096 - 250
    with pytest.raises(PricingError, match="'Server support, 24x7, 4 h, 3 years' is priced for 36 months, not for 60"):
        total(read(OLTP), 60)


def test_a_sheet_in_whole_yen_with_a_line_in_dollars_a_credit_and_discounts_that_name_several_things():
    sheet_total = total(read(YEN))
    # 2 x 2,345,678; 44 x 45,670; 3 x 39,800; 5,999.80 x 149.275 = 895,620.145
    assert [f"{row.price:.0f}" for row in sheet_total.rows] == ["4691356", "2009480", "119400", "895620", "-300000"]
    # 12.5% of 2,009,480 (251,185) and of 119,400 (14,925); 7% of 2,345,678 = 164,197.46, to 164,190, twice;
    # 3% of 2 x 3 x 123,456 (740,736) = 22,222.08
    assert [f"{deduction.price + deduction.maintenance:.0f}" for deduction in sheet_total.deductions] == [
        "266110",
        "328380",
        "22222",
    ]
    # 7,415,856 - 266,110 - 328,380; 740,736 - 22,222
    assert amounts(sheet_total) == ["6821366.00", "718514.00", "7539880.00"]
    steps = [str(step) for step in sheet_total.steps]
    assert "Conversion: 5,999.80 USD at 1 USD = 149.275 JPY is 895,620 JPY (seller 3)." in steps
    assert any(
        "prices of category Storage or Network and also of seller 1 or 2 is 266,110 JPY" in step for step in steps
    )


def test_a_rented_system_is_priced_by_hours_months_and_fractions_of_a_cent():
    sheet_total = total(read(CLOUD))
    # 78,840 x 4.032; 65,536 x 0.125 x 36; 1,000,000 x 0.000005 x 36
    assert [f"{row.price:.2f}" for row in sheet_total.rows] == ["317882.88", "294912.00", "180.00", "0.00"]
    # 37.5% of 317,882.88 = 119,206.08; 36 x 1,500
    assert amounts(sheet_total) == ["493768.80", "54000.00", "547768.80"]


def test_a_rate_between_the_sheet_and_itself_is_refused():
    with pytest.raises(PricingError, match="'Software' is in JPY, as the sheet is: leave out its rate"):
        total(read(YEN.replace("USD,149.275", "JPY,149.275")))


def test_a_sheet_over_five_years_with_a_warranty_an_uplift_and_a_discount_for_paying_ahead():
    sheet_total = total(read(FIVE_YEARS))
    # 2 x 48,500; 84 x 1,295; 132 x 199; 2,450.49 to whole dollars
    assert [f"{row.price:.0f}" for row in sheet_total.rows] == ["97000", "108780", "26268", "2450", "15999"]
    # 2 x 48 x 385.50; 84 x 48 x 6.25; none of terminals; 5 x 120; 5 x 0.15 x 15,999 = 11,999.25
    assert [f"{row.maintenance:.0f}" for row in sheet_total.rows] == ["37008", "25200", "0", "600", "11999"]
    # 18.5% of 232,048 = 42,928.88; 25% of 62,208 on top; 10% of 62,208 + 15,552
    deductions = [(f"{deduction.price:.0f}", f"{deduction.maintenance:.0f}") for deduction in sheet_total.deductions]
    assert deductions == [("42929", "0"), ("0", "-15552"), ("0", "7776")]
    # 250,497 - 42,929; 74,807 + 15,552 - 7,776
    assert amounts(sheet_total) == ["207568.00", "82583.00", "290151.00"]
    steps = [str(step) for step in sheet_total.steps]
    assert "Surcharge: 24x7, within 4 hours, 25% of 62,208 USD maintenance of seller 1 is 15,552 USD." in steps
    assert not any("-15" in step for step in steps)
    assert [str(per_metric(sheet_total, Decimal(1500), "tpmC", 2, way)[0]) for way in ("up", "nearest")] == [
        *("193.44", "193.43")  # 290,151 / 1,500 = 193.434
    ]


def test_a_sheet_that_rounds_nothing_but_its_total():
    sheet_total = total(read(CLUSTER))
    # 17 x 1,111.11 x 0.875 = 16,527.76125; 17% of 84,999.83 once = 14,449.9711
    assert [str(row.maintenance.normalize()) for row in sheet_total.rows[1:3]] == ["16527.76125", "14449.9711"]
    # 33.333% of 17 x 10,333.33 (175,666.61) + 2 x 7,777.77 (15,555.54); 8% of 30,977.73235
    assert str(sheet_total.deductions[0].price.normalize()) == "63740.0792595"
    assert str(sheet_total.deductions[1].maintenance.normalize()) == "2478.218588"
    # 276,221.98 - 63,740.0792595 = 212,481.9007405; 28,499.513762; together 240,981.4145025
    assert amounts(sheet_total) == ["212481.90", "28499.51", "240981.41"]
    # / 1,234.567 = 195.19508
    prices = [str(per_metric(sheet_total, Decimal("1234.567"), "kQphH", 3, way)[0]) for way in ("up", "nearest")]
    assert prices == ["195.196", "195.195"]


def test_a_sheet_with_lines_in_several_currencies_is_converted_by_the_unit():
    sheet_total = total(read(IMPORTED))
    # 1,999.00 x 0.9187 = 1,836.4813: 3 x 1,836.48; 249.90 x 1.1655 = 291.25845: 10 x 291.26
    assert [f"{row.price:.2f}" for row in sheet_total.rows] == ["5509.44", "2912.60", "5000.00"]
    assert f"{sheet_total.maintenance:.2f}" == "1398.60"  # 3 x 10 x 46.62, which is 40.00 x 1.1655
    # 7.5% of 1,836.48 = 137.736: 3 x 137.74; of 291.26 = 21.8445: 10 x 21.84
    assert f"{sheet_total.discounts:.2f}" == "631.62"
    assert amounts(sheet_total) == ["12790.42", "1398.60", "14189.02"]  # 13,422.04 - 631.62


def test_a_metered_system_with_a_credit_and_a_plan_in_per_cent_of_what_is_rented():
    sheet_total = total(read(METERED))
    # 36 x 3,085; 36 x 472.8064 = 17,021.0304; 3 x 10,000; 36 x -100
    assert [f"{row.price:.2f}" for row in sheet_total.rows] == ["111060.00", "17021.03", "30000.00", "-3600.00"]
    assert f"{sheet_total.discounts:.2f}" == "-15808.10"  # 10% of 158,081.03 on top
    assert amounts(sheet_total)[2] == "170289.13"  # 158,081.03 - 3,600 + 15,808.10
