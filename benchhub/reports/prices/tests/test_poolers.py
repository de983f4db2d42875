"""The price of a system with a pooler on a machine of its own, by hand."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from benchhub.analysis.pricing.money import trimmed
from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel, PriceSheet, PriceSheetLine
from benchhub.reports.prices.orders import Costs, NoPrice
from benchhub.reports.prices.terms import Terms
from benchhub.reports.prices.testing import BOX, PER_CORE, TODAY, listed, price_book

SMALL = Hardware(pk=4, name="Small box", sockets=1, cores_per_socket=4)
EXEMPT = LicenceModel(pk=8, name="Per core", metric="core", rules={"exempt_roles": ["pooler"]})
POOLED = System(label="pooled", hardware=BOX, pooler_hardware=SMALL)


def costs(standbys=0, small="700"):
    book = price_book()
    of_hardware = {**book.of_hardware, **({4: (listed(small),)} if small else {})}
    return Costs(replace(book, of_hardware=of_hardware), Terms(TODAY, years=1, standbys=standbys), TODAY)


@pytest.mark.parametrize(
    ("system", "model", "standbys", "total"),
    [
        (System(label="direct", hardware=BOX), PER_CORE, 0, "41000"),  # 5,000 + 20 cores x 1,800
        (POOLED, EXEMPT, 0, "41700"),  # and 700
        (POOLED, PER_CORE, 0, "48900"),  # and 4 cores more: the licence does not exempt the role
        (POOLED, EXEMPT, 1, "82700"),  # a standby has no pooler of its own
    ],
)
def test_the_machine_of_a_pooler_is_bought_once_and_licensed_unless_the_licence_exempts_it(
    system, model, standbys, total
):
    price = costs(standbys).price(system, model)
    assert trimmed(price.cost.total) == Decimal(total)


def test_systems_that_differ_by_their_pooler_alone_have_prices_of_their_own():
    both = costs()
    direct, pooled = (both.price(system, EXEMPT) for system in (System(label="direct", hardware=BOX), POOLED))
    assert pooled.cost.total - direct.cost.total == 700
    assert "Pooler: Small box is bought for it" in " ".join(step.sentence for step in pooled.steps)
    assert "Pooler" not in " ".join(step.sentence for step in direct.steps)


def test_a_pooler_without_a_price_leaves_the_system_without_one_and_says_which_row_lacks_it():
    price = costs(small="").price(POOLED, EXEMPT)
    assert isinstance(price, NoPrice)
    assert (price.missing, "'Small box'" in price.sentence) == ("hardware:4", True)


def sheet(pk, name, *lines):
    """Return a sheet whose rows ask no database; each line is (kind, price)."""
    row = PriceSheet(
        pk=pk, name=name, currency="EUR", priced_on=date(2026, 3, pk), source=f"quote {pk}", term_months=12
    )
    rows = [
        PriceSheetLine(pk=10 * pk + place, position=place, description=f"{name} {kind}", kind=kind, unit_price=price)
        for place, (kind, price) in enumerate(lines)
    ]
    row._prefetched_objects_cache = {"lines": rows, "discounts": []}
    return row


SERVER = sheet(1, "Server offer", ("hardware", Decimal("4000.10")))
BESIDE = sheet(2, "Pooler offer", ("hardware", Decimal("650.25")), ("licence", Decimal("99.99")))


def by_sheets(system, sheets, standbys=0):
    book = replace(price_book(), sheets=sheets)
    return Costs(book, Terms(TODAY, years=1, standbys=standbys), TODAY).price(system, EXEMPT)


def sentences(price, start):
    return [step.sentence for step in price.steps if step.sentence.startswith(start)]


def test_the_sheet_of_a_pooler_is_named_with_its_source_and_its_licences_are_flagged():
    price = by_sheets(POOLED, {3: (SERVER,), 4: (BESIDE,)}, standbys=1)
    # 2 x 4,000.10 + 650.25 + 99.99, and 2 x 20 cores x 1,800; the role of the pooler is exempt
    assert price.cost.total == Decimal("80750.44")
    assert sentences(price, "Price sheet:") == [
        "Price sheet: Server offer says what one machine costs; it is bought 2 times (2026-03-01, source: quote 1).",
        "Price sheet: Pooler offer says what one machine costs (2026-03-02, source: quote 2).",
    ]
    assert [flag for flag in price.flags if "licences of its own" in flag] == [
        "The sheet 'Pooler offer' has licences of its own: they are in the price beside this one."
    ]


def test_a_sheet_of_both_machines_is_derived_once_and_counted_for_each():
    price = by_sheets(System(label="twins", hardware=BOX, pooler_hardware=BOX), {3: (SERVER,)})
    assert price.cost.total == Decimal("44000.20")  # 2 x 4,000.10, and 20 cores x 1,800
    assert len(sentences(price, "Line:")) == 1
    assert "it is bought 2 times" in sentences(price, "Price sheet:")[0]


def test_without_a_pooler_no_sheet_of_one_is_named():
    price = by_sheets(System(label="direct", hardware=BOX), {3: (SERVER,), 4: (BESIDE,)})
    assert price.cost.total == Decimal("40000.10")
    assert "times" not in sentences(price, "Price sheet:")[0]
    assert price.sheets == (SERVER,)


def test_of_two_revisions_of_a_profile_the_one_without_a_price_is_named():
    revision = Hardware(pk=9, name="Box", revision=2, sockets=1, cores_per_socket=4)
    price = costs().price(System(label="twins", hardware=BOX, pooler_hardware=revision), EXEMPT)
    assert (price.missing, "'Box (revision 2)'" in price.sentence) == ("hardware:9", True)


def test_cents_and_a_discount_are_exact():
    terms = Terms(TODAY, years=1, discount_percent=Decimal("12.5"))
    book = price_book(box="5000.01", core="1800.03")
    book = replace(book, of_hardware={**book.of_hardware, 4: (listed("700.07"),)})
    priced = [Costs(book, terms, TODAY).price(POOLED, model).cost for model in (EXEMPT, PER_CORE)]
    # 87.5% of 5,000.01, 700.07 and 20 (24) x 1,800.03, each to the cent: 4,375.01 + 612.56 + 31,500.53 (37,800.63)
    assert [cost.total for cost in priced] == [Decimal("36488.10"), Decimal("42788.20")]
    assert [cost.listed for cost in priced] == [Decimal("41700.68"), Decimal("48900.80")]
