"""The test of an instance on its page: who may ask for it, and what it says."""

import pytest
from django.db.models.functions import Now
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.plan.warnings import _tests as warnings_from_tests
from benchhub.catalog.models import Host, Inspection

pytestmark = pytest.mark.django_db
PAGE_QUERIES = 7  # session, user, role, instance with its test, hosts, whether there are drivers, which
FINE = {
    "version": "18.0", "version_num": 180000, "schema": "public", "may_create": True, "is_superuser": True,
    "sessions": 0, "other_tables": 0, "free_bytes": 2**40, "statements": 0, "a_field_of_another_release": 1,
    "settings": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "100"},
}  # fmt: skip


@pytest.fixture
def system():
    return testing.make_system("18", testing.make_host(), testing.make_box())


@pytest.fixture
def instance(system):
    return system.instance


def inspected(instance, **fields):
    fields = {"driver": instance.host, "is_wanted": False, "seen_at": Now(), "sight": FINE} | fields
    return Inspection.objects.create(instance=instance, **fields)


def page_of(instance):
    return reverse("instance-test", args=[instance.pk])


def ask(client, instance, driver):
    return client.post(reverse("instance-test-ask", args=[instance.pk]), {"driver": driver.pk})


def test_a_test_is_asked_for_once_and_the_page_waits_for_it(admin_client, instance):
    inspected(instance)
    assertRedirects(ask(admin_client, instance, instance.host), page_of(instance))
    row = Inspection.objects.get()
    assert (row.is_wanted, row.sight, row.seen_at) == (True, None, None)
    page = admin_client.get(page_of(instance))
    assertContains(page, f"A worker logs in from {instance.host}")
    assertNotContains(page, "Runs can use it")


def test_a_server_in_order_is_said_to_be_usable(admin_client, instance):
    inspected(instance)
    assertContains(admin_client.get(page_of(instance)), "Runs can use it.</h2>")


def test_what_would_make_runs_fail_comes_before_the_lines(admin_client, instance):
    inspected(instance, sight=FINE | {"may_create": False})
    page = admin_client.get(page_of(instance))
    assertContains(page, "Runs would fail: 1 thing to mend.</h2>")
    assertContains(page, "It may not create tables in the schema public.")


def test_a_driver_that_could_not_look_is_no_verdict_on_the_server(admin_client, instance):
    inspected(instance, sight=None, seen_at=None, contact_error="It timed out.")
    page = admin_client.get(page_of(instance))
    assertContains(page, "It timed out.")
    assertNotContains(page, "Runs can use it")


def test_a_text_of_a_server_is_shown_as_text(admin_client, instance):
    inspected(instance, sight={"errors": "FATAL: <script>alert(1)</script>"})
    assertNotContains(admin_client.get(page_of(instance)), "<script>alert")


def test_only_hosts_that_are_trusted_and_permitted_can_be_chosen(client, instance):
    other = testing.make_host("other", "192.0.2.7")
    strange = testing.make_host("strange", "192.0.2.8")
    Host.objects.filter(pk=strange.pk).update(trust=Host.Trust.OFFERED)
    client.force_login(make_user("rosa", Role.RUNNER, instance.host))
    for driver in (other, strange):
        assert "Choose a host of the list." in ask(client, instance, driver).content.decode()
    assert not Inspection.objects.exists()
    assertRedirects(ask(client, instance, instance.host), page_of(instance))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_nobody_without_a_permit_asks_and_no_button_offers_it(client, instance, role):
    client.force_login(
        make_user("vera", role, *([testing.make_host("other", "192.0.2.7")] if role == Role.RUNNER else []))
    )
    assert ask(client, instance, instance.host).status_code == 403
    assertNotContains(client.get(page_of(instance)), "instance-test-ask")
    assert not Inspection.objects.exists()


def test_the_number_of_queries_does_not_depend_on_what_was_seen(admin_client, instance, django_assert_num_queries):
    inspected(instance)
    admin_client.get(page_of(instance))
    with django_assert_num_queries(PAGE_QUERIES):
        admin_client.get(page_of(instance))


def test_a_plan_warns_of_a_server_whose_last_test_failed_and_of_no_other(system):
    row = inspected(system.instance, sight=FINE | {"may_create": False})
    assert list(warnings_from_tests([system])) == [
        f"The last test of {system.instance} failed at its rights: It may not create tables in the schema public."
    ]
    Inspection.objects.filter(pk=row.pk).update(sight=FINE)
    assert list(warnings_from_tests([system])) == []
    Inspection.objects.filter(pk=row.pk).update(is_wanted=True, sight=None)
    assert list(warnings_from_tests([system])) == []
