"""Attacks at the sign-in: guesses one after the other, guesses at one moment, and guesses against a name in use."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchhub.accounts import audit, devices, middleware, throttle
from benchhub.accounts.models import Entry, Failure
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user

PASSWORD = "a rather long engine"
RIGHT, WRONG = {"username": "rosa", "password": PASSWORD}, {"username": "rosa", "password": "x"}


@pytest.fixture
def rosa(db):
    return get_user_model().objects.create_user("rosa", password=PASSWORD)


def attempt(client, typed, **headers):
    answer = client.post(reverse("login"), typed, **headers)
    return "in" if answer.status_code == 302 else re.sub(r"\s+", " ", answer.content.decode())


def test_a_browser_that_has_signed_in_before_is_not_kept_out_by_those_who_guess(rosa):
    known_browser, stranger = Client(), Client()
    assert attempt(known_browser, RIGHT) == "in"
    known_browser.post(reverse("logout"))
    for _ in range(throttle.MOST_OF_BOTH):
        attempt(stranger, WRONG)
    assert throttle.REFUSED in attempt(stranger, RIGHT)
    assert throttle.REFUSED in attempt(Client(), RIGHT)
    assert attempt(known_browser, RIGHT) == "in"


def test_whoever_guessed_too_much_is_answered_429_with_when_to_try_again(rosa):
    for _ in range(throttle.MOST_OF_BOTH):
        attempt(Client(), WRONG)
    Failure.objects.update(at=Now() - timedelta(minutes=10))
    answer = Client().post(reverse("login"), RIGHT)
    assert (answer.status_code, 0 < int(answer["Retry-After"]) <= 300) == (429, True)
    assert re.search("Try again in [1-5] min,", answer.content.decode())
    Failure.objects.order_by("pk")[:1].get().delete()
    assert attempt(Client(), RIGHT) == "in"


def test_guesses_with_a_browser_that_has_signed_in_before_are_throttled_too(rosa):
    browser = Client()
    attempt(browser, RIGHT)
    browser.post(reverse("logout"))
    for _ in range(throttle.MOST_OF_BOTH):
        assert "do not match" in attempt(browser, WRONG)
    assert throttle.REFUSED in attempt(browser, RIGHT)


@pytest.mark.parametrize("forged", ["", "x", "a:b:c", "9" * 5000])
def test_a_forged_cookie_and_that_of_another_user_open_no_way_around(rosa, forged):
    get_user_model().objects.create_user("olaf", password=PASSWORD)
    browser = Client()
    attempt(browser, {"username": "olaf", "password": PASSWORD})
    browser.post(reverse("logout"))
    if forged:
        browser.cookies[devices.COOKIE] = forged
    for _ in range(throttle.MOST_OF_BOTH):
        attempt(browser, WRONG)
    assert throttle.REFUSED in attempt(browser, RIGHT)


@pytest.mark.django_db(transaction=True)
def test_of_forty_guesses_at_one_moment_no_more_are_checked_than_one_after_the_other():
    get_user_model().objects.create_user("rosa", password=PASSWORD)

    def guess(_):
        try:
            return attempt(Client(), WRONG)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(guess, range(40)))
    checked = [answer for answer in answers if "do not match" in answer]
    assert 1 <= len(checked) <= throttle.MOST_OF_BOTH
    assert Entry.objects.filter(action=audit.FAILED).count() == Failure.objects.count() == len(checked)


def in_crowd(guess, right):
    """Return what a right attempt comes to in the middle of 40 guesses at one moment, and the guesses' answers."""

    def closing(act):
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        acts = [lambda number=number: guess(number) for number in range(40)]
        acts.insert(20, right)
        answers = list(pool.map(closing, acts))
    return answers.pop(20), answers


def crowd_member(number):
    """Return an attempt of the same place: each other one at rosa, the others at ever new names."""
    return attempt(Client(), WRONG if number % 2 else {"username": f"nobody {number}", "password": "x"})


@pytest.mark.django_db(transaction=True)
def test_a_browser_of_before_is_let_in_amid_forty_guesses_from_its_own_place():
    get_user_model().objects.create_user("rosa", password=PASSWORD)
    browser = Client()
    attempt(browser, RIGHT)
    browser.post(reverse("logout"))
    answer, guesses = in_crowd(crowd_member, lambda: attempt(browser, RIGHT))
    assert answer == "in"
    assert sum("do not match" in guess for guess in guesses) <= audit.MOST_OF_PLACE + throttle.MOST_OF_BOTH


