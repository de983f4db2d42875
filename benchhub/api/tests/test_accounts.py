"""Accounts, tokens and the audit log, as a program sees them; and what it can never make of them."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from benchhub.accounts import rights
from benchhub.accounts.models import Entry, Token
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import PASSWORD, make_user, with_password
from benchhub.api.conftest import program

pytestmark = pytest.mark.django_db
SENT = {"username": "rosa", "role": "runner", "password": "battery staple 9"}


def user(name):
    return get_user_model().objects.get(username=name)


def test_a_user_is_added_changed_and_shut(admin, host):
    created = admin.send("post", "users/", {**SENT, "hosts": [host.pk]})
    assert created.status_code == 201, created.content
    assert (created.json()["role"], created.json()["hosts"], created.json()["is_active"]) == (
        "runner",
        [host.pk],
        True,
    )
    assert "password" not in created.json()
    assert Client().login(username="rosa", password=SENT["password"])
    address = created.json()["url"].partition("/v1/")[2]
    changed = admin.send("patch", address, {"role": "viewer", "is_active": False}).json()
    assert (changed["role"], changed["is_active"], changed["hosts"]) == ("viewer", False, [host.pk])
    assert user("rosa").check_password(SENT["password"])  # what is left out stays


def test_a_password_that_anybody_guesses_is_refused_beside_its_field(admin):
    answer = admin.send("post", "users/", {**SENT, "password": "12345678"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/password")
    assert not get_user_model().objects.filter(username="rosa").exists()


def test_a_token_makes_no_administrator_and_changes_none(admin):
    refused = [
        admin.send("post", "users/", {**SENT, "role": "administrator"}),
        admin.send("patch", f"users/{user('ada').pk}/", {"password": SENT["password"]}),
    ]
    make_user("vera", Role.VIEWER)
    refused.append(admin.send("patch", f"users/{user('vera').pk}/", {"role": "administrator"}))
    assert [answer.status_code for answer in refused] == [403] * 3
    assert "use the pages" in refused[0].json()["detail"]
    assert not get_user_model().objects.filter(username="rosa").exists()
    assert not user("ada").check_password(SENT["password"])
    assert rights.role(user("vera")) == Role.VIEWER


def test_an_administrator_who_has_signed_in_may_make_another():
    browser = Client()
    browser.force_login(with_password(make_user("ada", Role.ADMINISTRATOR)))
    sent = {**SENT, "role": "administrator", "may_write_scripts": True, "own_password": PASSWORD}
    assert browser.post("/api/v1/users/", sent, content_type="application/json").status_code == 201
    assert rights.role(user("rosa")) == Role.ADMINISTRATOR
    users = browser.get("/api/v1/users/").json()["results"]
    assert {row["username"]: row["may_write_scripts"] for row in users} == {"ada": False, "rosa": True}


def test_tokens_are_seen_by_their_owner_and_revoked_by_an_administrator(viewer, admin):
    [own] = viewer.send("get", "tokens/").json()["results"]
    assert (own["owner"], own["scopes"], own["state"]) == ("vera", ["read"], "valid")
    assert "digest" not in own
    assert {token["owner"] for token in admin.send("get", "tokens/").json()["results"]} == {"vera", "ada"}
    assert viewer.send("get", f"tokens/{Token.objects.get(owner__username='ada').pk}/").status_code == 404
    assert admin.send("post", f"tokens/{own['id']}/revoke/").json()["state"] == "revoked"
    assert viewer.send("get", "tokens/").status_code == 401


def test_an_account_says_what_its_token_opens_and_not_what_its_owner_could():
    account = program(make_user("ada", Role.ADMINISTRATOR), "read", "ingest").send("get", "account/").json()
    assert (account["username"], account["role"], account["scopes"]) == ("ada", "administrator", ["read", "ingest"])


def test_the_audit_log_is_filtered(admin):
    admin.send("post", "hardware/", {"name": "Big", "sockets": 2, "cores_per_socket": 16})
    admin.send("post", "hardware/", {"name": ""})
    [refused] = admin.send("get", "audit-log/?status__gte=400").json()["results"]
    assert (refused["username"], refused["outcome"], refused["token"]) == ("ada", "not done", "ci")
    assert Entry.objects.count() == 2


def test_the_list_of_users_takes_as_many_queries_for_many_as_for_one(admin, django_assert_num_queries):
    for number in range(4):
        make_user(f"user {number}", Role.RUNNER)
    with django_assert_num_queries(6):  # token, its use, rights, users, groups, scripts; none has a permit with hosts
        assert len(admin.send("get", "users/").json()["results"]) == 5
