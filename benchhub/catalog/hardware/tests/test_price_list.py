"""Prices as CSV: all of a text become prices, or none with each fault named."""

from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.catalog.hardware.price_list import save
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice

pytestmark = pytest.mark.django_db
HEAD = "hardware;licence;Description;amount;currency;priced on;source\n"


def post(engineer, text):
    return engineer.post(reverse("prices-import"), {"text": text})


def test_a_list_of_prices_is_imported_with_the_names_of_what_they_are_of(engineer, box):
    LicenceModel.objects.create(name="Per core", metric="core")
    text = f"\ufeff{HEAD}{box.name};;Box;15000.50;eur;2026-01-31;a quote\n\n;Per core;Core;1800;EUR;2026-02-01;a list\n"
    assertRedirects(post(engineer, text), reverse("prices"))
    machine, licence = ListPrice.objects.order_by("priced_on")
    assert (machine.hardware, machine.amount, machine.currency) == (box, Decimal("15000.50"), "EUR")
    assert (licence.licence_model.name, licence.priced_on, licence.source) == ("Per core", date(2026, 2, 1), "a list")


def test_where_a_row_is_wrong_every_fault_is_named_what_was_typed_stays_and_nothing_is_saved(engineer, box):
    good = f"{box.name};;Box;15000;EUR;2026-01-31;a quote\n"
    wrong = f"Nowhere;;x;1;EUR;2026-01-31;s\n;;x;1;EUR;2026-01-31;s\n{box.name};;y;-1;EUR;31.1.2026;s\n"
    page = post(engineer, HEAD + good + wrong + good)
    assertContains(page, "Line 3: There is no hardware &#x27;Nowhere&#x27;")
    assertContains(page, "Line 4: Name one hardware or one licence.")
    assertContains(page, "Line 5: amount: A price cannot be negative.")
    assertContains(page, "Line 5: priced_on: ")
    assertContains(page, "Line 6: description: The list has this line for it already")
    assertContains(page, "31.1.2026")
    assert not ListPrice.objects.exists()


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
        ("15.000;EUR", "2026-01-31", "Line 2: amount: 15.000 may be meant as 15000: write 15000, 15000.00 or 15.0000."),
        ("1.234.567;EUR", "2026-01-31", "Line 2: amount: "),
        ("15,000;EUR", "2026-01-31", "Line 2: amount: "),
        ("1;E1R", "2026-01-31", "Line 2: currency: "),
        ("1;EUR", "03/04/2026", "Line 2: priced_on: Write a day as year-month-day, such as 2026-01-31."),
    ],
)
def test_numbers_and_days_that_countries_read_differently_are_refused(engineer, box, amount, day, sentence):
    assertContains(post(engineer, f"{HEAD}{box.name};;Box;{amount};{day};a quote\n"), sentence)
    assert not ListPrice.objects.exists()


def test_thousandths_of_less_than_1_are_no_thousands(engineer, box):
    post(engineer, f"{HEAD}{box.name};;Hour;0.125;EUR;2026-01-31;a quote\n")
    assert ListPrice.objects.get().amount == Decimal("0.125")


def test_two_machines_of_a_quote_may_have_the_same_description(engineer, box):
    Hardware.objects.create(name="Crate", sockets=1, cores_per_socket=4)
    line = "Server;15000;EUR;2026-01-31;a quote\n"
    assertRedirects(post(engineer, f"{HEAD}{box.name};;{line}Crate;;{line}"), reverse("prices"))
    assert set(ListPrice.objects.values_list("hardware__name", flat=True)) == {"Box", "Crate"}
    assertContains(post(engineer, f"{HEAD}Crate;;{line}"), "Line 2: description: The list has this line for it already")


def test_many_prices_take_as_many_statements_as_one(box, django_assert_num_queries):
    def text(day, rows):
        return HEAD + "".join(f"{box.name};;Box {row};1;EUR;{day};a quote\n" for row in range(rows))

    for day, rows in (("2026-01-30", 1), ("2026-01-31", 40)):
        # Hardware, licences, the prices there are, a savepoint set and released, the prices that are new.
        with django_assert_num_queries(6):
            save(text(day, rows))


def test_a_text_of_endless_columns_is_refused_in_few_sentences():
    with pytest.raises(ValidationError) as refusal:
        save(f"{','.join(f'c{number}' for number in range(5000))}\nx\n")
    assert len(refusal.value.messages) < 40 and "4,980 more columns" in refusal.value.messages[-1]
