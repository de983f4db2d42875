"""The board and its calendar as a browser draws them: not too wide, kept up to date, in the reader's own days."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Recurrence, Window
from benchhub.bench.queue import timetable
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def experiment():
    hardware = testing.make_box()
    host = testing.make_host("a-host-with-a-name-that-is-longer-than-names-of-hosts-mostly-are.example.org")
    system = testing.make_system("18", host, hardware)
    experiment = testing.make_two_curves([system, testing.make_system("16", host, hardware)])
    testing.ended(testing.make_run(experiment, system, 64, 1), "failed")
    Window.objects.create(host=host, weekdays=list(range(7)), starts_at="08:00", ends_at="17:00", zone="UTC")
    timetable.expand()
    rule = {"weekdays": list(range(7)), "starts_at": "22:00", "zone": "UTC", "next_at": timezone.now()}
    Recurrence.objects.create(plan=experiment, **rule)
    return experiment


@pytest.mark.parametrize("width", [360, pytest.param(1440, marks=pytest.mark.whole)])
def test_the_board_the_calendar_and_the_leaderboard_are_not_too_wide(page, experiment, width):
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page)
    assert page.locator(".week .block.is-blocked").count() >= 6
    for address in ("/", "/calendar/", "/leaderboard/", "/leaderboard/?by=price"):
        page.goto(address)
        assert not is_too_wide(page)


def test_a_run_that_begins_to_wait_appears_without_a_reload(page, experiment):
    sign_in(page)
    page.evaluate("window.isSamePage = true")
    page.locator("#week-table summary").click()
    testing.make_run(experiment, experiment.systems.first(), 128, 1)
    page.get_by_role("heading", name="Next in the queue").wait_for()
    assert page.evaluate("window.isSamePage")
    assert page.locator("#week-table").get_attribute("open") is not None


@pytest.mark.whole
def test_the_days_are_those_of_the_readers_clock_from_the_second_page_on(chromium, live_server, experiment):
    context = chromium.new_context(base_url=live_server.url, timezone_id="Asia/Tokyo")
    tab = context.new_page()
    sign_in(tab)
    tab.goto("/calendar/")
    expect(tab.get_by_text("Days by the clock of Asia/Tokyo.")).to_be_visible()
    context.close()


def test_a_choice_changes_the_leaderboard_and_its_address(page, experiment):
    sign_in(page)
    page.goto("/leaderboard/")
    page.get_by_role("radio", name="Price per unit").check()
    page.get_by_role("heading", name="Terms").wait_for()
    assert "by=price" in page.url
