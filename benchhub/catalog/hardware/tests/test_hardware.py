from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.models import ExchangeRate, Hardware, Host, LicenceModel, ListPrice
from benchhub.catalog.templatetags.catalogue import gib, money, taken_off

pytestmark = pytest.mark.django_db
REVISED_QUERIES = 5  # session, user, count, page, prices
PRICE_QUERIES = 4  # session, user, count, page
BOX = {
    "name": "Box",
    "sockets": "2",
    "cores_per_socket": "10",
    "threads_per_core": "2",
    "clock_ghz": "3.42",
    "memory_gib": "256",
    "disks": "4 x 300 GB",
    "remark": "As bought.",
}
PRICE = {
    "description": "Box with support",
    "amount": "38364.00",
    "currency": "eur",
    "priced_on": "2026-01-01",
    "source": "a quotation",
}


@pytest.fixture
def box():
    return Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8, memory_bytes=2**36)


def listed(hardware, **fields):
    values = {**PRICE, "amount": Decimal("100"), "currency": "EUR", "priced_on": date(2026, 1, 1), **fields}
    return ListPrice.objects.create(hardware=hardware, **values)


def add_price(client, item="", **changes):
    return client.post(reverse("price-add"), {**PRICE, "of": item, **changes})


def test_hardware_is_typed_with_its_memory_in_gib(engineer):
    assertRedirects(engineer.post(reverse("hardware-add"), BOX), reverse("hardware-list"))
    box = Hardware.objects.get()
    assert (box.sockets, box.cores, box.memory_bytes, box.clock_ghz) == (2, 20, 256 * 2**30, Decimal("3.42"))
    assertContains(engineer.get(reverse("hardware-list")), '<td class="n" data-label="GiB">256</td>', html=True)


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"sockets": "0"}, "sockets"),
        ({"cores_per_socket": ""}, "cores_per_socket"),
        ({"threads_per_core": "x"}, "threads_per_core"),
        ({"clock_ghz": "9999"}, "clock_ghz"),
        ({"memory_gib": "-1"}, "memory_gib"),
        ({"sockets": "99999999999"}, "sockets"),
    ],
)
def test_hardware_that_cannot_be_is_refused_beside_the_field(engineer, typed, field):
    answer = engineer.post(reverse("hardware-add"), {**BOX, **typed})
    assert list(answer.context["form"].errors) == [field]
    assertContains(answer, "As bought.")
    assert not Hardware.objects.exists()


def test_hardware_keeps_its_virtual_machine_apart_from_what_was_bought(engineer):
    typed = {"processor": "POWER8", "disabled_cores_per_socket": "2", "vm_vcpus": "160", "vm_memory_gib": "128"}
    engineer.post(reverse("hardware-add"), {**BOX, **typed})
    machine = Hardware.objects.get().machine()
    assert (machine.sockets, machine.counted_cores(True), machine.counted_cores(False)) == (2, 10, 8)
    assert (machine.processor, machine.memory_gb) == ("POWER8", 256)
    assert (machine.vm.vcpus, machine.vm.memory_gb, machine.vm.smt) == (160, 128, False)
    assertContains(engineer.get(reverse("hardware-list")), "virtual machine of 160 vCPUs")


def test_hardware_without_a_virtual_machine_has_none(engineer):
    engineer.post(reverse("hardware-add"), BOX)
    box = Hardware.objects.get()
    assert (box.machine().vm, box.vm_smt) == (None, True)


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"disabled_cores_per_socket": "10"}, "disabled_cores_per_socket", "fewer than the socket has"),
        ({"vm_memory_gib": "5"}, "vm_vcpus", "how many vCPUs"),
        ({"vm_vcpus": "0"}, "vm_vcpus", "greater than or equal to 1"),
    ],
)
def test_a_virtual_machine_that_cannot_be_is_refused(engineer, typed, field, sentence):
    [(at, errors)] = engineer.post(reverse("hardware-add"), {**BOX, **typed}).context["form"].errors.items()
    assert sentence in errors[0]
    assert at == field
    assert not Hardware.objects.exists()


def test_what_was_bought_stands_beside_what_was_found_where_they_differ(engineer, probed):
    """Report A: 2 sockets bought, and its virtual machine shows 4; here the probe saw 1 of 8 cores, 64 GiB."""
    page = reverse("host", args=[probed.pk])
    assertNotContains(engineer.get(page), "Bought and found differ")
    same = Hardware.objects.create(
        name="same", sockets=1, cores_per_socket=8, threads_per_core=2, memory_bytes=65 * 2**30
    )
    Host.objects.update(hardware=same)
    assertNotContains(engineer.get(page), "Bought and found differ")
    other = Hardware.objects.create(name="other", sockets=2, cores_per_socket=8, threads_per_core=2, vm_vcpus=16)
    Host.objects.update(hardware=other)
    answer = engineer.get(page)
    assertContains(answer, "Bought and found differ")
    assert [(row.name, row.bought, row.probed, row.differs) for row in answer.context["page"].differences] == [
        ("Sockets", 2, 1, True),
        ("Cores per socket", 8, 8, False),
        ("Threads per core", 2, 2, False),
        ("vCPUs of the virtual machine", 16, 16, False),
    ]


