"""The page of a run in a browser: its drawer of raw facts, its ghosts, and doubts that lead to their seconds."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Found, Series
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def cockpit(page):
    """The page of a second repeat whose load stood still from second 20 to 24."""
    system = testing.make_system("18", testing.make_host(), testing.make_box())
    experiment = testing.make_experiment([system])
    for repeat in (1, 2):
        run = testing.make_run(experiment, system, 8, repeat)
        testing.succeeded(run, 1000.0)
        testing.with_everything(run)
        testing.observed(run)
    Series.objects.filter(run=run, metric="tps").update(values=[1000.0] * 20 + [0.0] * 4 + [1000.0] * 16)
    Found.objects.filter(run=run).update(differences=[])
    sign_in(page)
    page.goto(reverse("run", args=[run.pk]))
    page.locator("#chart-timeline-first.drawn").wait_for()
    return page


def test_the_search_through_raw_facts_leaves_only_what_has_the_words(cockpit):
    cockpit.get_by_text("Raw facts", exact=True).click()
    cockpit.get_by_label("Find in the raw facts").fill("xact")
    expect(cockpit.locator("#raw-facts dt:visible")).to_have_text(["transactions committed"])
    expect(cockpit.locator("#raw-facts tbody tr:visible")).to_have_count(0)
    cockpit.get_by_label("Find in the raw facts").fill("")
    expect(cockpit.get_by_role("heading", name="Settings as found")).to_be_visible()


@pytest.mark.whole
def test_earlier_repeats_are_drawn_until_the_reader_switches_them_off(cockpit):
    reading = cockpit.locator(".cursor output")
    expect(reading).to_contain_text("repeat 1 900 TPS")
    button = cockpit.get_by_role("button", name="Earlier repeats")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(reading).not_to_contain_text("repeat 1")
    button.click()
    expect(reading).to_contain_text("repeat 1")


@pytest.mark.whole
def test_a_doubt_puts_the_cursor_to_its_second(cockpit):
    cockpit.get_by_role("link", name="20 to 24 s").click()
    reading = cockpit.locator(".cursor output")
    expect(reading).to_contain_text("21 s")
    expect(reading).to_contain_text("0 TPS")


def test_what_else_was_observed_is_drawn_when_it_is_opened_and_zooms_with_the_rest(cockpit):
    expect(cockpit.locator("#chart-timeline-further")).to_have_count(0)
    cockpit.get_by_text("Everything else that was observed").click()
    cockpit.locator("#chart-timeline-further.drawn").wait_for()
    # As plotly itself tells of a zoom by the pointer.
    zoom = "Plotly.relayout('chart-timeline-first', { 'xaxis.range[0]': 5, 'xaxis.range[1]': 9 })"
    zoomed = "new Promise((done) => document.getElementById('chart-timeline-further').on('plotly_relayout', done))"
    change = cockpit.evaluate(f"async () => {{ const zoomed = {zoomed}; await {zoom}; return await zoomed; }}")
    assert change == {"xaxis.range": [5, 9]}
