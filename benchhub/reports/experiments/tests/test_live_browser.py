"""How pages keep up to date in a browser: what changes by itself, and what of the reader's stays as it is."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import expect

from benchhub.bench import testing
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS_EVERY_MS = 5_000
COUNT_DRAWINGS = """() => {
    window.drawings = 0;
    document.querySelector(".chart").on("plotly_afterplot", () => { window.drawings += 1; });
}"""


@pytest.fixture
def experiment():
    """Two runs have ended with a result, one has failed, one waits."""
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    experiment = testing.make_experiment([system])
    doubt = [{"code": "x", "text": "A doubt."}]
    testing.succeeded(testing.make_run(experiment, system, 1, 1), 300.0, doubts=doubt)
    testing.succeeded(testing.make_run(experiment, system, 8, 1), 990.0)
    testing.ended(testing.make_run(experiment, system, 8, 2), "failed", "it broke")
    testing.make_run(experiment, system, 1, 2)
    return experiment


@pytest.fixture
def live_page(page, experiment):
    """The experiment's page, its chart drawn, by a clock that can be put forward."""
    sign_in(page)
    page.clock.install()
    page.goto(reverse("experiment", args=[experiment.pk]))
    page.locator(".chart.drawn").wait_for()
    page.evaluate("window.isSamePage = true")
    page.evaluate(COUNT_DRAWINGS)
    return page


def end_the_last_run(experiment, tps=310.0):
    testing.succeeded(experiment.runs.get(state="queued"), tps)


def look_again(tab):
    """Do not wait for the page's next look at the server."""
    tab.clock.fast_forward(LOOKS_EVERY_MS)


def test_focus_scroll_and_what_is_typed_stay_while_the_page_changes(live_page, experiment):
    live_page.set_viewport_size({"width": 720, "height": 800})  # as narrow as rows do not stack
    live_page.locator("#list").evaluate("list => (list.scrollLeft = 40)")
    live_page.get_by_role("searchbox").press_sequentially("brok")
    end_the_last_run(experiment)
    look_again(live_page)
    live_page.get_by_text("4 of 4").wait_for()
    assert live_page.locator("#list").evaluate("list => list.scrollLeft") == 40
    assert live_page.get_by_role("searchbox").input_value() == "brok"
    live_page.keyboard.type("e")
    assert live_page.get_by_role("searchbox").input_value() == "broke"
    assert live_page.evaluate("window.isSamePage")


@pytest.mark.whole
def test_a_filter_narrows_the_table_keeps_the_address_and_leaves_the_chart_alone(live_page, experiment):
    expect(live_page.locator("#list tbody tr")).to_have_count(4)
    live_page.get_by_label("State").select_option(label="State: failed")
    expect(live_page.locator("#list tbody tr")).to_have_count(1)
    assert "state=failed" in live_page.url
    live_page.get_by_role("searchbox").fill("queued")
    live_page.get_by_role("searchbox").press("Enter")
    live_page.get_by_text("No run matches.").wait_for()
    live_page.get_by_role("link", name="Show all").last.click()
    expect(live_page.locator("#list tbody tr")).to_have_count(4)
    live_page.get_by_role("link", name="Throughput", exact=True).click()
    live_page.wait_for_url("**sort=throughput**")
    live_page.locator("[aria-sort=ascending]", has_text="Throughput").wait_for()
    assert live_page.evaluate("window.isSamePage && window.drawings === 0")


@pytest.mark.whole
def test_a_filtered_table_stays_filtered_when_a_run_ends_and_the_chart_gets_its_point(live_page, experiment):
    live_page.get_by_label("State").select_option(label="State: succeeded")
    expect(live_page.locator("#list tbody tr")).to_have_count(2)
    end_the_last_run(experiment)
    look_again(live_page)
    expect(live_page.locator("#list tbody tr")).to_have_count(3)
    expect(live_page.locator(".chart .points path.point")).to_have_count(3 + 2)
    assert live_page.get_by_label("State").input_value() == "succeeded"
    assert live_page.evaluate("window.isSamePage")


