"""The log of a run while it runs, and what its page says of the last contact."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.models import LiveLog, Run, Watch
from benchhub.bench.queue import queue
from benchhub.bench.results import live_log

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(experiment):
    run = experiment.runs.first()
    Run.objects.filter(pk=run.pk).update(state="reserved")
    for state in ("starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    Watch.objects.create(run=run, last_contact_at=Now(), step="measuring")
    run.attempts.create(number=1)
    run.refresh_from_db()
    return run


def log_of(ada, run, **query):
    return ada.get(reverse("run-log", args=[run.pk, "err"]), query).json()["part"]


def test_a_log_is_kept_as_it_comes_and_read_on_by_offset(ada, running):
    live_log.keep(running, "err", 0, b"first\n")
    live_log.keep(running, "err", 6, b"second\n")
    assert log_of(ada, running)["text"] == "first\nsecond\n"
    assert log_of(ada, running, after=6) == {
        "stream": "err", "title": "err.log", "text": "second\n", "end": 13, "skipped_bytes": 0,
    }  # fmt: skip
    assert log_of(ada, running, after=13)["text"] == ""
    assert log_of(ada, running, after="x' OR 1")["text"] == "first\nsecond\n"


def test_a_chunk_that_comes_twice_or_after_a_gap_never_mixes_up_the_log(ada, running):
    live_log.keep(running, "err", 0, b"first\n")
    live_log.keep(running, "err", 0, b"first\n")
    assert log_of(ada, running)["text"] == "first\n"
    live_log.keep(running, "err", 1_000_000, b"much later\n")
    assert log_of(ada, running, after=6) == {
        "stream": "err", "title": "err.log", "text": "much later\n", "end": 1_000_011, "skipped_bytes": 999_994,
    }  # fmt: skip


def test_however_much_is_printed_what_is_kept_and_what_is_shown_are_bounded(ada, running):
    for start in range(0, 5 * 256 * 1024, 256 * 1024):
        live_log.keep(running, "err", start, b"x" * 256 * 1024)
    assert len(LiveLog.objects.get().content) == live_log.KEPT_BYTES
    assert len(log_of(ada, running)["text"]) == live_log.SHOWN_BYTES


def test_a_hostile_log_is_shown_harmlessly(ada, running):
    live_log.keep(running, "err", 0, b"\x1b[2J<script>alert(1)</script>\x00\xff\n")
    response = ada.get(reverse("run", args=[running.pk]))
    assertContains(response, "␛[2J&lt;script&gt;alert(1)&lt;/script&gt;␀�")
    assertNotContains(response, "<script>alert")
    assert "\x1b" not in log_of(ada, running)["text"]


def test_a_character_cut_by_a_look_comes_whole_with_the_next(ada, running):
    live_log.keep(running, "err", 0, "18 µs".encode()[:-2])
    first = log_of(ada, running)
    assert (first["text"], first["end"]) == ("18 ", 3)
    live_log.keep(running, "err", 4, "18 µs".encode()[-2:])
    assert log_of(ada, running, after=first["end"])["text"] == "µs"


def test_the_page_of_a_run_says_how_old_the_last_contact_is(ada, running):
    Watch.objects.update(last_contact_at=Now() - timedelta(minutes=125))
    assertContains(ada.get(reverse("run", args=[running.pk])), "2 h 5 min ago")


def test_a_lost_run_still_shows_what_was_seen_of_its_log(ada, running):
    live_log.keep(running, "err", 0, b"the last words\n")
    queue.reserve()
    Run.objects.filter(pk=running.pk).update(state="lost")
    response = ada.get(reverse("run", args=[running.pk]))
    assertContains(response, "Last seen of its log")
    assertContains(response, "the last words")
    assertNotContains(response, "data-log")
