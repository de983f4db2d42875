"""Terms of prices on the page of a comparison: what a reader types, what the warehouse has, what comes of both."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.catalog.models import (
    ExchangeRate,
    Hardware,
    LicenceModel,
    ListPrice,
    PriceSheet,
    PriceSheetDiscount,
    PriceSheetLine,
)
from benchhub.reports.testing import address, both, key, list_price, rows_of, variant

pytestmark = pytest.mark.django_db

# Session, user, curves, runs, latencies, facts, protocol, repeats on the host, licence models, and three of prices
QUERIES = 13
WITH_SHEETS = QUERIES + 2  # lines, discounts


@pytest.fixture
def sheet(hardware):
    """Two disks at 1,000 each, of a server at 4,000, less 10%: 5,400; no licence."""
    sheet = PriceSheet.objects.create(
        name="Box and disks", hardware=hardware, currency="EUR", priced_on=date(2026, 3, 1), source="a quote"
    )
    for position, (description, price, quantity) in enumerate((("Server", 4000, 1), ("Disk", 1000, 2))):
        PriceSheetLine.objects.create(
            of_sheet=sheet, position=position, description=description, unit_price=price, quantity=quantity
        )
    PriceSheetDiscount.objects.create(of_sheet=sheet, position=0, description="Project", percent=10)
    return sheet


def test_a_newer_sheet_of_the_hardware_takes_the_place_of_its_list_price(reader, experiment, systems, prices, sheet):
    response = reader.get(both(experiment, systems, term=1))
    assertContains(response, ">5.40</span>")  # (4,000 + 2 x 1,000) less 10%, over 1,000 TPS
    assertContains(response, "Price sheet: Box and disks says what one machine costs")
    assertContains(response, "Line: Disk, 2 x 1,000 EUR = 2,000 EUR")
    assertNotContains(response, "Box costs 5,000 EUR")


def test_a_newer_list_price_takes_the_place_of_an_older_sheet(reader, experiment, systems, prices, sheet, hardware):
    newer = {"currency": "EUR", "source": "another quote", "priced_on": date(2026, 3, 2)}
    ListPrice.objects.create(hardware=hardware, description="Box", amount=Decimal(7000), **newer)
    response = reader.get(both(experiment, systems, term=1))
    assertContains(response, ">7.00</span>")
    assertNotContains(response, "Price sheet:")


def test_what_was_priced_on_a_day_is_priced_again_by_what_stood_then(reader, experiment, systems, prices, sheet):
    response = reader.get(both(experiment, systems, term=1, day="2026-02-01"))
    assertContains(response, ">5.00</span>")  # the list price; the sheet is of March
    assertContains(response, "by the prices of 2026-02-01")
    assertContains(response, "To be re-stated: by today&#x27;s prices this is 5.40 EUR per TPS, +8.0%")
    assertNotContains(response, "Price sheet:")


def test_prices_of_hardware_outlive_its_revisions_while_it_is_of_the_same_parts(
    reader, experiment, systems, prices, hardware
):
    """The runs cite revision 1: a price of the same machine counts, whichever revision it was added to."""
    noted = hardware.revise(remark="In rack 7", memory_bytes=2**38)
    newer = {"currency": "EUR", "source": "another quote", "description": "Box"}
    ListPrice.objects.create(hardware=noted, amount=Decimal(6000), priced_on=date(2026, 3, 1), **newer)
    grown = noted.revise(sockets=4)
    ListPrice.objects.create(hardware=grown, amount=Decimal(9000), priced_on=date(2026, 4, 1), **newer)
    assertContains(reader.get(both(experiment, systems, term=1)), ">6.00</span>")
    earlier = reader.get(both(experiment, systems, term=1, day="2026-02-01"))
    assertContains(earlier, ">5.00</span>")
    assertNotContains(earlier, ">6.00</span>")
    later = variant(systems[0], hardware_id=grown.pk, label="grown")
    run = testing.make_experiment([later], name="Grown")
    testing.succeeded(testing.make_run(run, later, 8, 1), 1000.0)
    assertContains(reader.get(address(key(run, later), term=1)), ">9.00</span>")
    assertContains(reader.get(address(key(run, later), term=1, day="2026-03-01")), "no list price for the hardware")


def test_a_sheet_of_hardware_outlives_its_revisions_too(reader, experiment, systems, prices, sheet, hardware):
    noted = hardware.revise(remark="In rack 7")
    run = testing.make_experiment([variant(systems[0], hardware_id=noted.pk, label="noted")], name="Noted")
    system = run.systems.get()
    testing.succeeded(testing.make_run(run, system, 8, 1), 1000.0)
    assertContains(reader.get(address(key(run, system), term=1)), "Price sheet: Box and disks says")
    assertNotContains(reader.get(address(key(run, system), term=1, day="2026-02-01")), "Price sheet:")


def test_a_licence_model_that_was_revised_since_prices_an_earlier_day_as_it_stood(
    reader, experiment, systems, prices, hardware
):
    later = prices["socket"].revise(rules={"pack": 3})
    LicenceModel.objects.filter(pk=prices["socket"].pk).update(retired_at=datetime(2026, 3, 1, tzinfo=UTC))
    then = reader.get(both(experiment, systems, term=1, day="2026-02-01", licence=later.pk))
    assertContains(then, ">13.40</span>")  # 5,000 + 2 x 4,200
    assertNotContains(then, "(revision 2)</th>")
    now = reader.get(both(experiment, systems, term=1, licence=prices["socket"].pk))
    assertContains(now, ">17.60</span>")  # 5,000 + 3 x 4,200
    assertContains(now, "(revision 2)</th>")


def test_a_sheet_is_bought_again_for_each_standby_and_derived_once(reader, experiment, systems, prices, sheet):
    response = reader.get(both(experiment, systems, term=1, standbys=2, licence=prices["socket"].pk))
    # 3 x 5,400 + 3 x 2 x 4,200 = 41,400, over 999.8 TPS and over 1,119.8
    assertContains(response, ">41.41</span>")
    assertContains(response, "Standbys: 2 machines of the same hardware beside the primary, in the role standby")
    row = rows_of(reader.get(both(experiment, systems, term=1, standbys=2, csv="prices")))[0]
    assert row["derivation"].count("Line: Disk") == 1


def test_licences_that_a_sheet_has_of_its_own_are_said(reader, experiment, systems, prices, sheet):
    PriceSheetLine.objects.create(
        of_sheet=sheet, position=2, description="Backup software", unit_price=100, kind="licence"
    )
    assertContains(reader.get(both(experiment, systems)), "has licences of its own")


def test_a_suspicious_discount_on_a_sheet_is_flagged(reader, experiment, systems, prices, sheet):
    PriceSheetDiscount.objects.create(of_sheet=sheet, position=1, description="Friends", percent=30)
    assertContains(reader.get(both(experiment, systems)), "A discount of 30% on &#x27;Friends&#x27; is over 25%")


def test_a_currency_is_offered_where_a_rate_leads_to_it(reader, experiment, systems, prices):
    assertNotContains(reader.get(both(experiment, systems)), "<option>USD</option>", html=True)
    ExchangeRate.objects.create(
        base="EUR", quoted="USD", value=Decimal("1.1"), priced_on=date(2026, 1, 1), source="a bank"
    )
    assertContains(reader.get(both(experiment, systems)), "<option>USD</option>", html=True)
    response = reader.get(both(experiment, systems, currency="USD", term=1))
    assertContains(response, ">5.50</span>")  # 5,000 x 1.1 / 1,000
    assertContains(response, "Conversion: Box, 5,000 EUR at 1 EUR = 1.1 USD is 5,500 USD")


def test_a_wrong_term_gets_a_sentence_and_what_was_typed_stays(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems, discount="101", standbys="x", day="1.2.2026"))
    assertContains(response, "Write a discount from 0 to 100 per cent, such as 12.5.")
    assertContains(response, "Write a whole number of standbys from 0 to 9.")
    assertContains(response, "Write a day as year-month-day, such as 2026-01-31.")
    for text in ("101", "x", "1.2.2026"):
        assertContains(response, f'value="{text}"')
    assertContains(response, "over 3 years.")


def test_a_load_that_was_not_measured_names_those_that_were(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems, load=4))
    assertContains(response, "4 clients were not measured. Choose a level that was: 1, 8.", count=2)
    assertNotContains(response, ">lowest</span>")


def test_a_latency_ceiling_says_that_a_closed_loop_is_no_guarantee(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems, load="latency", ceiling=5, term=1))
    assertContains(response, "no guarantee for users who arrive on their own")
    assertContains(response, "at 1 client, average latency 3.28 ms")  # 1,000 / 300 and 1,000 / 310
    assertContains(response, "16.40</span>")  # 5,000 / (300 x 310) ** 0.5
    assertNotContains(reader.get(both(experiment, systems)), "no guarantee")


def test_a_licence_that_does_not_cover_the_machine_says_so_and_hides_no_verdict(reader, repeated, systems, prices):
    LicenceModel.objects.create(name="Small", metric="server", rules={"max_sockets": 1})
    response = reader.get(both(repeated, systems))
    assertContains(response, ">not eligible</span>", count=2)
    assertContains(response, "at most 1 socket, and Box has 2")
    assertContains(response, ">lowest</span>", count=3)


def test_list_prices_and_runs_behind_a_price_are_linked(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems))
    price = ListPrice.objects.get(licence_model=prices["core"])
    assertContains(response, f'<a href="/prices/?q=Per+core">list price {price.pk}</a>')
    run = experiment.runs.filter(system=systems[0], clients=8).first()
    assertContains(response, f'geometric mean of runs <a href="{reverse("run", args=[run.pk])}">{run.pk}</a>')


def test_every_figure_has_its_table_and_its_file(reader, experiment, systems, prices):
    page = reader.get(both(experiment, systems)).content.decode()
    for name in ("clients", "split", "break-even", "sensitivity", "standbys", "pareto"):
        assert f'data-figure="figure-{name}"' in page
        assert f'id="table-{name}"' in page
        response = reader.get(both(experiment, systems, csv=name))
        assert response["Content-Disposition"] == f'attachment; filename="comparison-{name}.csv"'
        assert rows_of(response)


def test_the_questions_keep_the_terms_and_the_terms_the_questions(reader, experiment, systems, prices):
    parameters = {"discount": 10, "subject": key(experiment, systems[1]), "drawn": prices["socket"].pk}
    response = reader.get(both(experiment, systems, **parameters))
    assertContains(response, "These answers are about PostgreSQL 18 under Per socket")
    # The ceiling's form, the baseline's, the drawn licence's, and what if or the terms.
    assertContains(response, '<input type="hidden" name="discount" value="10">', count=4)
    assertContains(response, f'<input type="hidden" name="subject" value="{parameters["subject"]}">', count=4)


def test_an_experiment_leads_to_the_figures_of_its_curves_by_the_same_terms(reader, experiment, prices):
    response = reader.get(reverse("experiment", args=[experiment.pk]), {"term": 5})
    assertContains(response, f'href="/compare/?term=5&amp;experiment={experiment.pk}"')
    followed = reader.get(f"/compare/?term=5&experiment={experiment.pk}", follow=True)
    assertContains(followed, "47.01</span>")


def test_the_queries_do_not_grow_with_curves_licences_prices_or_sheets(
    reader, experiment, host, systems, prices, sheet, django_assert_num_queries
):
    with django_assert_num_queries(WITH_SHEETS):
        reader.get(both(experiment, systems))
    boxes = [
        Hardware.objects.create(name=f"Box {number}", sockets=1, cores_per_socket=number + 1) for number in range(5)
    ]
    for number, box in enumerate(boxes):
        list_price(str(1000 + number), hardware=box)
        licence = LicenceModel.objects.create(name=f"Model {number}", metric="core")
        list_price(str(100 + number), licence_model=licence)
        PriceSheet.objects.create(
            name=f"Sheet {number}", hardware=box, currency="EUR", priced_on=date(2025, 1, 1), source="a quote"
        )
    systems_of_boxes = [variant(systems[0], hardware_id=box.pk, label=str(box)) for box in boxes]
    many = testing.make_experiment(systems_of_boxes, name="Many")
    for system in systems_of_boxes:
        for clients in (1, 2, 4):
            testing.succeeded(testing.make_run(many, system, clients, 1), 100.0 * clients)
    keys = [key(experiment, systems[0]), *(key(many, system) for system in systems_of_boxes)]
    with django_assert_num_queries(WITH_SHEETS):
        response = reader.get(address(*keys, day="2026-02-01", standbys=1))
    assertContains(response, "Box 4 costs 1,004 EUR")
