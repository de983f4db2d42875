from decimal import Decimal

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.catalog.hardware.testing import add_price, make_price
from benchhub.catalog.models import ExchangeRate, Hardware, Host, LicenceModel
from benchhub.catalog.templatetags.catalogue import gib, money, taken_off

pytestmark = pytest.mark.django_db
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
    assert list(answer.context["page"].form.errors) == [field]
    assertContains(answer, "As bought.")
    assert not Hardware.objects.exists()


def test_hardware_keeps_its_virtual_machine_apart_from_what_was_bought(engineer):
    typed = {"processor": "POWER8", "disabled_cores_per_socket": "2", "vm_vcpus": "160", "vm_memory_gib": "128"}
    engineer.post(reverse("hardware-add"), {**BOX, **typed})
    machine = Hardware.objects.get().machine()
    assert (machine.sockets, machine.socket_cores(True), machine.socket_cores(False)) == (2, [10, 10], [8, 8])
    assert (machine.processor, machine.memory_gb) == ("POWER8", 256)
    assert (machine.vm.vcpus, machine.vm.memory_gb, machine.vm.smt) == (160, 128, False)
    assertContains(engineer.get(reverse("hardware-list")), "virtual machine of 160 vCPUs")


def test_sockets_with_unlike_cores_are_typed_one_by_one_and_shown(engineer):
    typed = {"cores_per_socket": "16", "unlike_cores": "16, 8"}
    assertRedirects(engineer.post(reverse("hardware-add"), {**BOX, **typed}), reverse("hardware-list"))
    box = Hardware.objects.get()
    assert (box.unlike_cores, box.cores, box.threads) == ([16, 8], 24, 48)
    assert box.machine().socket_cores(True) == [16, 8]
    assertContains(engineer.get(reverse("hardware-list")), "16, 8</td>")
    page = reverse("hardware-revise", args=[box.pk])
    assertContains(engineer.get(page), 'value="16, 8"')
    engineer.post(page, {**BOX, **typed, "unlike_cores": "16 16"})
    alike = Hardware.objects.current().get()
    assert (alike.unlike_cores, alike.cores) == ([], 32)
    assert not alike.is_same_thing(box)


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"unlike_cores": "16"}, "unlike_cores", "Write one number for each of 2 sockets, not 1 number."),
        ({"unlike_cores": "16, many"}, "unlike_cores", "Write whole numbers from 1"),
        ({"unlike_cores": "16, 0"}, "unlike_cores", "Write whole numbers from 1"),
        ({"unlike_cores": "16, " + "9" * 1_000}, "unlike_cores", "Write whole numbers from 1"),
        ({"unlike_cores": "16, 8"}, "cores_per_socket", "The largest socket has 16 cores by the list: write that."),
        (
            {"unlike_cores": "10, 2", "disabled_cores_per_socket": "2"},
            "disabled_cores_per_socket",
            "Write fewer than the smallest socket has cores.",
        ),
    ],
)
def test_cores_of_sockets_that_contradict_the_rest_are_refused_beside_the_field(engineer, typed, field, sentence):
    errors = engineer.post(reverse("hardware-add"), {**BOX, **typed}).context["page"].form.errors
    assert list(errors) == [field]
    assert sentence in errors[field][0]
    assert not Hardware.objects.exists()


def test_the_api_takes_and_gives_the_cores_of_each_socket(engineer):
    sent = {"name": "Box", "sockets": 2, "cores_per_socket": 16, "unlike_cores": "16, 8"}
    answer = engineer.post("/api/v1/hardware/", sent, content_type="application/json")
    assert (answer.status_code, answer.json()["unlike_cores"]) == (201, [16, 8])
    address = f"/api/v1/hardware/{answer.json()['id']}/revise/"
    answer = engineer.post(address, {"memory_gib": "512"}, content_type="application/json")
    assert (answer.status_code, answer.json()["unlike_cores"]) == (201, [16, 8])


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
    [(at, errors)] = engineer.post(reverse("hardware-add"), {**BOX, **typed}).context["page"].form.errors.items()
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
    errors = engineer.post(reverse("exchange-rate-add"), {**RATE, **typed}).context["page"].form.errors
    assert list(errors) == [field]
    assert not ExchangeRate.objects.exists()


