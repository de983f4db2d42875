"""Whoever finds an open session cannot make it last, and finds nothing of one that is closed."""

import os
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchhub.accounts import rights, throttle, tokens
from benchhub.accounts.models import Entry, Token
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import PASSWORD, make_user, with_password
from benchhub.bench import testing

pytestmark = pytest.mark.django_db
TOKEN = {"name": "ci", "scopes": ["read"], "days": "30"}
NEW = {"new_password1": "another long engine", "new_password2": "another long engine"}


@pytest.fixture
def session(client):
    client.force_login(with_password(make_user("rosa", Role.RUNNER)))
    return client


def test_it_makes_no_token_without_the_password(session):
    for password in ("", "x"):
        answer = session.post(reverse("token-add"), {**TOKEN, "password": password})
        assert answer.context["page"].form.errors.keys() == {"password"}
    assert not Token.objects.exists()
    assert session.post(reverse("token-add"), {**TOKEN, "password": PASSWORD}).status_code == 201


@pytest.mark.parametrize(
    ("page", "sent", "field"), [("password-change", NEW, "old_password"), ("token-add", TOKEN, "password")]
)
def test_the_password_is_guessed_there_as_seldom_as_at_the_sign_in(session, page, sent, field):
    for number in range(throttle.MOST_OF_BOTH):
        session.post(reverse(page), {**sent, field: f"guess {number}"})
    answer = session.post(reverse(page), {**sent, field: PASSWORD})
    assert answer.context["page"].form.errors[field] == [throttle.refused_text(15 * 60)]
    assert not Token.objects.exists()
    assert get_user_model().objects.get().check_password(PASSWORD)


def test_a_password_is_changed_with_the_old_one_and_other_sessions_end(session):
    other = Client()
    other.force_login(get_user_model().objects.get())
    _, plain = tokens.issue(get_user_model().objects.get(), "ci", ["read"], timezone.now() + timedelta(days=9))
    assert "your API tokens are revoked" in session.get(reverse("password-change")).content.decode()
    assert session.post(reverse("password-change"), {**NEW, "old_password": "x"}).status_code == 200
    assert tokens.find(plain)
    assert session.post(reverse("password-change"), {**NEW, "old_password": PASSWORD}).status_code == 302
    assert get_user_model().objects.get().check_password(NEW["new_password1"])
    assert session.get(reverse("account")).status_code == 200
    assert other.get(reverse("account")).status_code == 302
    assert tokens.find(plain) is None
    assert Entry.objects.get(action="password change").detail == "API tokens revoked: ci"


def test_no_browser_keeps_a_page_of_somebody_who_was_signed_in(session):
    for page in ("account", "home", "hosts"):
        assert "no-store" in session.get(reverse(page))["Cache-Control"]
    assert "no-store" not in Client().get("/alive").headers.get("Cache-Control", "")


