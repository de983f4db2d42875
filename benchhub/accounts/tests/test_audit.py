"""The audit log says what was changed, of rights, secrets, hosts and links, and never a secret."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from benchhub.accounts import audit
from benchhub.accounts.models import Entry
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import PASSWORD, make_user, with_password
from benchhub.bench import testing
from benchhub.catalog.models import Host, Instance

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(with_password(make_user("ada", Role.ADMINISTRATOR)))
    return client


@pytest.fixture
def system():
    box = testing.make_box()
    return testing.make_system("18", testing.make_host(), box)


def details(action):
    return list(Entry.objects.filter(action=action).order_by("pk").values_list("detail", flat=True))


def everything():
    return repr(list(Entry.objects.values_list()))


def test_a_new_role_a_permit_and_a_password_are_named(admin, system):
    rosa, host = make_user("rosa", Role.VIEWER), Host.objects.get()
    sent = {"username": "rosa", "role": Role.RUNNER.value, "hosts": [host.pk], "password": PASSWORD, "is_active": "on"}
    sent["own_password"] = PASSWORD
    admin.post(reverse("user-edit", args=[rosa.pk]), sent)
    [detail] = details("user edit")
    assert "role: viewer" in detail and "-> runner" in detail
    assert f"hosts: {host.name}" in detail and "password set" in detail
    assert "own password" not in detail
    assert PASSWORD not in everything()


def test_what_an_instance_and_a_host_became_is_named(admin, system):
    Instance.objects.update(password="hush-hush")
    instance = Instance.objects.get()
    page = admin.get(reverse("instance-edit", args=[instance.pk])).context["page"].form
    values = {name: page[name].value() or "" for name in page.fields if name != "has_no_password"}
    admin.post(reverse("instance-edit", args=[instance.pk]), {**values, "address": "203.0.113.7", "password": "sssh"})
    [detail] = details("instance edit")
    assert f"address: {instance.address} -> 203.0.113.7" in detail and "password set" in detail
    assert "sssh" not in everything() and "hush-hush" not in everything()
    host = Host.objects.get()
    Host.objects.update(offered_host_key="ssh-ed25519 AAAA", trust=Host.Trust.OFFERED)
    admin.post(reverse("host-approve", args=[host.pk]), {"key": "ssh-ed25519 BBBB"})
    admin.post(reverse("host-approve", args=[host.pk]), {"key": "ssh-ed25519 AAAA"})
    assert details("host approve") == ["nothing was approved", f"host key of {host}: ssh-ed25519 AAAA"]


def test_a_token_is_named_with_what_it_opens_and_without_its_text(admin):
    answer = admin.post(
        reverse("token-add"), {"name": "ci", "scopes": ["read", "admin"], "days": 30, "password": PASSWORD}
    )
    [detail] = details("token add")
    assert detail.startswith("token ci, which opens read, admin until ")
    assert answer.context["plain"] not in everything()


def test_wrong_tokens_are_written_down_and_cannot_fill_the_log(db):
    for number in range(audit.MOST_OF_PLACE + 5):
        Client().get("/api/v1/hosts/", headers={"Authorization": f"Bearer bh_guess{number}"})
    lines = Entry.objects.filter(action=audit.WRONG_TOKEN)
    assert lines.count() == audit.MOST_OF_PLACE
    assert set(lines.values_list("status", "address", "way")) == {(401, "GET /api/v1/hosts/", "api")}
    assert "bh_guess" not in everything()


def test_wrong_tokens_from_ever_new_places_cannot_fill_the_log_either(db):
    Entry.objects.bulk_create(
        Entry(way="api", action=audit.WRONG_TOKEN, address="GET /", status=401, origin=f"2001:db8:{number}::1")
        for number in range(audit.MOST_REFUSED - 1)
    )
    for number in range(3):
        Client(REMOTE_ADDR=f"192.0.2.{number}").get("/api/v1/hosts/", headers={"Authorization": "Bearer bh_x"})
    lines = Entry.objects.filter(action=audit.WRONG_TOKEN).order_by("pk")
    assert lines.count() == audit.MOST_REFUSED
    assert [line.detail for line in lines if line.detail] == [lines.last().detail] == [audit.LAST_REFUSED]


def test_a_flood_of_wrong_tokens_hides_no_wrong_password_of_a_link(db, rf):
    Entry.objects.bulk_create(
        Entry(way="api", action=audit.WRONG_TOKEN, address="GET /", status=401, origin="192.0.2.1")
        for _ in range(audit.MOST_REFUSED)
    )
    audit.note_refused_key(rf.post("/shared/"), audit.WRONG_LINK_PASSWORD, "link 1 of snapshot 1")
    assert Entry.objects.filter(action=audit.WRONG_LINK_PASSWORD).count() == 1


def test_wrong_tokens_of_one_ipv6_network_are_of_one_place_and_each_keeps_its_address(db):
    for number in range(audit.MOST_OF_PLACE + 5):
        place = f"2001:db8::{number:x}:1"
        Client(REMOTE_ADDR=place).get("/api/v1/hosts/", headers={"Authorization": "Bearer bh_x"})
    lines = Entry.objects.filter(action=audit.WRONG_TOKEN)
    assert lines.count() == len(set(lines.values_list("origin", flat=True))) == audit.MOST_OF_PLACE


def test_a_right_that_was_given_by_a_command_is_in_the_log():
    make_user("rosa", Role.ADMINISTRATOR)
    call_command("write_scripts", "rosa")
    entry = Entry.objects.get()
    assert (entry.username, entry.way, entry.action) == ("manage.py", "cmd", "right to write scripts given to rosa")