def test_the_help_of_an_amount_says_what_the_chosen_licence_is_paid_for(engineer, box):
    rules = {"payment": "perpetual", "pack": 2, "is_price_per_pack": True}
    model = LicenceModel.objects.create(name="Packs", metric="core", rules=rules)
    unit = reverse("price-unit")
    item = f"licence_model:{model.pk}"
    assertContains(engineer.get(unit, {"of": item}), "for a pack of 2 physical cores, for good, as the rules of")
    assertNotContains(engineer.get(unit, {"of": f"hardware:{box.pk}"}), "licence")
    assertContains(engineer.get(unit, {"of": "x"}), "Without VAT")
    page = engineer.get(reverse("price-add"), {"of": item})
    assertContains(page, "for a pack of 2 physical cores, for good")
    assertContains(page, "Packs (a pack of 2 physical cores, for good)")
    add_price(engineer, item)
    assertContains(engineer.get(reverse("prices")), "licence of a pack of 2 physical cores, for good")


RATE = {"base": "eur", "quoted": "USD", "value": "1.25", "priced_on": "2026-01-01", "source": "a bank"}


def test_an_exchange_rate_is_added_dated_and_sourced(engineer):
    assertContains(engineer.get(reverse("exchange-rates")), "No exchange rate yet</h2>")
    assertRedirects(engineer.post(reverse("exchange-rate-add"), RATE), reverse("exchange-rates"))
    rate = ExchangeRate.objects.get()
    assert (rate.base, rate.value) == ("EUR", Decimal("1.25"))
    assertContains(engineer.get(reverse("exchange-rates"), {"q": "usd"}), "1.25")


@pytest.mark.parametrize(
    ("typed", "field"),
    [({"quoted": "EUR"}, "quoted"), ({"value": "0"}, "value"), ({"base": "E1R"}, "base"), ({"source": ""}, "source")],
)
def test_an_exchange_rate_that_cannot_be_is_refused_beside_the_field(engineer, typed, field):
    errors = engineer.post(reverse("exchange-rate-add"), {**RATE, **typed}).context["form"].errors
    assert list(errors) == [field]
    assert not ExchangeRate.objects.exists()


def test_the_tabs_lead_to_all_four_lists_and_mark_the_entry_prices(engineer):
    for name in ("prices", "price-sheets", "licence-models", "exchange-rates"):
        answer = engineer.get(reverse(name))
        assertContains(answer, f'<a href="{reverse(name)}" aria-current="page">')
        assertContains(answer, f'<a href="{reverse("prices")}" aria-current="page">')
        for other in ("price-sheets", "licence-models", "exchange-rates"):
            assertContains(answer, f'<a href="{reverse(other)}"')


def test_a_name_that_is_taken_is_refused_also_when_it_is_of_an_older_revision(engineer, box):
    box.revise(sockets=2)
    errors = engineer.post(reverse("hardware-add"), BOX).context["form"].errors
    assert errors == {"name": ["There is already one named Box: choose another name, or revise that one."]}


def test_a_revision_leaves_the_old_one_and_is_used_by_the_hosts_from_now_on(engineer, box, host):
    Host.objects.update(hardware=box)
    page = reverse("hardware-revise", args=[box.pk])
    answer = engineer.get(page)
    assertContains(answer, "Saving makes revision 2")
    assertContains(answer, "1 host")
    assertContains(answer, 'value="64.00"')
    assertRedirects(engineer.post(page, {**BOX, "name": "ignored", "memory_gib": "128"}), reverse("hardware-list"))
    old, new = Hardware.objects.order_by("revision")
    assert (old.sockets, old.retired_at is None) == (1, False)
    assert (new.name, new.revision, new.sockets, new.memory_bytes) == ("Box", 2, 2, 2**37)
    assert Host.objects.get().hardware == new


def test_a_revision_without_a_change_of_memory_keeps_its_bytes(engineer):
    odd = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8, memory_bytes=2**36 + 1)
    engineer.post(reverse("hardware-revise", args=[odd.pk]), {**BOX, "memory_gib": "64"})
    assert Hardware.objects.current().get().memory_bytes == 2**36 + 1


def test_a_revision_of_what_was_revised_meanwhile_is_refused_and_keeps_what_was_typed(engineer, box):
    box.revise(sockets=4)
    answer = engineer.post(reverse("hardware-revise", args=[box.pk]), BOX)
    assertContains(answer, "newer revision by now")
    assertContains(answer, "4 x 300 GB")
    assert Hardware.objects.count() == 2


