"""Whoever finds an open session cannot make it last, and finds nothing of one that is closed."""

import os
import subprocess
import sys

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from benchhub.accounts import throttle
from benchhub.accounts.models import Token
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import PASSWORD, make_user, with_password

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
    assert answer.context["page"].form.errors[field] == [throttle.REFUSED]
    assert not Token.objects.exists()
    assert get_user_model().objects.get().check_password(PASSWORD)


def test_a_password_is_changed_with_the_old_one_and_other_sessions_end(session):
    other = Client()
    other.force_login(get_user_model().objects.get())
    assert session.post(reverse("password-change"), {**NEW, "old_password": PASSWORD}).status_code == 302
    assert get_user_model().objects.get().check_password(NEW["new_password1"])
    assert session.get(reverse("account")).status_code == 200
    assert other.get(reverse("account")).status_code == 302


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