@pytest.mark.parametrize(("https", "prefix"), [("1", "__Host-"), ("0", "")])
def test_over_https_no_neighbour_s_site_can_plant_a_session(https, prefix):
    code = "from django.conf import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME)"
    environment = {**os.environ, "HTTPS": https, "DJANGO_SETTINGS_MODULE": "benchhub.settings"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{prefix}sessionid", f"{prefix}csrftoken"]


ANOTHER = "another long engine"
PUPPET = {"username": "puppet", "role": "3", "password": ANOTHER, "is_active": "on"}


@pytest.fixture
def administrator(client):
    client.force_login(with_password(make_user("ada", Role.ADMINISTRATOR)))
    return client


def test_an_administrator_s_session_sets_not_its_own_password_beside_the_page_that_asks_for_the_old_one(administrator):
    ada = get_user_model().objects.get()
    sent = {"username": "ada", "role": "3", "password": ANOTHER, "is_active": "on"}
    for more in ({}, {"own_password": PASSWORD}):
        answer = administrator.post(reverse("user-edit", args=[ada.pk]), {**sent, **more})
        assert "on the page of your account" in answer.context["page"].form.errors["password"][0]
    body = {"password": ANOTHER, "own_password": PASSWORD}
    answer = administrator.patch(f"/api/v1/users/{ada.pk}/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/password")
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_it_makes_no_user_without_the_password(administrator):
    for proof in ({}, {"own_password": "x"}):
        answer = administrator.post(reverse("user-add"), {**PUPPET, **proof})
        assert answer.context["page"].form.errors.keys() == {"own_password"}
        body = {**PUPPET, "role": "administrator", "is_active": True, **proof}
        answer = administrator.post("/api/v1/users/", body, content_type="application/json")
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/own_password")
    assert not get_user_model().objects.filter(username="puppet").exists()
    assert administrator.post(reverse("user-add"), {**PUPPET, "own_password": PASSWORD}).status_code == 302


@pytest.mark.parametrize(
    "change",
    [
        {"password": ANOTHER},
        {"role": "3"},
        {"role": "3", "may_write_scripts": "on"},
        {"is_on_all_hosts": "on"},
        {"is_active": "on"},
    ],
)
def test_it_gives_nobody_a_password_or_a_right_without_the_password(administrator, change):
    rosa = with_password(make_user("rosa", Role.RUNNER))
    get_user_model().objects.filter(pk=rosa.pk).update(is_active=False)
    address, sent = reverse("user-edit", args=[rosa.pk]), {"username": "rosa", "role": "2", **change}
    for proof in ({}, {"own_password": ANOTHER}):
        answer = administrator.post(address, {**sent, **proof})
        assert answer.context["page"].form.errors.keys() == {"own_password"}
    rosa = get_user_model().objects.get(pk=rosa.pk)
    assert rosa.check_password(PASSWORD) and rights.role(rosa) == Role.RUNNER and not rosa.is_active
    assert administrator.post(address, {**sent, "own_password": PASSWORD}).status_code == 302


def test_hosts_are_added_to_a_permit_with_the_password_and_taken_from_it_without(administrator):
    host = testing.make_host()
    rosa = make_user("rosa", Role.RUNNER)
    address, sent = reverse("user-edit", args=[rosa.pk]), {"username": "rosa", "role": "2", "is_active": "on"}
    answer = administrator.post(address, {**sent, "hosts": [host.pk]})
    assert answer.context["page"].form.errors.keys() == {"own_password"}
    assert rights.denied_hosts(rosa, [host.pk])
    administrator.post(address, {**sent, "hosts": [host.pk], "own_password": PASSWORD})
    assert not rights.denied_hosts(rosa, [host.pk])
    assert administrator.post(address, sent).status_code == 302
    assert rights.denied_hosts(rosa, [host.pk])


def test_rights_are_taken_away_without_the_password(administrator):
    rosa = make_user("rosa", Role.ADMINISTRATOR)
    assert (
        administrator.post(reverse("user-edit", args=[rosa.pk]), {"username": "rosa", "role": "1"}).status_code == 302
    )
    assert rights.role(get_user_model().objects.get(pk=rosa.pk)) == Role.VIEWER


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_an_administrator_s_password_is_guessed_on_no_page_and_by_no_request_more_often(administrator, headers):
    body = {**PUPPET, "role": "administrator", "is_active": True}
    for number in range(throttle.MOST_OF_BOTH):
        sent = {**body, "own_password": f"guess {number}"}
        administrator.post("/api/v1/users/", sent, content_type="application/json", headers=headers)
    sent = {**body, "own_password": PASSWORD}
    answer = administrator.post("/api/v1/users/", sent, content_type="application/json", headers=headers)
    assert answer.status_code in (400, 422)
    assert not get_user_model().objects.filter(username="puppet").exists()


def test_a_password_that_is_set_revokes_the_tokens_of_its_user_and_of_nobody_else(administrator):
    rosa, olaf = make_user("rosa", Role.RUNNER), make_user("olaf", Role.RUNNER)
    _, plain = tokens.issue(rosa, "nightly", ["read"], timezone.now() + timedelta(days=9))
    _, other = tokens.issue(olaf, "ci", ["read"], timezone.now() + timedelta(days=9))
    address = reverse("user-edit", args=[rosa.pk])
    assert "revokes the user&#x27;s API tokens" in administrator.get(address).content.decode()
    sent = {"username": "rosa", "role": "2", "is_active": "on", "own_password": PASSWORD}
    administrator.post(address, sent)
    assert tokens.find(plain)
    administrator.post(address, {**sent, "password": ANOTHER})
    assert tokens.find(plain) is None and tokens.find(other)
    assert "API tokens revoked: nightly" in Entry.objects.filter(action="user edit").latest("pk").detail


def test_however_much_it_is_used_it_ends_a_week_after_the_sign_in(session, settings, monkeypatch):
    begun, clock = time.time(), timezone.now
    answers = []
    for hours in range(0, 8 * 24, 11):
        monkeypatch.setattr("time.time", lambda hours=hours: begun + hours * 3600)
        monkeypatch.setattr("django.utils.timezone.now", lambda hours=hours: clock() + timedelta(hours=hours))
        answers.append((hours * 3600 < settings.SESSION_LONGEST_AGE, session.get(reverse("account")).status_code))
    assert settings.SESSION_LONGEST_AGE == 7 * 24 * 3600
    assert set(answers) == {(True, 200), (False, 302)}
    assert session.get("/api/v1/account/").status_code in (401, 403)
