"""A list price that was wrong is taken back: its row stays, and prices nothing any more."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.accounts.models import Entry
from benchhub.catalog.hardware.prices.price_list import PriceList
from benchhub.catalog.hardware.prices.taking_back import ALREADY
from benchhub.catalog.hardware.testing import make_price
from benchhub.catalog.models import ListPrice

pytestmark = pytest.mark.django_db
HEAD = "hardware,description,amount,currency,priced_on,source\n"


def imported(box, *descriptions):
    """Import a price of 10 EUR by each description, as grace."""
    user = get_user_model().objects.get_or_create(username="grace")[0]
    rows = "".join(f"{box.name},{text},10,EUR,2026-01-31,a quote\n" for text in descriptions)
    return PriceList.read(HEAD + rows).save(user)


def refused(action):
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        action()


def test_a_price_that_is_taken_back_stays_struck_in_the_list_with_who_and_prices_nothing(engineer, box):
    old, new = make_price(box, priced_on="2026-01-01"), make_price(box, priced_on="2026-02-01")
    address = reverse("price-take-back", args=[new.pk])
    assertContains(engineer.get(address), "no price is computed from it any more")
    assert ListPrice.objects.in_force().count() == 2  # to ask takes nothing back
    assertRedirects(engineer.post(address, {"scope": "price"}), reverse("prices"))
    page = engineer.get(reverse("prices"), {"state": "taken-back"})
    assertContains(page, "by ada</span>")
    assertContains(page, f"<s>{new.description}</s>")
    assert list(ListPrice.objects.of_hardware([box])) == [old]
    entry = Entry.objects.get(action="price take back")
    assert (entry.username, entry.detail) == ("ada", f"Taken back: {new}.")


def test_the_question_writes_the_amount_with_its_thousands(engineer, box):
    price = make_price(box, amount=2400)
    assertContains(engineer.get(reverse("price-take-back", args=[price.pk])), "2,400.00 EUR")


def test_an_import_is_taken_back_as_a_whole_but_for_what_was_taken_back_before(engineer, box):
    wrong, first, second = imported(box, "Disk", "Rack", "Fan")
    others = [make_price(box), *imported(box, "Cable")]
    ListPrice.objects.filter(pk=wrong.pk).take_back(get_user_model().objects.get(username="grace"))
    address = reverse("price-take-back", args=[first.pk])
    assertContains(engineer.get(address), "all 2 prices in force of the import by grace on")
    page = engineer.post(address, {"scope": "import"}, follow=True)
    assertContains(page, "Taken back: 2 prices of the import by grace on")
    rows = ListPrice.objects.exclude(taken_back_at=None).order_by("pk").values_list("pk", "taken_back_by__username")
    assert list(rows) == [(wrong.pk, "grace"), (first.pk, "ada"), (second.pk, "ada")]
    assert list(ListPrice.objects.in_force().order_by("pk")) == others


def test_the_rest_of_an_import_is_taken_back_from_the_page_of_a_price_that_was_before(engineer, box):
    wrong, first, second = imported(box, "Disk", "Rack", "Fan")
    address = reverse("price-take-back", args=[wrong.pk])
    engineer.post(address, {"scope": "price"})
    assertContains(engineer.get(address), "all 2 prices in force of the import")
    assertContains(engineer.post(address, {"scope": "import"}, follow=True), "Taken back: 2 prices of the import")
    assertContains(engineer.get(address, follow=True), ALREADY)
    assert not ListPrice.objects.in_force().filter(pk__in=[first.pk, second.pk]).exists()


def test_a_price_is_taken_back_once_and_can_be_added_again(engineer, box):
    [price] = imported(box, "Disk")
    address = reverse("price-take-back", args=[price.pk])
    engineer.post(address, {"scope": "price"})
    before = ListPrice.objects.get()
    assertContains(engineer.post(address, {"scope": "price"}, follow=True), ALREADY)
    assertContains(engineer.get(address, follow=True), ALREADY)
    assert ListPrice.objects.get().taken_back_at == before.taken_back_at
    [again] = imported(box, "Disk")
    assert list(ListPrice.objects.in_force()) == [again]


def test_a_price_that_came_alone_has_no_import_to_take_back(engineer, box):
    price = make_price(box)
    page = engineer.post(reverse("price-take-back", args=[price.pk]), {"scope": "import"})
    assert page.context["page"].form.errors
    assert ListPrice.objects.in_force().count() == 1


def test_nothing_but_taking_back_changes_a_price_and_that_only_once(engineer, box):
    price = make_price(box)
    user = get_user_model().objects.get(username="ada")
    rows, mark = ListPrice.objects.filter(pk=price.pk), {"taken_back_at": timezone.now(), "taken_back_by": user}
    refused(lambda: rows.update(amount=1, **mark))
    assert rows.take_back(user) == 1
    refused(lambda: rows.update(taken_back_at=None, taken_back_by=None))
    refused(lambda: rows.update(taken_back_at=timezone.now()))
    refused(price.delete)
