"""Every page, in light and dark, wide and narrow, has no fault that axe-core calls moderate, serious or critical.

Each page is looked at in one of the four ways, as pages share most of their parts: its name chooses which, so that a
fault comes again. Of pages with the same template, like all questions before something is removed, it is one.
`make test-whole` looks at each page in all four ways.
"""

import hashlib
import re
import zlib
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import Resolver404, resolve, reverse
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.bench.models import Protocol
from benchhub.bench.plan.questions import FORMS
from benchhub.reports.published import files
from benchhub.reports.sharing import publish
from benchhub.reports.tuning.testing import CUMULATIVE, make_series
from conftest import WHOLE

from . import pages
from .pages import PAGES

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
VENDOR = Path(__file__).parent / "vendor"
# Forms of a kind show the same fields again, and questions differ by one sentence. A report is the document of the page
# that leads to it.
ALIKE = ("-edit", "-revise"), ("-delete", "-retire", "-remove", "-revoke", "-cancel")
VIEWS = ("light", 1440), ("dark", 360), ("light", 360), ("dark", 1440)
# Addresses that are no pages: they are sent to, or answer with a file or a part of a page.
NOT_PAGES = {"alive", "logout", "again", "evidence", "experiment-curve", "experiment-plan", "health", "metrics"}
NOT_PAGES |= {f"host-{name}" for name in ("look", "approve", "new-key", "probe", "pause", "resume")}
NOT_PAGES |= {"time-remove", "window-remove"}
NOT_PAGES |= {f"experiment-{name}" for name in ("pause", "resume", "move", "rerun")}
NOT_PAGES |= {f"recurrence-{name}" for name in ("pause", "resume", "end")}
NOT_PAGES |= {"tuning-plan", "tuning-csv", "tuning-settings", "cluster-ask", "instance-test-ask", "os-settings-helper"}
NOT_PAGES |= {"source-build-ask", "source-build-log"}
NOT_PAGES |= {"run-rerun", "run-live", "run-part", "run-log", "run-put-back", "experiment-live"}
NOT_PAGES |= {"token-revoke", "standstill"}
# Forms like others, for which one needs a second factor or half a sign-in.
NOT_PAGES |= {"second-factor", "second-factor-recovery", "second-factor-remove"}
NOT_PAGES |= {"price-sheet-preview", "price-sheet-csv", "licence-model-preview", "price-unit"}
NOT_PAGES |= {"comparison-keep", "comparison-publish", "snapshot-file", "link-pause", "link-resume", "shared-file"}
NOT_PAGES |= {
    "shared-open-file",
    "run-bundle",
    "run-series",
    "run-latency",
    "run-segments",
    "run-telemetry",
    "published-publish",
}
NOT_PAGES |= {"comparability-withdraw", "design-again", "shared-card", "calendar-csv", "leaderboard-csv"}
REVISED = ("hardware", "licence-model", "price-sheet", "configuration", "workload", "instance")
NOT_PAGES |= {f"{kind}-show-again" for kind in REVISED}
# Pages that have a test of their own, because no row gives their address.
TESTED_BELOW = {
    "tuning-steps",
    "tuning-series",
    "laboratory",
    "api-resource",
    "published-report",
    "comparison-new",
    "shared",
    "shared-report",
    "shared-open",
    "shared-open-report",
}
# What axe says of each violation: the rule, and the first elements that break it. It fetches no style sheet a second
# time: only rules about turned screens and about sound, of which there is none, read what was fetched.
RUN = """async () => (await axe.run(
    {resultTypes: ['violations'], preload: false, rules: {'target-size': {enabled: true}}})).violations
    .filter(violation => ['moderate', 'serious', 'critical'].includes(violation.impact))
    .map(violation => `${violation.id}: ${violation.help}: ` + violation.nodes.slice(0, 3).map(
        node => node.target + ' ' + node.any.concat(node.all, node.none).map(check => check.message).join('; ')))"""


@pytest.fixture
def tab(chromium, live_server):
    context = chromium.new_context(base_url=live_server.url, bypass_csp=True)
    context.add_init_script(path=VENDOR / "axe.min.js")
    yield context.new_page()
    context.close()


def sign_in(tab):
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada", password="engine"))
    name = settings.SESSION_COOKIE_NAME
    origin = tab.evaluate("location.origin")
    tab.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": origin}])


