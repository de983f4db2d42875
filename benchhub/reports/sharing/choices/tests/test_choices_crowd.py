"""Many readers ask for choices of their own at once, or one reader without end."""

from functools import lru_cache

import pytest
from django.test import Client

from benchhub.release import release
from benchhub.reports.sharing.choices import edition
from benchhub.reports.sharing.choices.choice import OPEN
from benchhub.reports.sharing.output import render, turns

pytestmark = pytest.mark.django_db
EVERYTHING = tuple(OPEN)


@pytest.fixture
def reader():
    return Client()


def test_while_a_choice_is_made_others_are_told_to_come_again_and_what_is_ready_is_sent(share, reader, monkeypatch):
    _, address = share((), choices=EVERYTHING)
    ready = [f"{address}{name}" for name in ("", "?term=5", "data.json", "prices.csv", "report")]
    contents = [reader.get(path).content for path in ready]
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    with turns.READERS.turn():
        for name in ("?term=4", "?term=junk", "report?term=4", "data.json?term=4", "prices.csv?term=4", "page.html"):
            answer = reader.get(f"{address}{name}")
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10"), name
            assert b"Try again in a moment." in answer.content
            assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert [reader.get(path).content for path in ready] == contents
    assert reader.get(f"{address}?term=4").status_code == 200


def test_a_print_that_is_ready_is_sent_without_rendering_anything_at_any_choice(share, reader, monkeypatch):
    link, address = share((), choices=EVERYTHING)
    link.projection.prints.create(name="page", release=release(), sha256=link.projection.sha256, content=b"%PDF-kept")

    def nothing(*_, **__):
        raise AssertionError("this takes a processor a second")

    monkeypatch.setattr(render, "one_file", nothing)
    monkeypatch.setattr(edition, "_edition", nothing)
    assert reader.get(f"{address}page.pdf?term=4&load=junk").content == b"%PDF-kept"


def test_no_more_wait_than_leave_threads_to_others(monkeypatch):
    while turns.READERS.places.acquire(blocking=False):
        pass
    try:
        with pytest.raises(turns.BusyError), turns.READERS.turn():
            raise AssertionError("nobody has a turn")
    finally:
        for _ in range(3):
            turns.READERS.places.release()
    with turns.READERS.turn():
        assert turns.READERS.lock.locked()
    assert not turns.READERS.lock.locked()


@pytest.mark.whole
def test_choices_without_end_push_no_page_of_a_maker_out(share, reader, monkeypatch):
    monkeypatch.setattr(render, "_makers_page", lru_cache(4)(render._makers_page.__wrapped__))
    monkeypatch.setattr(render, "_chosen_page", lru_cache(2)(render._chosen_page.__wrapped__))
    _, address = share((), choices=EVERYTHING)
    reader.get(address)
    misses = render._makers_page.cache_info().misses
    for number in range(8):
        reader.get(f"{address}?term={100 + number}")
    reader.get(address)
    assert render._makers_page.cache_info().misses == misses
    assert render._chosen_page.cache_info().currsize == 2
