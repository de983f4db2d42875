from datetime import date
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.models import Hardware, PriceSheet, PriceSheetLine
from benchhub.catalog.sheets.testing import DISCOUNTS, LINES, TOTAL, post, save, typed
from benchhub.catalog.testing import make_sheet
from benchhub.ui import row_set

pytestmark = pytest.mark.django_db
LIST_QUERIES = 7  # session, user, currencies, count, page, lines, discounts


def test_a_sheet_is_saved_with_its_lines_and_discounts_and_its_page_shows_every_step(engineer):
    answer = save(engineer)
    sheet = PriceSheet.objects.with_rows().get()
    assertRedirects(answer, reverse("price-sheet", args=[sheet.pk]))
    assert (sheet.currency, [line.description for line in sheet.lines.all()]) == ("USD", ["Server", "Disk"])
    assert sheet.priced().total == TOTAL
    page = engineer.get(reverse("price-sheet", args=[sheet.pk]))
    assertContains(page, "2,217.40 USD")
    assertContains(page, "Line: Server, 2 x 1,000.10 USD = 2,000.20 USD")
    assertContains(page, "Maintenance: Disk, 4 x 3.10 USD a year, 36 months: 37.20 USD")
    assertContains(page, "Discount: Shop, 10% of 200 USD prices of seller a shop is 20 USD")


def test_the_page_divides_by_a_reported_metric_and_rounds_as_it_is_asked_to(engineer):
    save(engineer)
    page = reverse("price-sheet", args=[PriceSheet.objects.get().pk])
    query = {"metric": "900", "unit": "tpmC", "decimals": "2", "rounding": "up"}
    up = engineer.get(page, query)
    assertContains(up, "<dd>2.47 USD</dd>")  # 2,217.40 / 900 = 2.463777...
    assertContains(up, "2,217.40 USD / 900 tpmC = 2.463778 USD per tpmC")
    assertContains(engineer.get(page, {**query, "rounding": "nearest", "decimals": "3"}), "<dd>2.464 USD</dd>")
    assertContains(engineer.get(page, {**query, "metric": "0"}), "greater than or equal to")
    assertNotContains(engineer.get(page), "Price per tpmC")


def test_a_blank_row_counts_for_nothing_and_a_total_is_never_taken_from_what_was_sent(engineer):
    save(engineer, lines=[LINES[0], {"quantity": "1", "kind": "hardware"}], discounts=[], total="1")
    sheet = PriceSheet.objects.with_rows().get()
    assert (sheet.lines.count(), sheet.priced().total) == (1, Decimal("2000.20"))


@pytest.mark.parametrize(
    ("line", "place", "sentence"),
    [
        ({"unit_price": "1,000"}, "unit_price", "with a point and without separators"),
        ({"unit_price": ""}, "unit_price", "Write a number"),
        ({"unit_price": "1.234567891"}, "unit_price", "8 decimals at most"),
        ({"currency": "us", "exchange_rate": "2"}, "currency", "an ISO 4217 code"),
        ({"currency": "EUR"}, "exchange_rate", "Write what 1 EUR is in the sheet's currency"),
        ({"exchange_rate": "2"}, "currency", "the currency that this rate is of"),
        ({"charged": "month", "maintenance_per": "percent"}, "", "write its maintenance as an amount"),
        ({"unit_price": "-9999999999999999"}, "unit_price", "-999999999999 or more"),
        ({"unit_price": "9999999999999999"}, "unit_price", "999999999999 at most"),
        ({"unit_price": "1e9"}, "unit_price", "Write a number"),
        ({"quantity": "-1"}, "quantity", "0 or more"),
        ({"unit_price": "NaN"}, "unit_price", "Write a number"),
        ({"kind": "moon"}, "kind", "one of: hardware"),
        ({"available_on": "soon"}, "available_on", "2026-01-31"),
        ({"spares": "1.5"}, "spares", "whole number"),
        ({"description": ""}, "description", "Write something"),
        ({"maintenance_per": ""}, "maintenance_price", "Choose what the maintenance is for"),
        ({"discount_percent": "5", "contracted_price": "5"}, "", "either a discount in per cent or a contracted price"),
        (
            {"kind": "licence", "unit_price": "0", "maintenance_per": "", "maintenance_price": ""},
            "",
            "say that it is unsupported",
        ),
    ],
)
def test_a_line_that_cannot_be_is_refused_at_its_place_and_nothing_is_lost(engineer, line, place, sentence):
    answer = save(engineer, lines=[LINES[0], {**LINES[1], **line}], discounts=[])
    [(at, error)] = answer.context["draft"].lines.rows[1].errors.items()
    assert at == place
    assert sentence in error
    assertContains(answer, "Not saved")
    assertContains(answer, 'value="Server"')
    assertContains(answer, error.replace("'", "&#x27;"))
    assert not PriceSheet.objects.exists()


