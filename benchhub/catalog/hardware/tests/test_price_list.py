"""Prices as CSV: all of a text become prices, or none with each fault named."""

from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.catalog.hardware.prices.page import price_list_page
from benchhub.catalog.hardware.prices.price_list import PriceList, PriceListForm
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from benchhub.catalog.shared.forms import MEANWHILE

pytestmark = pytest.mark.django_db
HEAD = "hardware;licence;Description;amount;currency;priced on;source\n"


def post(engineer, text, **fields):
    return engineer.post(reverse("prices-import"), {"text": text, **fields})


def post_twice(engineer, text):
    """Press the button that shows what becomes of the text, then the one that imports it."""
    return post(engineer, text, seen_digest=post(engineer, text).context["page"].digest)


def test_a_list_of_prices_is_imported_with_the_names_of_what_they_are_of(engineer, box):
    LicenceModel.objects.create(name="Per core", metric="core")
    text = f"\ufeff{HEAD}{box.name};;Box;15000.50;eur;2026-01-31;a quote\n\n;Per core;Core;1800;EUR;2026-02-01;a list\n"
    assertRedirects(post_twice(engineer, text), reverse("prices"))
    machine, licence = ListPrice.objects.order_by("priced_on")
    assert (machine.hardware, machine.amount, machine.currency) == (box, Decimal("15000.50"), "EUR")
    assert (licence.licence_model.name, licence.priced_on, licence.source) == ("Per core", date(2026, 2, 1), "a list")


def test_where_a_row_is_wrong_every_fault_is_named_what_was_typed_stays_and_nothing_is_saved(engineer, box):
    good = f"{box.name};;Box;15000;EUR;2026-01-31;a quote\n"
    wrong = f"Nowhere;;x;abc;EUR;2026-01-31;s\n;;x;1;EUR;2026-01-31;s\n{box.name};;y;-1;EUR;31.1.2026;s\n"
    page = post_twice(engineer, HEAD + good + wrong + good)
    faults = {line.number: " ".join(line.faults) for line in page.context["page"].price_list.refused}
    assert faults.keys() == {3, 4, 5, 6}
    assert faults[3].startswith("There is no hardware 'Nowhere'") and "amount: Enter a number." in faults[3]
    assert faults[4] == "Name one hardware or one licence."
    assert "amount: A price cannot be negative." in faults[5] and "priced_on: " in faults[5]
    assert faults[6] == "Line 2 has the same description, source and day."
    assertContains(page, "1 price is new. 4 lines are refused.")
    assertContains(page, "There is no hardware &#x27;Nowhere&#x27;")
    assertContains(page, "31.1.2026;s")
    assert not ListPrice.objects.exists()


def test_what_becomes_of_each_line_is_shown_before_anything_is_saved(engineer, box):
    text = f"{HEAD}{box.name};;Box;15000;EUR;2026-01-31;a quote\n"
    page = post(engineer, text)
    assertContains(page, "1 price is new.")
    assertContains(page, "Import 1 price</button>")
    assert not ListPrice.objects.exists()
    changed = post(engineer, text.replace("15000", "16000"), seen_digest=page.context["page"].digest)
    assertContains(changed, "Nothing is saved yet.")  # the reader has not seen this text
    assert not ListPrice.objects.exists()


def test_a_list_that_has_grown_adds_what_is_new_and_leaves_what_is_there(engineer, box):
    first = f"{box.name};;Box;15000;EUR;2026-01-31;a quote\n"
    post_twice(engineer, HEAD + first)
    page = post(engineer, HEAD + first)
    assertContains(page, "1 price is in the list already. There is nothing to import.")
    second = first.replace("Box;15000", "Disk;900")
    assertRedirects(post_twice(engineer, HEAD + first + second), reverse("prices"))
    prices = ListPrice.objects.order_by("pk").values_list("description", "amount")
    assert list(prices) == [("Box", 15000), ("Disk", 900)]


def test_a_price_that_somebody_else_saved_between_look_and_press_is_told_and_the_text_stays(box, django_user_model):
    day = date(2026, 1, 31)
    text = f"{HEAD}{box.name};;Box;15000;EUR;{day};a quote\n{box.name};;Disk;900;EUR;{day};a quote\n"
    form = PriceListForm({"text": text})
    assert form.is_valid()
    ListPrice.objects.create(
        hardware=box, description="Box", amount=15000, currency="EUR", priced_on=day, source="a quote"
    )
    assert form.saved(django_user_model.objects.create_user("ada")) == []
    assert form.non_field_errors() == [MEANWHILE]
    assert form["text"].value() == text
    page = price_list_page(form, is_read=True)
    assert [line.is_there for line in page.price_list.lines] == [True, False]
    assert (page.action, page.digest) == ("Import 1 price", form.digest)
    assert ListPrice.objects.count() == 1


