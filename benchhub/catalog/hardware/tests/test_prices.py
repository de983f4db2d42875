from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.hardware.testing import PRICE, add_price, make_price
from benchhub.catalog.models import LicenceModel, ListPrice

pytestmark = pytest.mark.django_db


def test_a_price_is_exact_and_its_currency_in_capitals(engineer, box):
    assertRedirects(add_price(engineer, f"hardware:{box.pk}"), reverse("prices"))
    price = ListPrice.objects.get()
    assert (price.hardware, price.amount, price.currency) == (box, Decimal("38364"), "EUR")
    assertContains(engineer.get(reverse("prices")), "38,364.00 EUR")


def test_a_price_of_a_later_day_is_said_to_count_from_then_on(engineer, box):
    add_price(engineer, f"hardware:{box.pk}", priced_on="2999-12-30")
    for name in ("prices", "hardware-list"):
        assertContains(engineer.get(reverse(name)), "from 2999-12-30")
    answer = engineer.post(
        reverse("price-add"), {**PRICE, "of": f"hardware:{box.pk}", "priced_on": "2999-12-31"}, follow=True
    )
    assertContains(answer, "It counts from 2999-12-31 on, not before.")


def test_a_price_of_today_is_not_said_to_be_of_a_later_day(engineer, box):
    today = timezone.now().date().isoformat()
    answer = engineer.post(reverse("price-add"), {**PRICE, "of": f"hardware:{box.pk}", "priced_on": today}, follow=True)
    assertContains(answer, today)
    assertNotContains(answer, f"from {today}")


def test_a_price_of_a_licence(engineer):
    model = LicenceModel.objects.create(name="Per core", metric="core")
    add_price(engineer, f"licence_model:{model.pk}")
    assert ListPrice.objects.get().licence_model == model


def test_a_price_of_a_thousandth_of_a_cent_is_kept_and_shown_to_the_digit(engineer):
    model = LicenceModel.objects.create(name="By the hour", metric="vcpu", rules={"payment": "hourly"})
    add_price(engineer, f"licence_model:{model.pk}", amount="0.00001234", currency="USD")
    assert ListPrice.objects.get().amount == Decimal("0.00001234")
    assert str(ListPrice.objects.get()).endswith("0.00001234 USD (2026-01-01)")
    assertContains(engineer.get(reverse("prices")), "0.00001234 USD")


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"of": ""}, "of", "required"),
        ({"of": "hardware:999"}, "of", "valid choice"),
        ({"amount": "-1"}, "amount", "cannot be negative"),
        ({"amount": "1,5"}, "amount", "number"),
        ({"amount": "1.234567891"}, "amount", "8 decimal places"),
        ({"currency": "E1R"}, "currency", "ISO 4217"),
        ({"priced_on": "soon"}, "priced_on", "year-month-day"),
        ({"source": ""}, "source", "required"),
    ],
)
def test_a_price_that_cannot_be_is_refused_beside_the_field(engineer, box, typed, field, sentence):
    answer = add_price(engineer, f"hardware:{box.pk}", **typed) if "of" not in typed else add_price(engineer, **typed)
    [(at, errors)] = answer.context["page"].form.errors.items()
    assert at == field
    assert sentence in errors[0]
    assertContains(answer, "Box with support")
    assert not ListPrice.objects.exists()


def test_the_same_line_twice_is_refused_beside_the_field(engineer, box):
    add_price(engineer, f"hardware:{box.pk}")
    errors = add_price(engineer, f"hardware:{box.pk}", amount="1").context["page"].form.errors
    assert errors == {"description": ["The list has this line for it already: same description, source and day."]}
    assert ListPrice.objects.get().amount == Decimal("38364")


def test_a_price_can_be_followed_by_a_newer_one_but_not_edited(engineer, box):
    old, before = make_price(box), timezone.now().date()
    initial = engineer.get(reverse("price-add"), {"after": old.pk}).context["page"].form.initial
    assert (initial["of"], initial["description"]) == (f"hardware:{box.pk}", "Box with support")
    assert "amount" not in initial
    assert before <= initial["priced_on"] <= timezone.now().date() and initial["priced_on"] != old.priced_on
    assertNotContains(engineer.get(reverse("prices")), "Edit")


def test_prices_stand_newest_first_and_are_filtered(engineer, box):
    model = LicenceModel.objects.create(name="Per core", metric="core")
    make_price(box, description="old", priced_on=date(2020, 1, 1))
    make_price(box, description="new")
    add_price(engineer, f"licence_model:{model.pk}", priced_on="2023-01-01", description="core")

    def descriptions(**query):
        return [row.description for row in engineer.get(reverse("prices"), query).context["listing"].page]

    assert descriptions() == ["new", "core", "old"]
    assert descriptions(kind="licence") == ["core"]
    assert descriptions(q="box new") == ["new"]


def test_a_licence_model_is_added_and_priced(engineer):
    typed = {"name": "Per core", "metric": "core", "product": "A product"}
    assertRedirects(engineer.post(reverse("licence-model-add"), typed), reverse("licence-models"))
    model = LicenceModel.objects.get()
    answer = engineer.get(reverse("licence-models"))
    assertContains(answer, f"{reverse('price-add')}?of=licence_model:{model.pk}")
    assertContains(answer, "per core")
    errors = engineer.post(reverse("licence-model-add"), {**typed, "metric": "moon"}).context["page"].draft.form.errors
    assert errors.keys() == {"name", "metric"}


def test_the_prices_of_a_licence_model_count_for_its_revisions_while_they_are_of_the_same(engineer):
    old = LicenceModel.objects.create(name="Per core", metric="core", product="A product")
    price = {**PRICE, "amount": Decimal(100), "currency": "EUR", "priced_on": date(2026, 1, 1)}
    ListPrice.objects.create(licence_model=old, **price)
    page = reverse("licence-model-revise", args=[old.pk])
    assertContains(engineer.get(page), "Its list prices carry over while a price buys one physical core, for a year.")
    answer = engineer.post(page, {"metric": "core", "product": "A product", "pack": "2"}, follow=True)
    assertNotContains(answer, "add one")
    assertContains(answer, "100.00 EUR")
    second = LicenceModel.objects.current().get()
    answer = engineer.post(reverse("licence-model-revise", args=[second.pk]), {"metric": "socket"}, follow=True)
    assertContains(answer, "A price now buys one occupied socket, for a year: add one.")
    assertNotContains(answer, "100.00 EUR")
    third = LicenceModel.objects.current().get()
    assert (third.name, third.revision, third.metric) == ("Per core", 3, "socket")
    row = ListPrice.objects.get()
    assert (row.licence_model, row.counts_for(second), row.counts_for(third)) == (old, True, False)