@pytest.mark.parametrize(
    ("discount", "place", "sentence"),
    [
        ({"of_sellers": "another"}, "of_sellers", "No line matches. The lines have: a shop."),
        ({"of_kinds": "box"}, "", "there is no kind 'box'"),
        ({"of_kinds": "licence"}, "of_kinds", "No line matches. The lines have: hardware."),
        ({"amount": "5"}, "", "either per cent or an amount"),
        ({"percent": "101"}, "percent", "100 at most"),
    ],
)
def test_a_discount_that_cannot_be_is_refused_at_its_place(engineer, discount, place, sentence):
    answer = save(engineer, discounts=[{**DISCOUNTS[0], **discount}])
    [(at, error)] = answer.context["draft"].discounts.rows[0].errors.items()
    assert at == place
    assert sentence in error
    assert not PriceSheet.objects.exists()


def test_a_sheet_without_a_line_or_a_name_is_refused(engineer):
    assertContains(save(engineer, lines=[{}], discounts=[]), "There is no line yet")
    errors = save(engineer, name="", source="").context["draft"].form.errors
    assert errors.keys() == {"name", "source"}
    assert not PriceSheet.objects.exists()


def test_all_that_is_wrong_with_a_sheet_is_said_at_once(engineer):
    draft = save(engineer, name="", term_months="0", lines=[{}]).context["draft"]
    assert (draft.form.errors.keys(), draft.error[:22]) == ({"name", "term_months"}, "There is no line yet: ")
    wrong = save(engineer, name="", currency="", lines=[{**LINES[0], "quantity": "x"}, {**LINES[1], "seller": "\x01"}])
    draft = wrong.context["draft"]
    assert draft.form.errors.keys() == {"name", "currency"}
    assert [set(row.errors) for row in draft.lines.rows] == [{"quantity"}, {"seller"}]


def test_lines_are_added_and_removed_without_script_and_nothing_typed_is_lost(engineer):
    longer = post(engineer, add="lines").context["draft"]
    assert [row.texts["description"] for row in longer.lines.rows] == ["Server", "Disk", ""]
    assert longer.lines.rows[-1].is_focused
    shorter = post(engineer, remove="lines:0", lines=LINES).context["draft"]
    assert [row.texts["description"] for row in shorter.lines.rows] == ["Disk"]
    assert shorter.form["name"].value() == "Box"
    assert len(post(engineer, remove="lines:99").context["draft"].lines) == 2
    assert len(post(engineer, remove=f"lines:{'9' * 5000}").context["draft"].lines) == 2
    assert len(post(engineer, remove="discounts:0").context["draft"].discounts) == 0
    assert not PriceSheet.objects.exists()


def test_the_preview_shows_what_it_comes_to_before_it_has_a_name(engineer):
    answer = post(engineer, "price-sheet-preview", name="", source="", currency="eur")
    assertContains(answer, "2,217.40 EUR")
    assertContains(answer, '<output id="lines-0-extended" hx-swap-oob="true"><b>2,000.20</b></output>')
    assertNotContains(answer, "<html")
    assert not PriceSheet.objects.exists()


def test_the_preview_says_what_is_missing(engineer):
    answer = post(engineer, "price-sheet-preview", lines=[{**LINES[0], "unit_price": "x"}], discounts=[])
    assertContains(answer, "Line 1, unit price: Write a number")
    assertNotContains(answer, "Total</dt>")
    assert engineer.get(reverse("price-sheet-preview")).status_code == 405


def test_a_suspicious_discount_is_flagged(engineer):
    off = [{"description": "Volume", "percent": "26", "on": "total"}]
    assertContains(post(engineer, "price-sheet-preview", discounts=off), "suspicious in small quantity")
    assertNotContains(
        post(engineer, "price-sheet-preview", discounts=off, is_large_quantity="on"), "suspicious in small"
    )


