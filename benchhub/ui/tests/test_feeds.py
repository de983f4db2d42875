"""What many viewers ask for is made once a second, and not sent to who has it."""

import threading

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from benchhub.ui import feeds
from benchhub.ui.feeds import MOST_ANSWERS, MOST_REFRESHES, VERSION, Feeds, answer, refreshed


def request(**headers):
    return RequestFactory().get("/", headers=headers)


def test_an_answer_is_made_once_in_a_second_however_many_ask():
    now_s, made = [0.0], []
    own = Feeds(lambda: now_s[0])
    texts = [own.get("a", lambda: made.append(1) or f"{len(made)}") for _ in range(200)]
    assert set(texts) == {"1"}
    now_s[0] = 1.0
    assert own.get("a", lambda: made.append(1) or f"{len(made)}") == "2"


def test_of_drawings_few_are_kept_at_once():
    own, made = Feeds(fresh_s=float("inf"), most=2), []
    for key in ("a", "b", "c", "c", "a"):
        own.get(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "c", "a"]


def test_threads_that_ask_at_once_wait_for_one_answer():
    own, made, gate = Feeds(fresh_s=float("inf")), [], threading.Barrier(8)

    def ask():
        gate.wait()
        own.get("a", lambda: made.append(1) or "x")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_no_more_answers_are_own_than_there_is_room_for():
    own = Feeds()
    for key in range(MOST_ANSWERS + 5):
        own.get(key, lambda: "x")
    assert len(own._answers) == MOST_ANSWERS
    assert 0 not in own._answers


def test_who_has_the_answer_gets_nothing_again():
    first = answer(request(), "feed of this test", lambda: {"a": 1})
    assert (first.status_code, first.content) == (200, b'{"a":1}')
    again = answer(request(**{"If-None-Match": first["ETag"]}), "feed of this test", lambda: {"a": 1})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_that_has_not_changed_is_not_made_again():
    def page(version):
        return HttpResponse(version)

    assert refreshed(request(), "page of this test", lambda: "v1", page).content == b"v1"
    assert refreshed(request(**{VERSION: "v1"}), "page of this test", lambda: "v1", page).status_code == 204
    assert refreshed(request(**{VERSION: "v0"}), "page of this test", lambda: "v1", page).content == b"v1"


def test_while_enough_pages_are_made_anew_others_ask_again_but_who_clicks_is_served():
    for _ in range(MOST_REFRESHES):
        assert feeds._turns.acquire(blocking=False)
    try:
        assert refreshed(request(**{VERSION: "old"}), "k", lambda: "new", HttpResponse).status_code == 204
        assert refreshed(request(), "k", lambda: "new", HttpResponse).content == b"new"
    finally:
        for _ in range(MOST_REFRESHES):
            feeds._turns.release()


def test_a_page_that_fails_gives_its_turn_back():
    def page(_version):
        raise ValueError("cannot be made")

    for _ in range(MOST_REFRESHES + 1):
        with pytest.raises(ValueError, match="cannot be made"):
            refreshed(request(**{VERSION: "old"}), "failing", lambda: "new", page)


def test_a_page_that_time_changes_is_drawn_once_for_all_who_look_on_and_anew_for_who_opens_it(monkeypatch):
    now_s, made = [0.0], []
    monkeypatch.setattr(feeds, "passing", Feeds(lambda: now_s[0], fresh_s=feeds.PASSING_S))

    def draw():
        made.append(1)
        return f"drawn {len(made)}"

    def page(html, version):
        return HttpResponse(f"{html} {version}")

    opened = feeds.passed(request(), "home", draw, page)
    version = opened.content.decode().split()[-1]
    answers = [feeds.passed(request(**{VERSION: version}), "home", draw, page) for _ in range(200)]
    assert {response.content.decode()[:7] for response in answers} == {"drawn 2"}
    newest = answers[0].content.decode().split()[-1]
    assert feeds.passed(request(**{VERSION: newest}), "home", draw, page).status_code == 204
    assert len(made) == 2
    feeds.passed(request(), "home", draw, page)
    now_s[0] = feeds.PASSING_S
    feeds.passed(request(**{VERSION: newest}), "home", draw, page)
    assert len(made) == 4