def test_the_tabs_lead_to_all_four_lists_and_mark_the_entry_prices(engineer):
    for name in ("prices", "price-sheets", "licence-models", "exchange-rates"):
        answer = engineer.get(reverse(name))
        assertContains(answer, f'<a href="{reverse(name)}" aria-current="page">')
        assertContains(answer, '<summary aria-current="true">Prices</summary>')
        for other in ("price-sheets", "licence-models", "exchange-rates"):
            assertContains(answer, f'<a href="{reverse(other)}"')


def test_a_name_that_is_taken_is_refused_also_when_it_is_of_an_older_revision(engineer, box):
    box.revise(sockets=2)
    errors = engineer.post(reverse("hardware-add"), BOX).context["page"].form.errors
    assert errors == {"name": ["There is already one named Box: choose another name, or revise that one."]}


def test_a_revision_leaves_the_old_one_and_is_used_by_hosts_and_poolers_from_now_on(engineer, box, host):
    Host.objects.update(hardware=box)
    instance = testing.make_instance(host, "18", pooler="PgBouncer", pooler_hardware=box)
    page = reverse("hardware-revise", args=[box.pk])
    answer = engineer.get(page)
    assertContains(answer, "Saving makes revision 2")
    assertContains(answer, "1 host and 1 pooler")
    assertContains(answer, 'value="64.00"')
    assertRedirects(engineer.post(page, {**BOX, "name": "ignored", "memory_gib": "128"}), reverse("hardware-list"))
    old, new = Hardware.objects.order_by("revision")
    assert (old.sockets, old.retired_at is None) == (1, False)
    assert (new.name, new.revision, new.sockets, new.memory_bytes) == ("Box", 2, 2, 2**37)
    instance.refresh_from_db()
    assert (Host.objects.get().hardware, instance.pooler_hardware) == (new, new)


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
    make_price(Hardware.objects.get())

    def revised(**changes):
        pk = Hardware.objects.current().get().pk
        return engineer.post(reverse("hardware-revise", args=[pk]), {**BOX, **changes}, follow=True)

    noted = revised(remark="In rack 7")
    assertContains(noted, "It is the same machine: its prices and price sheets go on counting.")
    assertNotContains(noted, '<span class="missing">none</span>')
    grown = revised(sockets="4")
    assertContains(grown, "whose prices do not count for it: add its price.")
    assertContains(grown, '<span class="missing">none</span>')


def test_money_and_memory_are_written_plainly():
    assert money(Decimal("38364.0000"), "EUR") == "38,364.00 EUR"
    assert money(Decimal("0.1234"), "EUR") == "0.1234 EUR"
    assert [taken_off(Decimal(amount), "EUR") for amount in ("12.5", "-0.5", "0")] == ["−12.50 EUR", "+0.50 EUR", ""]
    assert money(Decimal("1200000")) == "1,200,000.00"
    assert [gib(2**38), gib(2**33 - 2**28), gib(None), gib(100 * 2**30)] == ["256", "7.75", "", "100"]


def test_columns_are_left_out_but_neither_the_first_nor_the_menu_of_a_row_and_the_address_keeps_them(engineer, box):
    page = engineer.get(reverse("hardware-list"), {"without": ["clock", "name", "actions", "nonsense"]})
    assertContains(page, '<table class="stack without-5">')
    assertContains(page, 'name="without" value="clock" checked', count=1)
    assertContains(page, " checked", count=1)
    assertContains(page, "sort=sockets")
    assert all("without=clock" in head.address for head in page.context["listing"].heads() if head.address)
    assert not page.context["listing"].is_narrowed
    assertContains(engineer.get(reverse("hardware-list")), '<table class="stack">')


def test_the_acts_of_a_row_stand_in_a_menu_that_is_named_after_it(engineer, box):
    page = engineer.get(reverse("hardware-list"))
    assertContains(page, f'popovertarget="menu-{box.pk}" aria-label="Change {box}"')
    assertContains(page, f'<div class="row-menu" id="menu-{box.pk}" popover>')