def test_the_list_shows_current_revisions_first_and_older_ones_when_asked(engineer, box):
    box.revise(sockets=4)

    def revisions(**query):
        return [row.revision for row in engineer.get(reverse("hardware-list"), query).context["listing"].page]

    assert revisions() == [2]
    assert revisions(revisions="older") == [1]
    assert revisions(revisions="") == [2, 1]
    assertNotContains(engineer.get(reverse("hardware-list")), "Show all")


def test_a_revision_says_whether_the_old_prices_count_for_it(engineer):
    engineer.post(reverse("hardware-add"), BOX)
    listed(Hardware.objects.get())

    def revised(**changes):
        pk = Hardware.objects.current().get().pk
        return engineer.post(reverse("hardware-revise", args=[pk]), {**BOX, **changes}, follow=True)

    noted = revised(remark="In rack 7")
    assertContains(noted, "It is the same machine: its prices and price sheets go on counting.")
    assertNotContains(noted, '<span class="missing">none</span>')
    grown = revised(sockets="4")
    assertContains(grown, "whose prices do not count for it: add its price.")
    assertContains(grown, '<span class="missing">none</span>')


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
        ({"priced_on": "soon"}, "priced_on", "valid date"),
        ({"source": ""}, "source", "required"),
    ],
)
def test_a_price_that_cannot_be_is_refused_beside_the_field(engineer, box, typed, field, sentence):
    answer = add_price(engineer, f"hardware:{box.pk}", **typed) if "of" not in typed else add_price(engineer, **typed)
    [(at, errors)] = answer.context["form"].errors.items()
    assert at == field
    assert sentence in errors[0]
    assertContains(answer, "Box with support")
    assert not ListPrice.objects.exists()


def test_the_same_line_twice_is_refused_beside_the_field(engineer, box):
    add_price(engineer, f"hardware:{box.pk}")
    errors = add_price(engineer, f"hardware:{box.pk}", amount="1").context["form"].errors
    assert errors == {"description": ["The list has this line already: same description, source and day."]}
    assert ListPrice.objects.get().amount == Decimal("38364")


def test_a_price_can_be_followed_by_a_newer_one_but_not_edited(engineer, box):
    old = listed(box)
    initial = engineer.get(reverse("price-add"), {"after": old.pk}).context["form"].initial
    assert (initial["of"], initial["description"]) == (f"hardware:{box.pk}", "Box with support")
    assert not initial.keys() & {"amount", "priced_on"}
    assertNotContains(engineer.get(reverse("prices")), "Edit")


def test_prices_stand_newest_first_and_are_filtered(engineer, box):
    model = LicenceModel.objects.create(name="Per core", metric="core")
    listed(box, description="old", priced_on=date(2020, 1, 1))
    listed(box, description="new")
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
    errors = engineer.post(reverse("licence-model-add"), {**typed, "metric": "moon"}).context["form"].errors
    assert errors.keys() == {"name", "metric"}


def test_the_prices_of_a_licence_model_count_for_its_revisions_while_they_are_of_the_same(engineer):
    old = LicenceModel.objects.create(name="Per core", metric="core", product="A product")
    price = {**PRICE, "amount": Decimal(100), "currency": "EUR", "priced_on": date(2026, 1, 1)}
    ListPrice.objects.create(licence_model=old, **price)
    page = reverse("licence-model-revise", args=[old.pk])
    assertContains(engineer.get(page), "Its list prices go on while they are of one physical core, for a year.")
    answer = engineer.post(page, {"metric": "core", "product": "A product", "pack": "2"}, follow=True)
    assertNotContains(answer, "add one")
    assertContains(answer, "100.00 EUR")
    second = LicenceModel.objects.current().get()
    answer = engineer.post(reverse("licence-model-revise", args=[second.pk]), {"metric": "socket"}, follow=True)
    assertContains(answer, "A price is now of one occupied socket, for a year: add one.")
    assertNotContains(answer, "100.00 EUR")
    third = LicenceModel.objects.current().get()
    assert (third.name, third.revision, third.metric) == ("Per core", 3, "socket")
    row = ListPrice.objects.get()
    assert (row.licence_model, row.counts_for(second), row.counts_for(third)) == (old, True, False)


def test_money_and_memory_are_written_plainly():
    assert money(Decimal("38364.0000"), "EUR") == "38,364.00 EUR"
    assert money(Decimal("0.1234"), "EUR") == "0.1234 EUR"
    assert [taken_off(Decimal(amount), "EUR") for amount in ("12.5", "-0.5", "0")] == ["−12.50 EUR", "+0.50 EUR", ""]
    assert money(Decimal("1200000")) == "1,200,000.00"
    assert [gib(2**38), gib(2**33 - 2**28), gib(None), gib(100 * 2**30)] == ["256", "7.75", "", "100"]