@pytest.mark.django_db(transaction=True)
def test_a_place_of_before_is_let_in_amid_forty_guesses_at_others_from_there_and_at_the_name_elsewhere():
    get_user_model().objects.create_user("rosa", password=PASSWORD)
    attempt(Client(), RIGHT)
    Failure.objects.bulk_create(
        Failure(name_digest=throttle._digest("rosa"), place=f"192.0.2.{number}/32")
        for number in range(throttle.MOST_OF_NAME)
    )
    answer, guesses = in_crowd(
        lambda number: attempt(Client(), {"username": f"nobody {number}", "password": "x"}),
        lambda: attempt(Client(), RIGHT),
    )
    assert answer == "in"
    assert sum("do not match" in guess for guess in guesses) == audit.MOST_OF_PLACE
    assert throttle.REFUSED in attempt(Client(REMOTE_ADDR="198.51.100.1"), RIGHT)


@pytest.mark.django_db(transaction=True)
def test_whoever_is_signed_in_types_the_own_password_amid_forty_guesses_from_the_same_place():
    rosa = get_user_model().objects.create_user("rosa", password=PASSWORD)
    session = Client()
    session.force_login(rosa)
    new = {"old_password": PASSWORD, "new_password1": "another long engine", "new_password2": "another long engine"}
    answer, _ = in_crowd(crowd_member, lambda: session.post(reverse("password-change"), new).status_code)
    assert answer == 302
    rosa.refresh_from_db()
    assert rosa.check_password("another long engine")


def test_guesses_from_a_place_of_before_are_throttled_by_name(rosa):
    assert attempt(Client(), RIGHT) == "in"
    for _ in range(throttle.MOST_OF_BOTH):
        assert "do not match" in attempt(Client(), WRONG)
    assert throttle.REFUSED in attempt(Client(), RIGHT)


def test_a_place_is_of_before_for_who_signed_in_there_alone(rosa):
    get_user_model().objects.create_user("olaf", password=PASSWORD)
    attempt(Client(), {"username": "olaf", "password": PASSWORD})
    for number in range(audit.MOST_OF_PLACE):
        attempt(Client(), {"username": f"nobody {number}", "password": "x"})
    assert throttle.REFUSED in attempt(Client(), RIGHT)
    assert attempt(Client(), {"username": "olaf", "password": PASSWORD}) == "in"


def test_guesses_in_an_open_session_are_throttled_whatever_place_they_come_from(rosa):
    session = Client()
    session.force_login(rosa)
    new = {"new_password1": "another long engine", "new_password2": "another long engine"}
    for number in range(throttle.MOST_OF_BOTH):
        session.post(reverse("password-change"), {"old_password": "x", **new}, REMOTE_ADDR=f"192.0.2.{number}")
    answer = session.post(reverse("password-change"), {"old_password": PASSWORD, **new}, REMOTE_ADDR="198.51.100.1")
    assert throttle.REFUSED in answer.content.decode()


def test_a_session_lasts_twelve_hours_from_the_last_page_that_was_opened(client, rosa, settings):
    assert settings.SESSION_COOKIE_AGE == 12 * 3600
    client.force_login(rosa)
    session = client.session
    session[middleware.USED_AT] -= middleware.USED_EVERY_S
    session.save()
    answer = client.get(reverse("account"))
    assert 0 <= settings.SESSION_COOKIE_AGE - answer.cookies["sessionid"]["max-age"] < middleware.USED_EVERY_S
    assert "sessionid" not in client.get(reverse("account")).cookies


def fill_log(action, most, **fields):
    Entry.objects.bulk_create(Entry(way="web", action=action, status=401, **fields) for _ in range(most - 1))


def test_failures_of_ever_new_names_from_everywhere_fill_neither_table(rosa, monkeypatch):
    monkeypatch.setattr(throttle, "MOST_KEPT", 4)
    fill_log(audit.FAILED_STRANGER, audit.MOST_REFUSED, username="nobody")
    for number in range(10):
        attempt(Client(REMOTE_ADDR=f"192.0.2.{number}"), {"username": f"nobody {number}", "password": "x"})
    assert Failure.objects.count() == 4
    lines = Entry.objects.order_by("pk")
    assert (lines.count(), lines.last().detail) == (audit.MOST_REFUSED, audit.LAST_REFUSED)


def test_a_flood_of_names_that_are_nobodys_hides_no_guess_at_a_user(rosa):
    fill_log(audit.FAILED_STRANGER, audit.MOST_REFUSED + 1, username="nobody")
    attempt(Client(), {"username": "ROSA", "password": "x"})
    assert Entry.objects.get(action=audit.FAILED).username == "ROSA"