def test_a_revision_leaves_the_old_sheet_dated_and_as_it_was(engineer):
    save(engineer)
    old = PriceSheet.objects.get()
    page = reverse("price-sheet-revise", args=[old.pk])
    form_page = engineer.get(page)
    assertContains(form_page, "Saving makes revision 2")
    assert form_page.context["draft"].total.total == TOTAL
    changed = [{**LINES[0], "unit_price": "900"}]
    engineer.post(page, typed(lines=changed, discounts=[], priced_on="2026-06-01", save="1"))
    new = PriceSheet.objects.current().get()
    assert (new.name, new.revision, new.priced().total) == ("Box", 2, Decimal("1800"))
    old = PriceSheet.objects.with_rows().get(pk=old.pk)
    assert (old.priced().total, old.priced_on, old.lines.count()) == (TOTAL, date(2026, 1, 1), 2)
    assertContains(engineer.get(reverse("price-sheet", args=[new.pk])), "1, priced on 2026-01-01")
    assertContains(engineer.post(page, typed(save="1")), "newer revision by now")
    assert PriceSheet.objects.count() == 2


def test_the_list_is_searched_filtered_and_sorted_and_shows_totals(engineer):
    box = Hardware.objects.create(name="Rack", sockets=1, cores_per_socket=4)
    make_sheet("b", hardware=box, priced_on=date(2025, 1, 1))
    make_sheet("a", currency="USD", source="a leaflet")

    def names(**query):
        return [row.name for row in engineer.get(reverse("price-sheets"), query).context["listing"].page]

    assert names() == ["a", "b"]
    assert names(sort="date") == ["b", "a"]
    assert names(currency="USD") == ["a"]
    assert names(of="hardware") == ["b"]
    assert names(q="leaflet") == ["a"]
    assert names(q="rack") == ["b"]
    assertContains(engineer.get(reverse("price-sheets")), '<td class="n" data-label="Total">100.00')


def test_an_empty_list_says_what_to_do_first(engineer):
    assertContains(engineer.get(reverse("price-sheets")), "No price sheet yet</h2>")


@pytest.mark.parametrize("count", [1, 9])
def test_the_list_asks_as_often_for_many_sheets_as_for_one(engineer, count, django_assert_num_queries):
    for number in range(count):
        make_sheet(f"s{number}")
    with django_assert_num_queries(LIST_QUERIES):
        engineer.get(reverse("price-sheets"))


def test_pages_and_previews_ask_as_often_for_300_lines_as_for_one(engineer):
    def query_counts(count):
        lines = [{**LINES[1], "description": f"Part {number}"} for number in range(count)]
        with CaptureQueriesContext(
            connection,
        ) as preview:
            post(engineer, "price-sheet-preview", lines=lines)
        with CaptureQueriesContext(connection) as saving:
            save(engineer, lines=lines, name=f"Box {count}")
        sheet = PriceSheet.objects.get(name=f"Box {count}")
        with CaptureQueriesContext(connection) as page:
            engineer.get(reverse("price-sheet", args=[sheet.pk]))
        with CaptureQueriesContext(connection) as editor:
            assertContains(engineer.get(reverse("price-sheet-revise", args=[sheet.pk])), f'value="Part {count - 1}"')
        return [len(queries) for queries in (preview, saving, page, editor)]

    assert query_counts(1) == query_counts(300)
    assert PriceSheetLine.objects.count() == 301


def test_more_rows_than_a_form_takes_are_never_dropped_in_silence(engineer, monkeypatch):
    monkeypatch.setattr(row_set, "MOST_ROWS", 1)
    answer = save(engineer, discounts=[])
    assertContains(answer, "A form takes 1 rows at most")
    assertContains(answer, 'name="lines-count" value="2"')  # so that the next attempt is refused as well
    assert answer.context["draft"].problems == ["Line: a form takes 1 rows at most, and there are more."]
    assert not PriceSheet.objects.exists()


def test_what_is_typed_as_markup_is_shown_as_text(engineer):
    answer = post(engineer, lines=[{**LINES[0], "description": '"><script>x</script>', "quantity": "<b>"}])
    assertNotContains(answer, "<script>x")
    assertContains(answer, "&lt;script&gt;x")