def faults(tab, views=()):
    """Return the faults that axe finds, by scheme and width."""
    sentences_by_view = {}
    for scheme, width in views or (VIEWS if WHOLE else [view_of(tab.evaluate("location.pathname"))]):
        show(tab, scheme, width)
        if sentences := tab.evaluate(RUN):
            sentences_by_view[f"{scheme}, {width} px"] = sentences
    return sentences_by_view


def show(tab, scheme, width):
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.set_viewport_size({"width": width, "height": 900})


def view_of(path):
    """Choose by the name of the page, whatever row it is of."""
    try:
        name = resolve(path).view_name
    except Resolver404:
        name = path
    return VIEWS[zlib.crc32(name.encode()) % len(VIEWS)]


def open_unfolded(tab, path):
    """Open the page as it is looked at: a chart is drawn once."""
    show(tab, *view_of(path.partition("?")[0]))
    tab.goto(path)
    tab.wait_for_load_state("networkidle")
    unfold(tab)


def unfold(tab):
    tab.evaluate("document.querySelectorAll('main details').forEach(part => part.open = true)")


def faults_by_page(tab, rows, names):
    """Open each page by its name; one that has faults does not hide the next."""
    by_page = {}
    for name in names:
        path = reverse(name, args=[rows[PAGES[name]].pk] if PAGES[name] else [])
        open_unfolded(tab, path)
        assert tab.evaluate("location.pathname") == path
        by_page[name] = faults(tab)
    return {name: sentences for name, sentences in by_page.items() if sentences}


def unlike_pages():
    """Return the names of the pages without the second and further ones of those that are alike."""
    doubles = {name for endings in ALIKE for name in [name for name in PAGES if name.endswith(endings)][1:]}
    doubles |= {"snapshot-report"}
    return [name for name in PAGES if name != "login" and (WHOLE or name not in doubles)]


def test_no_page_has_a_serious_fault(tab, rows):
    tab.goto("/alive")
    assert faults_by_page(tab, rows, ["login"]) == {}
    sign_in(tab)
    assert faults_by_page(tab, rows, unlike_pages()) == {}


@pytest.mark.whole
def test_a_run_with_a_log_has_no_serious_fault(tab, rows):
    tab.goto("/alive")
    sign_in(tab)
    open_unfolded(tab, reverse("run", args=[rows["lost"].pk]))
    assert tab.locator("pre.log").count() == 1
    assert faults(tab) == {}


@pytest.mark.whole
def test_a_comparison_has_no_serious_fault(tab, rows):
    tab.goto("/alive")
    sign_in(tab)
    open_unfolded(tab, f"{reverse('compare')}?experiment={rows['experiment'].pk}")
    tab.locator("main .chart.drawn").first.wait_for()
    assert faults(tab) == {}


def test_shared_pages_have_no_serious_fault(tab, rows):
    _, token = publish.link(rows["snapshot"], ["host"], "", None, name="A reader")
    for name in ("shared", "shared-report") if WHOLE else ("shared",):
        open_unfolded(tab, reverse(name, args=[token]))
        expect(tab.locator("main .chart.drawn")).to_have_count(7)
        assert faults(tab) == {}
    tab.goto(reverse("shared", args=["nobody"]))
    unfold(tab)
    assert faults(tab) == {}
    _, token = publish.link(rows["snapshot"], [], "correct horse", None, name="Another")
    open_unfolded(tab, reverse("shared", args=[token]))
    assert tab.get_by_label("Password").count() == 1
    assert faults(tab) == {}


def test_a_comparison_of_repeats_its_steps_its_prices_and_a_refusal_have_no_serious_fault(tab, rows):
    first = rows["system"]
    second = testing.make_system("17", rows["host"], rows["hardware"])
    made = testing.make_experiment([first, second], name="Repeated")
    for system in (first, second):
        for clients in (1, 2, 4, 8, 16):
            for repeat, tps in enumerate((990.0, 1000.0, 1012.0), start=1):
                testing.succeeded(testing.make_run(made, system, clients, repeat), tps * clients)
    other = testing.make_experiment([second], name="Longer")
    protocol = Protocol.stored({"path": "socket", "duration_s": 300})
    testing.succeeded(testing.make_run(other, second, 8, 1, protocol=protocol), 1.0)
    series = make_series(first, CUMULATIVE)
    curves = f"curve={made.pk}-{first.pk}&curve={made.pk}-{second.pk}"
    tab.goto("/alive")
    sign_in(tab)
    # A comparison is looked at as one that was kept, too.
    compared = [(f"{reverse('compare')}?{curves}", 2)] if WHOLE else []
    for path, charts in (
        *compared,
        (f"{reverse('tuning-steps')}?{curves}", 1),
        (f"{reverse('laboratory')}?{curves}", 1),
        (reverse("tuning-series", args=[series.pk]), 1),
        (f"{reverse('compare')}?{curves}&curve={other.pk}-{second.pk}", 0),
    ):
        open_unfolded(tab, path)
        if charts:
            tab.locator("main .chart.drawn").nth(charts - 1).wait_for()
        assert faults(tab) == {}