def test_guesses_at_a_user_are_written_down_so_many_times_an_hour(rosa):
    fill_log(audit.FAILED, audit.MOST_FAILED, username="rosa")
    for number in range(3):
        attempt(Client(REMOTE_ADDR=f"192.0.2.{number}"), WRONG)
    assert Entry.objects.filter(action=audit.FAILED).count() == audit.MOST_FAILED
    assert Failure.objects.count() == 3


def test_failures_are_kept_for_as_long_as_they_count_and_without_the_name(rosa):
    attempt(Client(), WRONG)
    assert "rosa" not in repr(list(Failure.objects.values()))
    Failure.objects.update(at=timezone.now() - audit.WINDOW)
    attempt(Client(), {"username": "olaf", "password": "x"})
    assert Failure.objects.count() == 1


def test_signing_in_forgets_what_failed_of_the_name_here_and_nothing_else(rosa):
    elsewhere = Client(REMOTE_ADDR="192.0.2.9")
    for client, name in ((Client(), "rosa"), (elsewhere, "rosa"), (Client(), "olaf")):
        attempt(client, {"username": name, "password": "x"})
    assert attempt(Client(), RIGHT) == "in"
    assert sorted(Failure.objects.values_list("place", flat=True)) == ["127.0.0.1/32", "192.0.2.9/32"]


def test_guesses_from_ever_new_addresses_of_one_ipv6_network_are_throttled(rosa):
    for number in range(throttle.MOST_OF_BOTH):
        assert "do not match" in attempt(Client(REMOTE_ADDR=f"2001:db8::{number}:1"), WRONG)
    assert throttle.REFUSED in attempt(Client(REMOTE_ADDR="2001:db8::ffff"), RIGHT)
    assert Entry.objects.filter(origin="2001:db8::4:1").exists()
    assert attempt(Client(REMOTE_ADDR="2001:db8:0:1::1"), RIGHT) == "in"


def test_an_ipv4_address_counts_by_itself_however_it_is_written(rosa):
    for number in range(throttle.MOST_OF_BOTH):
        attempt(Client(REMOTE_ADDR=("::ffff:192.0.2.1", "192.0.2.1")[number % 2]), WRONG)
    assert set(Entry.objects.values_list("origin", flat=True)) == {"192.0.2.1"}
    assert throttle.REFUSED in attempt(Client(REMOTE_ADDR="::ffff:192.0.2.1"), RIGHT)
    assert attempt(Client(REMOTE_ADDR="::ffff:192.0.2.2"), RIGHT) == "in"


def test_a_page_that_refreshes_itself_does_not_keep_its_reader_signed_in(client, rosa):
    client.force_login(rosa)
    session = client.session
    session[middleware.USED_AT] -= middleware.USED_EVERY_S
    session.save()
    answer = client.get(reverse("queue"), headers={middleware.REFRESH: "1"})
    assert answer.status_code == 200 and "sessionid" not in answer.cookies


def test_an_administrator_does_not_edit_the_account_of_a_superuser(client, db):
    root = get_user_model().objects.create_superuser("root", password=PASSWORD)
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    form = {"username": "root", "role": Role.ADMINISTRATOR.value, "password": "another long engine", "is_active": "on"}
    answer = client.post(reverse("user-edit", args=[root.pk]), form)
    assert "Only a superuser edits the account of a superuser" in answer.content.decode()
    root.refresh_from_db()
    assert root.check_password(PASSWORD)


def forwarded(*addresses):
    return {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": ", ".join(addresses), "secure": True}


def test_behind_a_proxy_clients_count_apart_and_what_they_forge_counts_for_nothing(rosa, settings):
    settings.HTTPS = True
    for number in range(throttle.MOST_OF_BOTH):
        attempt(Client(), WRONG, **forwarded(f"198.51.100.{number}", "203.0.113.7"))
    assert throttle.REFUSED in attempt(Client(), RIGHT, **forwarded("203.0.113.8", "203.0.113.7"))
    assert attempt(Client(), RIGHT, **forwarded("203.0.113.7", "203.0.113.8")) == "in"


def test_without_a_proxy_nobody_writes_where_they_are_from(rosa, settings):
    settings.HTTPS = False
    for number in range(throttle.MOST_OF_BOTH):
        attempt(Client(), WRONG, **forwarded(f"198.51.100.{number}"))
    assert throttle.REFUSED in attempt(Client(), RIGHT, **forwarded("203.0.113.8"))
