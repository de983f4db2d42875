"""Choosing terms on a shared page, by a reader who has no account: no script is needed, and no cookie set."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchhub.reports.sharing.choices.choice import OPEN
from tests.browser import is_too_wide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AXE = Path(__file__).resolve().parents[5] / "tests" / "vendor" / "axe.min.js"
FAULTS = "async () => (await axe.run({resultTypes: ['violations']})).violations.map(fault => fault.id)"


@pytest.fixture(params=[pytest.param(1440, marks=pytest.mark.whole), 360])
def reader(request, chromium, live_server):
    context = chromium.new_context(
        base_url=live_server.url, viewport={"width": request.param, "height": 800}, bypass_csp=True
    )
    yield context.new_page()
    assert context.cookies() == []
    context.close()


def test_a_reader_moves_the_term_sees_the_price_and_goes_back(reader, share):
    _, address = share(("discount",), choices=list(OPEN))
    reader.goto(address)
    verdict = reader.locator(".answer h2")
    assert "over 3 years" in verdict.inner_text()
    reader.locator("select[name=term]").select_option("5")
    reader.get_by_role("button", name="Show these prices").click()
    reader.get_by_text("At your choice of terms.").wait_for()
    assert "over 5 years" in verdict.inner_text()
    assert reader.locator("select[name=term]").input_value() == "5"
    assert not is_too_wide(reader)
    reader.add_script_tag(path=str(AXE))
    assert reader.evaluate(FAULTS) == []
    reader.get_by_role("link", name="Back to the maker's choice").click()
    reader.get_by_text("The maker's choice: 3 years").wait_for()
    assert "over 3 years" in verdict.inner_text()


@pytest.mark.whole
def test_paper_has_the_prices_and_no_controls(reader, share):
    _, address = share((), choices=list(OPEN))
    reader.goto(address)
    reader.emulate_media(media="print")
    expect(reader.locator(".reader-terms")).to_be_hidden()
    expect(reader.locator(".answer h2")).to_be_visible()
