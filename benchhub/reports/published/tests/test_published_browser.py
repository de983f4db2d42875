"""The pages of published reports on a phone: charts whole, console silent, nothing too wide."""

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from tests.browser import is_complaint, is_too_wide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHARTS = {"postgrespure-s822l": 3, "postgresql-on-power8": 2, "postgresql-on-ibm-z": 1, "soliddb-tatp-max5": 2}
SMALL = "postgresql-on-ibm-z"


@pytest.fixture
def page(chromium, live_server, client):
    """A signed-in tab of a phone's width whose console must stay silent."""
    client.force_login(get_user_model().objects.create_superuser("ada"))
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 360, "height": 800})
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}])
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


@pytest.mark.parametrize(
    "slug", [SMALL, *(pytest.param(slug, marks=pytest.mark.whole) for slug in CHARTS if slug != SMALL)]
)
def test_every_figure_is_drawn_with_all_its_bars(page, slug):
    page.goto("/published/")
    assert not is_too_wide(page)
    page.locator(f"main a[href='/published/{slug}/']").click()
    page.locator(".chart.drawn").nth(CHARTS[slug] - 1).wait_for()
    assert page.locator(".chart").count() == CHARTS[slug]
    values = "figures => figures.flatMap(one => JSON.parse(one.textContent).data.flatMap(trace => trace.y)).length"
    expected = page.eval_on_selector_all("script[type='application/json']", values)
    assert page.locator(".chart .bars .point").count() == expected
    assert not is_too_wide(page)


@pytest.mark.whole
def test_a_computed_number_leads_by_keyboard_to_how_it_was_computed(page):
    page.goto("/published/postgrespure-s822l/")
    page.get_by_role("link", name="0.1048").focus()
    page.keyboard.press("Enter")
    row = page.locator("tr:target")
    assert "so the printed € 0.11 was rounded up" in row.inner_text()
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(row.get_by_text("Exactly: 19182/182987 EUR per TPS.")).to_be_visible()
