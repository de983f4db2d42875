"""A page that stays open says by itself that nobody works, and stops saying so."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Worker
from benchhub.catalog.models import Hardware
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_page_that_is_watched_says_that_nobody_works_and_then_that_somebody_does(page):
    sign_in(page)
    host, box = testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    experiment = testing.make_experiment([testing.make_system("18", host, box)])
    testing.make_run(experiment, experiment.systems.get(), 8, 1)
    worker = Worker.objects.create(name="w1", clock_ahead_s=0.0, ticked_at=timezone.now())
    page.goto("/queue/")
    page.evaluate("window.isTheSamePage = true")
    sentence = page.get_by_text("BenchHub has stood still for")
    expect(page.locator("#standstill")).to_be_attached()
    assert not sentence.count()
    Worker.objects.filter(pk=worker.pk).update(ticked_at=timezone.now() - timedelta(minutes=7))
    expect(sentence).to_be_visible()
    Worker.objects.filter(pk=worker.pk).update(ticked_at=timezone.now())
    expect(sentence).to_have_count(0)
    assert page.evaluate("window.isTheSamePage")
