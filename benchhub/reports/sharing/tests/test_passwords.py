"""Attacks at the password of a link: guessing it, and keeping its readers out by guessing wrong on purpose."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from benchhub.reports.models import LinkTry
from benchhub.reports.sharing import passwords

pytestmark = pytest.mark.django_db
RIGHT = "correct horse"


def test_who_has_to_wait_does_so_for_a_minute():
    assert passwords.WAIT.total_seconds() == 60


@pytest.fixture
def long_wait(monkeypatch):
    """Let no try be forgotten before the test has made its last."""
    monkeypatch.setattr(passwords, "WAIT", passwords.KEPT_FOR / 3)


@pytest.fixture
def address(share, long_wait):
    return share(password=RIGHT)[1]


def attempt(client, address, password="wrong"):
    answer = client.post(address, {"password": password})
    if answer.status_code == 302:
        return "in"
    return "wrong" if passwords.WRONG in answer.content.decode() else "refused"


def somewhere(number):
    """Return somebody in a network of their own."""
    return Client(REMOTE_ADDR=f"198.{number // 250}.{number % 250}.7")


def test_who_guesses_has_to_wait(address):
    guesser = Client()
    assert [attempt(guesser, address) for _ in range(7)] == ["wrong"] * 5 + ["refused"] * 2
    answer = guesser.post(address, {"password": RIGHT})
    assert (answer.status_code, answer["Retry-After"]) == (429, f"{passwords.WAIT.total_seconds():.0f}")
    LinkTry.objects.update(at=timezone.now() - passwords.WAIT)
    assert attempt(guesser, address, RIGHT) == "in"


def test_a_stranger_who_guesses_wrong_on_purpose_keeps_out_nobody_elsewhere(address):
    for _ in range(40):
        attempt(somewhere(1), address)
    assert attempt(somewhere(1), address, RIGHT) == "refused"
    assert attempt(somewhere(2), address, RIGHT) == "in"


def test_guesses_from_everywhere_do_not_keep_out_a_reader_who_was_let_in_before(address):
    reader = somewhere(1)
    assert attempt(reader, address, RIGHT) == "in"
    for number in range(60):
        attempt(somewhere(1), address)
        attempt(somewhere(number), address)
    assert attempt(somewhere(70), address, RIGHT) == "refused"
    assert attempt(reader, address, RIGHT) == "in"


def test_guesses_from_ever_new_addresses_have_a_ceiling(address):
    answers = [attempt(somewhere(number), address) for number in range(100)]
    assert answers.count("wrong") == passwords.TRIES_OF_STRANGERS
    assert LinkTry.objects.count() == passwords.TRIES_OF_STRANGERS


@pytest.mark.whole
def test_networks_that_guess_again_and_again_leave_half_of_the_tries_to_others(address):
    guessers = [somewhere(number) for number in range(10)]
    for guesser in guessers * 5:
        attempt(guesser, address)
    assert LinkTry.objects.count() == passwords.TRIES_OF_GUESSERS
    assert attempt(somewhere(70), address, RIGHT) == "in"
    LinkTry.objects.update(at=timezone.now() - 2 * passwords.WAIT)
    for guesser in guessers * 5:
        attempt(guesser, address)
    assert attempt(somewhere(71), address, RIGHT) == "in"


@pytest.mark.parametrize(
    "addresses",
    [[f"192.0.2.{number}" for number in range(40)], [f"2001:db8:7:{number:x}::1" for number in range(40)]],
)
def test_the_addresses_of_a_site_are_counted_together(address, addresses):
    answers = [attempt(Client(REMOTE_ADDR=place), address) for place in addresses]
    assert answers.count("wrong") == passwords.TRIES_OF_AREA


def test_guesses_with_the_cookie_of_a_reader_are_throttled_too(address):
    reader = Client()
    attempt(reader, address, RIGHT)
    assert [attempt(reader, address) for _ in range(6)] == ["wrong"] * 5 + ["refused"]
    assert attempt(reader, address, RIGHT) == "refused"


@pytest.mark.parametrize("forged", ["x", "a:b:c", "9" * 5000, "\xff"])
def test_a_forged_cookie_and_that_of_another_link_open_no_way_around(share, address, forged):
    _, other = share(password=RIGHT)
    stranger = Client()
    attempt(stranger, other, RIGHT)
    [cookie] = stranger.cookies.values()
    for text in (cookie.value, forged):
        guesser = Client(REMOTE_ADDR=f"192.0.2.{len(text) % 250}")
        for _ in range(5):
            guesser.cookies[passwords.COOKIE] = text
            assert attempt(guesser, address) == "wrong"
        assert attempt(guesser, address, RIGHT) == "refused"
        LinkTry.objects.all().delete()


def test_the_cookie_is_for_one_link_opens_nothing_and_ends_with_the_password(share):
    link, address = share(password=RIGHT)
    reader = Client()
    answer = reader.post(address, {"password": RIGHT})
    [cookie] = answer.cookies.values()
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (address, True, "Lax")
    assert b"A password is needed" in reader.get(address).content
    assert b"Type the password again" in reader.get(f"{address}k/{cookie.value}/").content
    link.set_password("another horse")
    link.save()
    assert [attempt(reader, address, RIGHT) for _ in range(5)] == ["wrong"] * 5
    assert not LinkTry.objects.exclude(reader="").exists()


def test_tries_are_kept_for_an_hour_only(address):
    for number in range(5):
        attempt(somewhere(number), address)
    LinkTry.objects.update(at=timezone.now() - passwords.KEPT_FOR)
    attempt(somewhere(9), address)
    assert LinkTry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_forty_passwords_at_one_moment_five_are_checked(address):
    def guess(_):
        try:
            return attempt(Client(), address)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(guess, range(40)))
    assert (answers.count("wrong"), answers.count("refused")) == (passwords.TRIES, 40 - passwords.TRIES)


@pytest.mark.django_db(transaction=True)
def test_a_reader_of_before_is_let_in_amid_forty_passwords_at_one_moment_from_the_same_place(address):
    reader = Client()
    assert attempt(reader, address, RIGHT) == "in"

    def enter(number):
        try:
            return attempt(reader, address, RIGHT) if number == 20 else attempt(Client(), address)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(enter, range(41)))
    assert (answers.pop(20), answers.count("wrong")) == ("in", passwords.TRIES)