def test_a_line_that_the_list_has_at_another_price_is_refused(engineer, box):
    line = f"{box.name};;Box;15000;EUR;2026-01-31;a quote\n"
    post_twice(engineer, HEAD + line)
    [refused] = post(engineer, HEAD + line.replace("15000", "14000.50")).context["page"].price_list.refused
    [fault] = refused.faults
    assert fault.startswith("The list has 15,000.00 EUR for this description, source and day")
    [refused] = post(engineer, HEAD + line.replace("EUR", "USD")).context["page"].price_list.refused
    assert refused.faults == (fault,)


def test_a_line_that_the_list_has_with_another_remark_says_that_the_remark_is_not_taken_over(engineer, box):
    head = HEAD.replace("\n", ";part number;remark\n")
    line = f"{box.name};;Box;15000;EUR;2026-01-31;a quote"
    post_twice(engineer, f"{head}{line};A-1;\n")
    texts = []
    for more in (";;", ";A-1;", ";A-1;with taxes", ";A-2;with taxes"):
        page = post(engineer, f"{head}{line}{more}\n")
        texts += [row.ignored_text for row in page.context["page"].price_list.there]
    assert texts == ["", "", "The list keeps its own remark.", "The list keeps its own part number and remark."]
    assertContains(page, texts[-1])
    assert ListPrice.objects.get().remark == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hardware,amount\nBox,1", "The first line lacks the column description."),
        (HEAD, "Write 1 to 500 prices below the names of the columns."),
        (HEAD.replace("source", "source;colour") + "Box", "There is no column &#x27;colour&#x27;"),
        (HEAD + "a;b;c;d;e;f;g;h", "Line 2 has 8 cells for 7 columns"),
        (HEAD + '"Box', "Look for a quote that is not closed."),
    ],
)
def test_a_text_that_is_no_list_of_prices_is_refused_with_what_to_do(engineer, text, sentence):
    assertContains(post(engineer, text), sentence)
    assert not ListPrice.objects.exists()


@pytest.mark.parametrize(
    ("amount", "day", "sentence"),
    [
        ("15.000;EUR", "2026-01-31", "amount: 15.000 may be meant as 15000: write 15000, 15000.00 or 15.0000."),
        ("1.234.567;EUR", "2026-01-31", "amount: "),
        ("15,000;EUR", "2026-01-31", "amount: "),
        ("1;E1R", "2026-01-31", "currency: "),
        ("1;EUR", "03/04/2026", "priced_on: Write a day as year-month-day, such as 2026-01-31."),
    ],
)
def test_numbers_and_days_that_countries_read_differently_are_refused(engineer, box, amount, day, sentence):
    assertContains(post(engineer, f"{HEAD}{box.name};;Box;{amount};{day};a quote\n"), sentence)
    assert not ListPrice.objects.exists()


def test_thousandths_of_less_than_1_are_no_thousands(engineer, box):
    post_twice(engineer, f"{HEAD}{box.name};;Hour;0.125;EUR;2026-01-31;a quote\n")
    assert ListPrice.objects.get().amount == Decimal("0.125")


def test_two_machines_of_a_quote_may_have_the_same_description(engineer, box):
    Hardware.objects.create(name="Crate", sockets=1, cores_per_socket=4)
    line = "Server;15000;EUR;2026-01-31;a quote\n"
    assertRedirects(post_twice(engineer, f"{HEAD}{box.name};;{line}Crate;;{line}"), reverse("prices"))
    assert set(ListPrice.objects.values_list("hardware__name", flat=True)) == {"Box", "Crate"}
    assertContains(post(engineer, f"{HEAD}Crate;;{line}"), "1 price is in the list already.")


def test_many_prices_take_as_many_statements_as_one(box, django_user_model, django_assert_num_queries):
    user = django_user_model.objects.create_user("ada")

    def text(day, rows):
        return HEAD + "".join(f"{box.name};;Box {row};1;EUR;{day};a quote\n" for row in range(rows))

    for day, rows in (("2026-01-30", 1), ("2026-01-31", 40)):
        # Hardware, licences, the prices there are, a savepoint set and released, the import, the prices that are new.
        with django_assert_num_queries(7):
            PriceList.read(text(day, rows)).save(user)


def test_a_text_of_endless_columns_is_refused_in_few_sentences():
    with pytest.raises(ValidationError) as refusal:
        PriceList.read(f"{','.join(f'c{number}' for number in range(5000))}\nx\n")
    assert len(refusal.value.messages) < 40 and "4,980 more columns" in refusal.value.messages[-1]