def test_the_form_of_each_question_has_no_serious_fault(tab, rows):
    tab.goto("/alive")
    sign_in(tab)
    by_question = {}
    for name in sorted(FORMS):
        open_unfolded(tab, f"{reverse('experiment-new')}?question={name}")
        assert tab.get_by_label("Client levels").count() == 1
        by_question[name] = faults(tab)
    assert {name: sentences for name, sentences in by_question.items() if sentences} == {}


def test_the_reference_of_a_resource_has_no_serious_fault(tab):
    tab.goto("/alive")
    sign_in(tab)
    open_unfolded(tab, reverse("api-resource", args=["deliveries"]))
    assert tab.locator("main h2.operation").count() > 1
    assert faults(tab) == {}


@pytest.mark.whole
def test_no_published_report_has_a_serious_fault(tab):
    tab.goto("/alive")
    sign_in(tab)
    by_report = {}
    reports = files.reports()
    for slug in (report.about["slug"] for report in (reports if WHOLE else reports[:1])):
        open_unfolded(tab, reverse("published-report", args=[slug]))
        tab.locator("main .chart.drawn").first.wait_for()
        by_report[slug] = faults(tab)
    assert {slug: sentences for slug, sentences in by_report.items() if sentences} == {}


@pytest.mark.whole
def test_no_form_that_refuses_has_a_serious_fault(tab, rows):
    tab.goto("/alive")
    sign_in(tab)
    by_form = {}
    for name in (name for name in PAGES if name.endswith("-add")):
        tab.goto(reverse(name, kwargs={"pk": rows[PAGES[name]].pk} if PAGES[name] else {}))
        tab.evaluate("document.querySelector('main form').noValidate = true")
        with tab.expect_navigation():
            tab.locator("main form .primary").last.click()
        unfold(tab)
        assert tab.locator("main .errorlist, main .error").count() > 0
        by_form[name] = faults(tab)
    assert {name: sentences for name, sentences in by_form.items() if sentences} == {}


def test_the_open_menu_and_the_search_with_its_hits_have_no_serious_fault(tab, rows):
    tab.goto("/alive")
    sign_in(tab)
    open_unfolded(tab, "/")
    tab.locator(".top details:not([open]) summary").first.click()
    assert tab.locator(".top nav a:visible").count() > 0
    assert faults(tab) == {}
    tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert faults(tab, [("light", 360)]) == {}
    tab.keyboard.press("Control+k")
    tab.keyboard.type("box")
    tab.locator("#search-hits a").first.wait_for()
    assert faults(tab) == {}


def test_a_page_that_is_missing_has_no_serious_fault(tab):
    tab.goto("/alive")
    sign_in(tab)
    open_unfolded(tab, "/nowhere")
    assert faults(tab) == {}


def test_a_fault_would_be_found(tab):
    tab.goto("/alive")
    tab.set_content("<html lang=en><title>x</title><main><h1>x</h1><button></button></main></html>")
    assert all(sentence.startswith("button-name: ") for [sentence] in faults(tab, VIEWS).values())
    assert len(faults(tab, VIEWS)) == len(VIEWS)


def test_no_page_is_left_out():
    missing = set(pages.names()) - PAGES.keys() - NOT_PAGES - TESTED_BELOW
    assert missing == set(), "Add a line to PAGES for each, or to NOT_PAGES."


def test_axe_is_as_its_list_says():
    digest = re.search(r"^\| axe\.min\.js \|.*\| ([0-9a-f]{64}) \|$", (VENDOR / "README.md").read_text(), re.M)
    assert digest is not None
    assert hashlib.sha256((VENDOR / "axe.min.js").read_bytes()).hexdigest() == digest[1]
