"""Hardware that is filled in with what the probe of a host saw."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.catalog.hosts.page import bought_and_found
from benchhub.catalog.models import Hardware, Host

pytestmark = pytest.mark.django_db
BOX = {"name": "Box", "sockets": "2", "cores_per_socket": "10", "threads_per_core": "2"}


def test_hardware_is_filled_in_with_what_the_probe_saw_and_given_to_the_host(engineer, probed):
    page = f"{reverse('hardware-add')}?host={probed.pk}"
    initial = engineer.get(page).context["page"].form.initial
    assert (initial["sockets"], initial["cores_per_socket"], initial["memory_gib"]) == (1, 8, 64)
    assertRedirects(engineer.post(page, BOX), reverse("host", args=[probed.pk]))
    assert Host.objects.get().hardware.name == "Box"


@pytest.mark.parametrize(
    "signs",
    [
        {"virtualization": ["lxc"]},
        {"cpu": {"cpus": 16, "hypervisor": "KVM"}},
        {"cpu": {"cpus": 64, "cpus_allowed": 16, "hypervisor": "KVM"}},
        {"cpu": {"cpus": 16}, "architecture": "s390x"},
        {"dmi": {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "cpu": {"cpus": 16}},
    ],
)
def test_what_a_guest_sees_is_never_offered_as_bought(engineer, probed, signs):
    Host.objects.update(facts={**probed.facts, **signs})
    answer = engineer.get(reverse("hardware-add"), {"host": probed.pk})
    initial = answer.context["page"].form.initial
    assert (initial["vm_vcpus"], initial["vm_memory_gib"]) == (16, 64)
    assert [initial.get(name) for name in ("sockets", "cores_per_socket", "threads_per_core", "memory_gib")] == [
        None
    ] * 4
    assertContains(answer, "what was bought it cannot see")


def test_a_machine_of_bare_metal_at_a_cloud_is_no_guest(engineer, probed):
    dmi = {"sys_vendor": "Amazon EC2", "product_name": "m5.metal"}
    Host.objects.update(facts={**probed.facts, "dmi": dmi})
    initial = engineer.get(reverse("hardware-add"), {"host": probed.pk}).context["page"].form.initial
    assert (initial["sockets"], "vm_vcpus" in initial) == (1, False)


def test_a_shape_that_does_not_add_up_is_neither_offered_nor_shown(engineer, probed):
    cpu = {"cpus": 20, "sockets": 1, "cores_per_socket": 14, "threads_per_core": 2}
    Host.objects.update(facts={**probed.facts, "cpu": cpu})
    initial = engineer.get(reverse("hardware-add"), {"host": probed.pk}).context["page"].form.initial
    assert (initial["sockets"], initial["cores_per_socket"]) == (None, None)
    facts = {fact.name: fact.value for fact in engineer.get(reverse("host", args=[probed.pk])).context["page"].facts}
    assert (facts["CPUs"], "Sockets" in facts, "Cores per socket" in facts) == (20, False, False)


HYBRID = {
    "cpus": 20, "cores": 14, "sockets": 1, "cores_per_socket": 14,
    "core_kinds": [{"name": "performance", "cores": 6, "cpus": 12}, {"name": "efficiency", "cores": 8, "cpus": 8}],
}  # fmt: skip


def test_unlike_cores_are_counted_and_no_number_of_threads_is_that_of_all(engineer, probed):
    Host.objects.update(facts={**probed.facts, "cpu": HYBRID})
    initial = engineer.get(reverse("hardware-add"), {"host": probed.pk}).context["page"].form.initial
    assert [initial.get(name) for name in ("sockets", "cores_per_socket", "threads_per_core")] == [1, 14, None]
    facts = {fact.name: fact.value for fact in engineer.get(reverse("host", args=[probed.pk])).context["page"].facts}
    assert (facts["CPUs"], facts["Cores"], facts["Sockets"], "Threads per core" in facts) == (20, 14, 1, False)
    assert facts["Kinds of cores"] == "6 performance and 8 efficiency"


def test_cores_are_not_offered_while_cpus_are_offline(engineer, probed):
    cpu = {"cpus": 4, "cores": 4, "sockets": 1, "cores_per_socket": 4, "threads_per_core": 1, "cpus_offline": 4}
    Host.objects.update(facts={**probed.facts, "cpu": cpu})
    answer = engineer.get(reverse("hardware-add"), {"host": probed.pk})
    assert answer.context["page"].form.initial["cores_per_socket"] is None
    assertContains(answer, "are offline")


@pytest.mark.parametrize("key", ["9" * 5000, "9" * 30, "x", "0"])
def test_an_address_that_names_no_host_gives_an_empty_form(engineer, probed, key):
    assert engineer.get(reverse("hardware-add"), {"host": key}).context["page"].form.initial.get("sockets") is None


def test_sockets_with_unlike_cores_are_shown_and_offered_one_by_one(engineer, probed):
    cpu = {"cpus": 24, "cores": 12, "sockets": 2, "threads_per_core": 2, "socket_cores": [8, 4]}
    Host.objects.update(facts={**probed.facts, "cpu": cpu})
    initial = engineer.get(reverse("hardware-add"), {"host": probed.pk}).context["page"].form.initial
    names = ("sockets", "cores_per_socket", "threads_per_core", "unlike_cores")
    assert [initial[name] for name in names] == [2, 8, 2, "8, 4"]
    facts = {fact.name: fact.value for fact in engineer.get(reverse("host", args=[probed.pk])).context["page"].facts}
    assert (facts["Sockets"], facts["Cores"], facts["Cores of each socket"]) == (2, 12, "8, 4")
    assert "Cores per socket" not in facts


@pytest.mark.parametrize("cores", [[8, 8], [8], "8, 4", [8, -4], [8, 4, 4], [{}]])
def test_unlike_sockets_that_do_not_add_up_are_not_shown(engineer, probed, cores):
    cpu = {"cpus": 24, "cores": 12, "sockets": 2, "threads_per_core": 2, "socket_cores": cores}
    Host.objects.update(facts={**probed.facts, "cpu": cpu})
    facts = {fact.name for fact in engineer.get(reverse("host", args=[probed.pk])).context["page"].facts}
    assert "Cores of each socket" not in facts


def test_unlike_sockets_are_held_against_what_was_bought(probed):
    cpu = {"cpus": 24, "cores": 12, "sockets": 2, "threads_per_core": 2, "socket_cores": [8, 4]}
    probed.facts = {**probed.facts, "cpu": cpu}
    bought = {"name": "Bought", "sockets": 2, "cores_per_socket": 8, "threads_per_core": 2}
    probed.hardware = Hardware(**bought, unlike_cores=[4, 8])
    assert bought_and_found(probed) == []
    probed.hardware = Hardware(**bought)
    [row] = [row for row in bought_and_found(probed) if row.differs]
    assert (row.name, row.bought, row.probed) == ("Cores of each socket", "8, 8", "8, 4")
