"""Attacks at the second step of the sign-in: no code, an old one, one that is used up, guesses, somebody else's."""

import re
import time

import pyotp
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchhub.accounts import audit, throttle
from benchhub.accounts.models import Entry, SecondFactor
from benchhub.accounts.rights import Role
from benchhub.accounts.second_factor import codes, steps
from benchhub.accounts.testing import PASSWORD, make_user, with_password

pytestmark = pytest.mark.django_db
TYPED = {"username": "rosa", "password": PASSWORD}
LOGIN, CODE = "/login/", "/login/code"


@pytest.fixture
def rosa():
    return with_password(make_user("rosa", Role.RUNNER))


@pytest.fixture
def secret(rosa):
    text = codes.new_secret()
    codes.keep(rosa, text, 0)
    return text


def code_of(secret, steps_ago=0):
    return pyotp.TOTP(secret).generate_otp(int(time.time()) // codes.STEP_S - steps_ago)


def is_in(client):
    return client.get(reverse("account")).status_code == 200


def test_the_password_alone_opens_nothing(rosa, secret):
    client = Client()
    answer = client.post(f"{LOGIN}?next=/hosts/", {**TYPED, "next": "/hosts/"})
    assert answer["Location"] == CODE
    assert not is_in(client)
    assert client.get("/api/v1/hosts/").status_code in (401, 403)
    assert not Entry.objects.filter(action=audit.SIGN_IN).exists()
    assert Entry.objects.get(username="rosa").action == audit.CODE_ASKED
    key = client.session.session_key
    answer = client.post(CODE, {"code": code_of(secret)})
    assert answer["Location"] == "/hosts/"
    assert is_in(client)
    assert client.session.session_key != key
    assert Entry.objects.filter(action=audit.SIGN_IN).count() == 1
    assert not Entry.objects.filter(action="second factor").exists()


def test_a_code_without_the_password_opens_nothing(rosa, secret):
    client = Client()
    assert client.post(CODE, {"code": code_of(secret)})["Location"] == LOGIN
    assert not is_in(client)


def test_a_code_is_good_once_and_one_before_it_never_again(rosa, secret):
    code, before = code_of(secret), code_of(secret, 1)
    assert codes.accept(rosa, code)
    assert not codes.accept(rosa, code)
    assert not codes.accept(rosa, before)


def test_a_code_that_is_used_up_opens_nothing(rosa, secret):
    code = code_of(secret)
    assert codes.accept(rosa, code)
    client = Client()
    client.post(LOGIN, TYPED)
    assert "used already" in client.post(CODE, {"code": code}).content.decode()
    assert not is_in(client)


@pytest.mark.parametrize("code", ["", "0", "abcdef", "١٢٣٤٥٦", "-12345", "9" * 40, "\0"])
def test_what_is_no_code_is_refused(rosa, secret, code):
    client = Client()
    client.post(LOGIN, TYPED)
    assert client.post(CODE, {"code": code}).status_code == 200
    assert not is_in(client)


def test_an_old_code_and_one_of_another_user_are_refused(rosa, secret):
    other = codes.new_secret()
    codes.keep(make_user("olaf", Role.ADMINISTRATOR), other, 0)
    for code in (code_of(secret, 5), code_of(other)):
        assert not codes.accept(rosa, code)


def test_codes_are_guessed_as_seldom_as_passwords(rosa, secret):
    client = Client()
    client.post(LOGIN, TYPED)
    wrong = "000000" if code_of(secret) != "000000" else "000001"
    for _ in range(throttle.MOST_OF_BOTH):
        client.post(CODE, {"code": wrong})
    assert throttle.REFUSED in client.post(CODE, {"code": code_of(secret)}).content.decode()
    assert throttle.REFUSED in Client().post(LOGIN, TYPED).content.decode()
    assert not is_in(client)
    assert Entry.objects.filter(action=audit.FAILED, username="rosa").count() == throttle.MOST_OF_BOTH


def test_half_a_sign_in_ends_after_minutes_and_with_the_password(rosa, secret, monkeypatch):
    late, changed, shut = Client(), Client(), Client()
    for client in (late, changed, shut):
        client.post(LOGIN, TYPED)
    begun = time.time()
    monkeypatch.setattr(steps.time, "time", lambda: begun + steps.LONGEST_S + 5)
    assert late.get(CODE)["Location"] == LOGIN
    monkeypatch.undo()
    rosa.set_password("another long engine")
    rosa.save()
    assert changed.post(CODE, {"code": code_of(secret)})["Location"] == LOGIN
    get_user_model().objects.update(is_active=False)
    assert shut.post(CODE, {"code": code_of(secret)})["Location"] == LOGIN


def test_a_recovery_code_is_good_once(rosa, secret):
    [first, *_] = codes.renew_recovery(rosa)
    client = Client()
    client.post(LOGIN, TYPED)
    assert client.post(CODE, {"code": first.upper()}).status_code == 302
    assert is_in(client)
    assert not codes.accept(rosa, first)
    assert len(SecondFactor.objects.get().recovery_digests) == codes.RECOVERY_CODES - 1


def test_nothing_that_opens_is_stored_as_it_is(rosa, secret):
    texts = codes.renew_recovery(rosa)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_secondfactor")
        stored = repr(cursor.fetchall())
    assert secret not in stored
    assert not any(text in stored or text.replace("-", "") in stored for text in texts)


@pytest.fixture
def signed_in(rosa):
    client = Client()
    client.force_login(rosa)
    return client


def set_up(client, **changes):
    page = client.get(reverse("second-factor-add"))
    form = page.context["page"].form
    sent = {"sealed": form["sealed"].value(), "password": PASSWORD, "code": code_of(form.secret), **changes}
    return form.secret, client.post(reverse("second-factor-add"), sent)


def test_a_second_factor_is_set_up_with_the_password_and_a_code(signed_in, rosa):
    secret, answer = set_up(signed_in)
    assert answer.status_code == 201
    texts = re.findall(r"\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b", answer.content.decode())
    assert len(texts) == codes.RECOVERY_CODES
    assert SecondFactor.objects.get().secret == secret
    assert "no-store" in answer["Cache-Control"]
    used = pyotp.TOTP(secret).generate_otp(SecondFactor.objects.get().last_step)
    assert not codes.accept(rosa, used)
    assert Entry.objects.get(action="second factor add").detail == "second factor set up"


def test_sessions_that_were_open_without_a_code_end(signed_in, rosa):
    thief = Client()
    thief.force_login(rosa)
    assert is_in(thief)
    set_up(signed_in)
    assert is_in(signed_in) and not is_in(thief)


@pytest.mark.parametrize("changes", [{"password": "x"}, {"code": "000000x"}, {"sealed": "x"}])
def test_whoever_finds_an_open_session_sets_up_nothing(signed_in, changes):
    _, answer = set_up(signed_in, **changes)
    assert answer.status_code == 200
    assert not SecondFactor.objects.exists()


def test_a_key_that_was_offered_to_another_user_is_not_taken(signed_in, rosa):
    olaf = make_user("olaf", Role.VIEWER)
    foreign = codes.new_secret()
    _, answer = set_up(signed_in, sealed=codes.seal(foreign, olaf), code=code_of(foreign))
    assert answer.status_code == 200
    assert not SecondFactor.objects.exists()


def test_turning_it_off_takes_password_and_code(signed_in, rosa, secret):
    for wrong in ({"password": PASSWORD, "code": "000000x"}, {"password": "x", "code": code_of(secret)}):
        assert signed_in.post(reverse("second-factor-remove"), wrong).status_code == 200
    assert SecondFactor.objects.exists()
    signed_in.post(reverse("second-factor-remove"), {"password": PASSWORD, "code": code_of(secret)})
    assert not SecondFactor.objects.exists()
    assert Entry.objects.filter(action="second factor remove", detail__contains="taken away").exists()


def test_new_recovery_codes_take_password_and_code_so_that_the_password_alone_removes_nothing(signed_in, rosa, secret):
    before = SecondFactor.objects.get().recovery_digests
    for wrong in ({"password": PASSWORD}, {"password": PASSWORD, "code": "000000x"}, {"code": code_of(secret)}):
        assert signed_in.post(reverse("second-factor-recovery"), wrong).status_code == 200
    assert SecondFactor.objects.get().recovery_digests == before
    right = {"password": PASSWORD, "code": code_of(secret)}
    assert signed_in.post(reverse("second-factor-recovery"), right).status_code == 201
    assert SecondFactor.objects.get().recovery_digests != before


def test_an_administrator_s_open_session_removes_not_its_own_factor(client):
    ada = with_password(make_user("ada", Role.ADMINISTRATOR))
    codes.keep(ada, codes.new_secret(), 0)
    client.force_login(ada)
    address = reverse("user-second-factor-remove", args=[ada.pk])
    for answer in (client.get(address), client.post(address), client.post(address, {"password": PASSWORD})):
        assert answer.status_code == 403
        assert "on the page of your account" in answer.content.decode()
    assert SecondFactor.objects.exists()
    page = client.get(reverse("user-edit", args=[ada.pk])).content.decode()
    assert reverse("second-factor-remove") in page and address not in page


def test_an_administrator_takes_one_away_and_the_log_says_so(rosa, secret, client):
    for role in (Role.VIEWER, Role.RUNNER):
        client.force_login(make_user(f"user {role}", role))
        assert client.post(reverse("user-second-factor-remove", args=[rosa.pk])).status_code == 403
    assert SecondFactor.objects.exists()
    client.force_login(with_password(make_user("ada", Role.ADMINISTRATOR)))
    for wrong in ({}, {"password": "x"}):
        assert client.post(reverse("user-second-factor-remove", args=[rosa.pk]), wrong).status_code == 200
    assert SecondFactor.objects.exists()
    client.post(reverse("user-second-factor-remove", args=[rosa.pk]), {"password": PASSWORD})
    assert not SecondFactor.objects.exists()
    entry = Entry.objects.get(action="user second factor remove", status=302)
    assert (entry.username, entry.detail) == ("ada", "second factor of rosa")


def test_only_a_superuser_takes_that_of_a_superuser_away(client):
    root = get_user_model().objects.create_superuser("root", password=PASSWORD)
    codes.keep(root, codes.new_secret(), 0)
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    assert client.post(reverse("user-second-factor-remove", args=[root.pk])).status_code == 403
    assert SecondFactor.objects.exists()
