"""The queue and the live log as a person uses them in a browser, on a phone."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db.models.functions import Now
from django.utils import timezone
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run, Watch, Window
from benchhub.bench.queue import timetable
from benchhub.bench.results import live_log
from benchhub.catalog.models import Host
from tests.browser import is_complaint, is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(chromium, live_server):
    """Yield a tab whose console must stay silent."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 360, "height": 800})
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    get_user_model().objects.create_superuser("ada", password="engine")
    tab.goto("/")
    tab.get_by_label("Name").fill("ada")
    tab.get_by_label("Password").fill("engine")
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url("/")  # and its scripts: without them the menu's button does nothing
    yield tab
    context.close()
    assert complaints == []


@pytest.fixture
def experiments():
    """Queue two experiments for the host 'box', with two runs each."""
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    rows = [testing.make_experiment([system], name=name) for name in ("First", "Second")]
    for experiment in rows:
        for clients in (1, 8):
            testing.make_run(experiment, system, clients, 1)
    return rows


def test_experiments_are_moved_and_a_host_is_paused_and_blocked(page, experiments):
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Queue", exact=True).click()
    page.wait_for_url("/queue/")
    assert not is_too_wide(page)
    page.get_by_role("button", name="Up Second").click()
    page.get_by_role("button", name="Down Second").wait_for()
    assert [row.name for row in Experiment.objects.waiting()] == ["Second", "First"]
    page.get_by_role("button", name="Pause box").press("Enter")
    page.get_by_text("The host box is paused.").first.wait_for()
    page.get_by_role("button", name="Resume box").press("Enter")
    page.get_by_role("button", name="Pause box").wait_for()
    assert not Host.objects.filter(paused_at__isnull=False).exists()
    page.get_by_role("link", name="Block times of box").click()
    page.get_by_role("link", name="Add a weekly window").click()
    page.wait_for_url("**/times/weekly")  # a script makes a field to type into of the list of zones
    page.get_by_label("Monday").check()
    page.get_by_label("From").fill("08:00")
    page.get_by_label("Until").fill("18:00")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    assert not is_too_wide(page)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("cell", name="Monday 08:00 to 18:00, Europe/Berlin", exact=True).wait_for()
    assert not is_too_wide(page)
    assert Window.objects.get().reservations.count() in (8, 9, 10)


def test_a_window_has_the_readers_zone_unless_they_choose_another(chromium, live_server, experiments):
    context = chromium.new_context(base_url=live_server.url, timezone_id="Asia/Tokyo")
    tab = context.new_page()
    sign_in(tab)
    address = f"/hosts/{Host.objects.get().pk}/times/weekly"
    for weekday, zone in (("Monday", None), ("Tuesday", "America/Lima")):
        tab.goto(address)
        expect(tab.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
        tab.get_by_label(weekday).check()
        tab.get_by_label("From").fill("22:00")
        if zone:
            # What no zone has in its name chooses none, and says so; a part that only one has is enough.
            typed = tab.get_by_label("Time zone")
            typed.fill("nowhere")
            tab.keyboard.press("Tab")
            expect(typed).to_have_attribute("aria-invalid", "true")
            typed.fill("lima")
            tab.keyboard.press("Tab")
            expect(typed).to_have_value(zone)
            expect(typed).not_to_have_attribute("aria-invalid", "true")
        # A form that comes back with an error keeps what was chosen.
        tab.get_by_role("button", name="Save").click()
        tab.get_by_role("alert").first.wait_for()
        expect(tab.get_by_label("Time zone")).to_have_value(zone or "Asia/Tokyo")
        tab.get_by_label("Until").fill("23:00")
        tab.get_by_role("button", name="Save").click()
        tab.get_by_role("cell", name=f"{weekday} 22:00 to 23:00, {zone or 'Asia/Tokyo'}", exact=True).wait_for()
    context.close()


def test_a_log_grows_while_somebody_reads_it(page, experiments):
    run = Run.objects.order_by("pk").first()
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    run.attempts.create(number=1)
    Watch.objects.create(run=run, last_contact_at=Now(), live_tps=1234.0)
    live_log.keep(run, "err", 0, b"progress: 1.0 s\n")
    page.goto(f"/runs/{run.pk}/")
    log = page.locator("#log-err")
    assert log.inner_text() == "progress: 1.0 s\n"
    live_log.keep(run, "err", 16, b"<b>progress</b>: 2.0 s \x1b[2J\n")
    page.locator("#log-err", has_text="2.0 s").wait_for()
    assert log.inner_text() == "progress: 1.0 s\n<b>progress</b>: 2.0 s ␛[2J\n"
    assert log.locator("b").count() == 0
    assert not is_too_wide(page)


def test_an_experiment_gets_its_host_alone_and_the_other_says_until_when_it_waits(page, experiments):
    first, second = experiments
    now = timezone.now()
    timetable.reserve_once(first, now - timedelta(hours=1), now + timedelta(hours=8), zone="Europe/Berlin", reason="")
    page.goto(f"/experiments/{first.pk}/times")
    page.get_by_role("link", name="Change that").click()
    page.get_by_label("Nobody else meanwhile").check()
    page.get_by_role("button", name="Save").click()
    page.goto(f"/experiments/{first.pk}/times")
    page.get_by_text("Nobody else runs meanwhile.").wait_for()
    assert not is_too_wide(page)
    page.goto("/queue/")
    page.get_by_text("First has its hosts to itself until").first.wait_for()
    assert not is_too_wide(page)
    page.goto(f"/experiments/{second.pk}")
    page.get_by_text("First has its hosts to itself until").first.wait_for()
