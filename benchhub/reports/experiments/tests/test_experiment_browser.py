"""The pages as a browser draws them: under the content security policy, whole, live, and without sideways scrolling."""

import pytest
from django.db.models.functions import Now
from django.urls import reverse
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def system(page):
    hardware = testing.make_box()
    return testing.make_system("18", testing.make_host(), hardware)


@pytest.fixture
def experiment(system):
    experiment = testing.make_experiment([system])
    for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, 990.0), (8, 2, 1010.0)):
        testing.succeeded(testing.make_run(experiment, system, clients, repeat), tps)
    return experiment


def test_a_reader_signs_in_and_reads_a_curve_that_is_drawn_whole(page, experiment):
    sign_in(page)
    assert not is_too_wide(page)
    menu = page.get_by_role("navigation", name="Main")
    expect(menu.get_by_role("link", name="Queue", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Menu").press("Enter")
    expect(menu.get_by_role("link", name="Queue", exact=True)).to_be_visible()
    page.get_by_role("link", name="Experiments", exact=True).click()
    page.wait_for_url("/experiments/")
    assert not is_too_wide(page)
    page.get_by_role("link", name="Two builds").click()
    page.locator(".chart.drawn").wait_for()
    assert page.locator(".chart .scatterlayer .trace.scatter").count() == 3  # the repeats, their means and their ranges
    assert page.locator(".chart .points path.point").count() == 4 + 2
    assert page.locator(".chart .js-line").count() == 1 + 2
    assert page.locator(".chart .errorbar").count() == 0
    assert page.locator(".chart .xtick text").all_text_contents() == ["1", "8"]
    buttons = page.locator(".modebar-btn").evaluate_all("found => found.map(one => one.dataset.title)")
    assert any("Download plot" in title for title in buttons)
    assert not any("Share" in title or "Cloud" in title for title in buttons)  # nothing leaves for another host
    assert not is_too_wide(page)


def test_latency_and_a_linear_axis_are_chosen_by_keyboard_and_kept_in_the_address(page, experiment):
    sign_in(page)
    page.goto(reverse("experiment", args=[experiment.pk]))
    page.locator(".chart.drawn").wait_for()
    log2 = page.get_by_role("button", name="log₂")
    assert log2.get_attribute("aria-pressed") == "true"
    assert page.locator(".chart .ytitle").text_content() == "throughput (TPS)"
    page.get_by_role("button", name="Throughput").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".chart .ytitle", has_text="average latency (ms)").wait_for()
    page.get_by_role("button", name="linear").press("Space")
    page.wait_for_function("document.querySelectorAll('.chart .xtick').length > 2")
    assert log2.get_attribute("aria-pressed") == "false"
    assert "show=latency" in page.url and "axis=linear" in page.url
    page.reload()
    page.locator(".chart .ytitle", has_text="average latency (ms)").wait_for()
    assert page.get_by_role("button", name="linear").get_attribute("aria-pressed") == "true"
    expect(page.locator(".numbers")).to_be_visible()
    assert not is_too_wide(page)


@pytest.mark.whole
def test_a_chart_takes_the_colours_of_the_theme(page, experiment):
    sign_in(page)
    page.goto(reverse("experiment", args=[experiment.pk]))
    line = page.locator(".chart .js-line").first
    line.wait_for(state="attached")
    light = line.evaluate("line => getComputedStyle(line).stroke")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("old => getComputedStyle(document.querySelector('.js-line')).stroke !== old", arg=light)
    dark = line.evaluate("line => getComputedStyle(line).stroke")
    page.emulate_media(color_scheme="light")
    page.wait_for_function("old => getComputedStyle(document.querySelector('.js-line')).stroke !== old", arg=dark)
    assert line.evaluate("line => getComputedStyle(line).stroke") == light != dark


@pytest.mark.whole
def test_a_run_that_ends_appears_without_a_reload_and_open_parts_stay_open(page, experiment, system):
    doubt = [{"code": "x", "text": "A doubt."}]
    testing.succeeded(testing.make_run(experiment, system, 2, 1), 500.0, doubts=doubt)
    last = testing.make_run(experiment, system, 4, 1)
    sign_in(page)
    page.goto(reverse("experiment", args=[experiment.pk]))
    page.locator(".chart.drawn").wait_for()
    page.locator(".doubts summary").click()
    page.evaluate("window.isSamePage = true")
    testing.succeeded(last, 700.0)
    page.get_by_text("6 of 6").wait_for()
    assert page.locator(".doubts details").get_attribute("open") is not None
    assert page.evaluate("window.isSamePage")
    page.wait_for_function("document.querySelectorAll('.chart .points path.point').length === 6 + 4")
    assert page.locator("[hx-trigger^=every]").count() == 0


@pytest.mark.whole
def test_a_page_that_was_opened_before_the_first_result_gets_the_switches_of_the_chart_with_it(page, system):
    search = testing.make_experiment([system], grows="peak", most_runs=12, precision=0.01)
    sign_in(page)
    page.goto(reverse("experiment", args=[search.pk]))
    assert page.locator(".chart").count() == 0
    testing.succeeded(testing.make_run(search, system, 8, 1), 700.0)
    page.locator(".chart.drawn").wait_for()
    page.get_by_role("button", name="Latency").click()
    page.locator(".chart .ytitle", has_text="average latency (ms)").wait_for()
    assert "show=latency" in page.url


@pytest.mark.whole
def test_the_page_of_a_run_is_drawn_whole_and_not_too_wide(page, experiment):
    run = experiment.runs.first()
    testing.with_everything(run)
    sign_in(page)
    page.goto(reverse("run", args=[run.pk]))
    page.wait_for_function("document.querySelectorAll('.chart.drawn').length === 3")
    assert not is_too_wide(page)
    assert page.locator("time[data-local]").count() > 0


def lies_above(page, upper, lower):
    above, below = page.locator(upper).first.bounding_box(), page.locator(lower).first.bounding_box()
    return above["y"] + above["height"] <= below["y"] + 0.5


@pytest.mark.whole
def test_the_buttons_of_a_chart_lie_over_neither_its_legend_nor_its_curves(page, system):
    other = testing.make_system("16", system.driver, system.hardware)
    experiment = testing.make_two_curves([system, other])
    sign_in(page)
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(reverse("experiment", args=[experiment.pk]))
        page.locator(".chart.drawn").wait_for()
        assert lies_above(page, ".switches", ".chart .modebar")
        assert lies_above(page, ".chart .modebar", ".chart .main-svg")
        if width < 400:  # wider ones name lines at their ends
            assert lies_above(page, ".chart .modebar", ".chart .legend")
        assert not is_too_wide(page)


@pytest.mark.parametrize("path", ["/compare/", "/experiments/", "/experiments/{pk}/"])
def test_no_list_scrolls_sideways_in_a_window_of_1100_px_nor_cuts_a_name(page, experiment, path):
    testing.succeeded(testing.make_run(experiment, experiment.systems.get(), 1, 3), 30.0)
    testing.ended(testing.make_run(experiment, experiment.systems.get(), 16, 1), "failed", "pgbench exited with 2.")
    Experiment.objects.update(name="Which licence is cheaper on the box of the second floor")
    Run.objects.filter(repeat=3).update(set_aside_at=Now(), set_aside_reason="A backup ran beside it.")
    sign_in(page)
    page.set_viewport_size({"width": 1100, "height": 900})
    page.goto(path.format(pk=experiment.pk), wait_until="networkidle")
    lists = page.locator("main .scroll")
    assert lists.count() > 0
    assert not any(lists.evaluate_all("all => all.map(list => list.scrollWidth > list.clientWidth + 1)"))
    names = page.locator("td", has_text="Which licence is cheaper")
    assert not any(names.evaluate_all("all => all.map(name => name.scrollWidth > name.clientWidth + 1)"))
