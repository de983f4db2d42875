"""The installation's rule that some accounts do nothing without a second factor: by page, by API, and on every way."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from benchhub.accounts.rights import Role
from benchhub.accounts.second_factor import codes
from benchhub.accounts.testing import make_user

pytestmark = pytest.mark.django_db
SET_UP = "second-factor-add"


@pytest.fixture
def signed_in():
    def sign_in(name, role):
        user, client = make_user(name, role), Client()
        client.force_login(user)
        return user, client

    return sign_in


def is_led_to_it(client, name="home"):
    answer = client.get(reverse(name))
    return answer.status_code == 302 and answer["Location"] == reverse(SET_UP)


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        ("", set()),
        ("administrators", {Role.ADMINISTRATOR}),
        ("runners", {Role.RUNNER, Role.ADMINISTRATOR}),
        ("everybody", set(Role)),
    ],
)
def test_the_rule_binds_the_roles_that_it_names(settings, signed_in, rule, bound):
    settings.REQUIRE_SECOND_FACTOR = rule
    led = {role for role in Role if is_led_to_it(signed_in(role.label, role)[1])}
    assert led == bound


def test_without_it_only_its_set_up_the_password_and_the_way_out_are_open(settings, signed_in):
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    _, client = signed_in("ada", Role.ADMINISTRATOR)
    assert all(is_led_to_it(client, name) for name in ("account", "hosts", "users", "token-add", "experiment-new"))
    assert b"asks your role for a second factor" in client.get(reverse(SET_UP)).content
    assert client.get(reverse("password-change")).status_code == 200
    answer = client.get("/api/v1/hosts/")
    assert (answer.status_code, "second factor" in answer.json()["detail"]) == (403, True)


@pytest.mark.parametrize("name", ["health", "metrics"])
def test_without_it_pages_for_machines_are_shut_too_and_open_with_it(settings, signed_in, name):
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    user, client = signed_in("ada", Role.ADMINISTRATOR)
    answer = client.get(reverse(name))
    assert (answer.status_code, b"benchhub_" in answer.content, b"checks" in answer.content) == (401, False, False)
    codes.keep(user, codes.new_secret(), 0)
    assert client.get(reverse(name)).status_code != 401


def test_who_has_it_goes_on_and_is_led_back_once_it_is_gone(settings, signed_in):
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    user, client = signed_in("ada", Role.ADMINISTRATOR)
    codes.keep(user, codes.new_secret(), 0)
    assert client.get(reverse("account")).status_code == 200
    assert client.get("/api/v1/hosts/").status_code == 200
    user.second_factor.delete()
    assert is_led_to_it(client)


def test_a_rule_that_is_none_is_refused_with_those_there_are(settings, signed_in):
    settings.REQUIRE_SECOND_FACTOR = "admins"
    with pytest.raises(ImproperlyConfigured, match="write administrators, runners, everybody, or nothing"):
        signed_in("ada", Role.ADMINISTRATOR)[1].get(reverse("home"))
