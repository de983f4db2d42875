from datetime import date
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from benchhub.analysis.pricing.sheets.total import total
from benchhub.catalog.models import (
    ExchangeRate,
    Hardware,
    LicenceModel,
    PriceSheet,
    PriceSheetDiscount,
    PriceSheetLine,
)

DAY = date(2026, 1, 1)


def sheet(name="Box", **fields):
    defaults = {"currency": "EUR", "priced_on": DAY, "source": "a list"}
    return PriceSheet.objects.create(name=name, **{**defaults, **fields})


def line(of_sheet, position=1, **fields):
    defaults = {"description": "Server", "unit_price": Decimal("1000.10"), "quantity": 2}
    return PriceSheetLine.objects.create(of_sheet=of_sheet, position=position, **{**defaults, **fields})


def refused(action, match):
    with pytest.raises(IntegrityError, match=match), transaction.atomic():
        action()


@pytest.mark.django_db
def test_a_sheet_is_totalled_as_the_engine_does_it(django_assert_num_queries):
    row = sheet()
    line(row)
    line(row, 2, description="Disk", unit_price=Decimal("50"), quantity=4, seller="a shop", maintenance_per="year",
         maintenance_price=Decimal("3.10"))  # fmt: skip
    PriceSheetDiscount.objects.create(of_sheet=row, position=1, description="Shop", percent=10, of_sellers=["a shop"])
    with django_assert_num_queries(3):
        priced = total(PriceSheet.objects.with_rows().get().sheet(), 36)
    # 2 x 1,000.10 + 4 x 50 - 10% of 200, and 3 years x 4 x 3.10 of maintenance
    assert priced.total == Decimal("2000.20") + 200 - 20 + Decimal("37.20")


@pytest.mark.django_db(transaction=True)
def test_a_saved_sheet_its_lines_and_its_discounts_stay_as_they_were():
    with transaction.atomic():
        saved = sheet()
        row = line(saved)
    refused(lambda: PriceSheet.objects.filter(pk=saved.pk).update(currency="USD"), "make a new revision")
    refused(lambda: PriceSheetLine.objects.update(quantity=3), "append-only")
    refused(row.delete, "append-only")
    refused(lambda: line(saved, 2), "is saved and whole")
    refused(
        lambda: PriceSheetDiscount.objects.create(of_sheet=saved, position=1, description="late", percent=5),
        "is saved and whole",
    )
    assert PriceSheet.objects.with_rows().get().lines.count() == 1


@pytest.mark.django_db
def test_the_sheet_of_a_day_is_the_newest_by_then_and_what_was_retired_is_none():
    machine = Hardware.objects.create(name="m", sockets=1, cores_per_socket=4)
    first = sheet(hardware=machine)
    second = first.revise(priced_on=date(2026, 6, 1))
    assert machine.sheets.by(date(2026, 5, 31)).first() == first
    assert machine.sheets.by(date(2026, 6, 1)).first() == second
    assert machine.sheets.by(date(2025, 12, 31)).first() is None
    PriceSheet.objects.filter(pk=second.pk).retire()
    assert machine.sheets.by(date(2026, 6, 1)).first() == first


@pytest.mark.django_db
def test_the_database_refuses_what_no_sheet_may_hold():
    empty = sheet()
    refused(lambda: sheet("other", currency="eur"), "price_sheet_currency")
    refused(lambda: line(empty, quantity=-1), "price_sheet_line_quantity")
    refused(lambda: line(empty, kind="moon"), "price_sheet_line_kind")
    both = {"percent": 5, "amount": 5}
    refused(
        lambda: PriceSheetDiscount.objects.create(of_sheet=empty, position=1, description="d", **both),
        "price_sheet_discount_of_one_kind",
    )
    refused(
        lambda: ExchangeRate.objects.create(base="EUR", quoted="EUR", value=1, priced_on=DAY, source="s"),
        "exchange_rate_of_two_currencies",
    )
    assert (PriceSheet.objects.get(), empty.lines.count(), empty.discounts.count()) == (empty, 0, 0)
    assert not ExchangeRate.objects.exists()


@pytest.mark.django_db
def test_an_exchange_rate_is_append_only():
    rate = ExchangeRate.objects.create(base="EUR", quoted="USD", value=Decimal("1.25"), priced_on=DAY, source="s")
    assert str(rate) == "1 EUR = 1.25 USD (2026-01-01)"
    refused(lambda: ExchangeRate.objects.update(value=2), "append-only")


@pytest.mark.django_db
def test_licence_rules_come_back_as_the_engine_reads_them():
    model = LicenceModel.objects.create(name="l", metric="core", rules={"pack": 2, "minimum_per_server": 16})
    rules = model.licence_rules()
    assert (rules.metric, rules.pack, rules.minimum_per_server) == ("core", 2, 16)