@pytest.mark.whole
def test_back_brings_the_table_as_it_was_before_the_filter(live_page):
    live_page.get_by_label("State").select_option(label="State: failed")
    expect(live_page.locator("#list tbody tr")).to_have_count(1)
    live_page.go_back()
    expect(live_page.locator("#list tbody tr")).to_have_count(4)
    live_page.go_forward()
    expect(live_page.locator("#list tbody tr")).to_have_count(1)
    assert live_page.evaluate("window.isSamePage && window.drawings === 0")
    assert live_page.locator(".chart.drawn").count() == 1


@pytest.mark.whole
def test_who_is_signed_out_meanwhile_comes_to_the_sign_in_and_back(live_page, experiment):
    Session.objects.all().delete()
    look_again(live_page)
    live_page.get_by_label("Password").wait_for()
    live_page.get_by_label("Name").fill("ada")
    live_page.get_by_label("Password").fill("engine")
    live_page.get_by_role("button", name="Sign in").click()
    live_page.wait_for_url(f"**{reverse('experiment', args=[experiment.pk])}")
    expect(live_page.locator(".chart.drawn")).to_be_visible()
    assert live_page.get_by_label("Password").count() == 0


@pytest.mark.whole
def test_a_hidden_tab_asks_for_nothing(live_page, experiment):
    live_page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.isHidden, configurable: true})")
    live_page.evaluate("window.isHidden = true")
    addresses = []
    live_page.on("request", lambda request: addresses.append(request.url))
    end_the_last_run(experiment)
    for _ in range(3):
        look_again(live_page)
        live_page.wait_for_timeout(100)
    assert addresses == []
    live_page.evaluate("window.isHidden = false")
    look_again(live_page)
    live_page.get_by_text("4 of 4").wait_for()


@pytest.mark.whole
def test_a_server_that_is_away_for_a_moment_is_asked_again(chromium, live_server, experiment):
    context = chromium.new_context(base_url=live_server.url)
    tab = context.new_page()
    sign_in(tab)
    tab.clock.install()
    tab.goto(reverse("experiment", args=[experiment.pk]))
    answers = iter(["away", "broken"])

    def answer(route):
        kind = next(answers, "well")
        if kind == "away":
            route.abort("connectionrefused")
        elif kind == "broken":
            route.fulfill(status=502, body="<div id=live>Bad gateway</div>")
        else:
            route.continue_()

    tab.route("**/experiments/*/", answer)
    end_the_last_run(experiment)
    for _ in range(3):
        with tab.expect_request("**/experiments/*/"):
            look_again(tab)
    tab.get_by_text("4 of 4").wait_for()
    assert tab.get_by_text("Bad gateway").count() == 0
    assert next(answers, "all were given") == "all were given"
    context.close()


def test_a_run_that_ends_shows_its_results_without_a_reload(page, experiment):
    run = experiment.runs.get(state="queued")
    sign_in(page)
    page.clock.install()
    page.goto(reverse("run", args=[run.pk]))
    page.get_by_text("queued").first.wait_for()
    page.evaluate("window.isSamePage = true")
    testing.succeeded(run, 310.0)
    testing.with_everything(run)
    look_again(page)
    expect(page.locator(".chart.drawn")).to_have_count(3)
    expect(page.get_by_role("heading", name="What was measured")).to_be_visible()
    assert page.evaluate("window.isSamePage")


@pytest.mark.whole
def test_on_a_phone_runs_and_experiments_stack_so_that_nothing_lies_off_the_screen(live_page):
    live_page.set_viewport_size({"width": 360, "height": 800})
    for cell in (".runs .state-failed", ".runs td.first:has-text('TPS') >> nth=0"):
        box = live_page.locator(cell).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    live_page.goto(reverse("experiments"))
    overhang = "list => list.scrollWidth - list.clientWidth"
    assert live_page.locator("#list").evaluate(overhang) == 0


@pytest.mark.whole
def test_an_age_goes_on_while_the_page_stays_open(live_page):
    """The age is counted from the server's, whatever the reader's clock says of the time itself."""
    html = '<time class="label" id="age" datetime="2001-01-01T00:00:00Z" data-age-s="59">59 s ago</time>'
    live_page.evaluate("html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", html)
    live_page.clock.run_for(3000)
    expect(live_page.locator("#age")).to_have_text(re.compile(r"^1 min( \d+ s)? ago$"))
