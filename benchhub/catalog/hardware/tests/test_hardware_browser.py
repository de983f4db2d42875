"""A price sheet and a licence model made by typing and clicking, as a person does it in a browser."""

from decimal import Decimal

import pytest
from playwright.sync_api import expect

from benchhub.catalog.models import Hardware, LicenceModel, PriceSheet
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CSV = "record,description,unit_price,quantity\nline,Cable,2.50,4\n"


@pytest.fixture
def tab(page):
    sign_in(page)
    return page


def fill(tab, row, **texts):
    for name, text in texts.items():
        tab.locator(f"[name={row}-{name}]").fill(text)


def test_a_sheet_is_typed_seen_to_add_up_imported_into_saved_and_revised(tab):
    tab.get_by_role("button", name="Menu").click()
    tab.get_by_role("link", name="Price sheets", exact=True).click()
    tab.get_by_role("link", name="Add a price sheet").first.click()
    tab.wait_for_url("/price-sheets/add")  # and its scripts, or they would not see what is typed
    tab.locator("[name=name]").fill("Box")
    tab.locator("#id_currency").fill("USD")
    tab.get_by_label("Source").fill("an offer")
    fill(tab, "lines-0", description="Server", unit_price="1000.10", quantity="2", category="Hardware")
    tab.locator("#preview dd", has_text="2,000.20 USD").first.wait_for()
    tab.locator("#lines-0-extended", has_text="2,000.20").wait_for()
    assert tab.locator("#lines-1-extended").inner_text() == "–"
    tab.get_by_role("button", name="Add a line").click()
    tab.locator("[name=lines-3-description]").wait_for()
    assert tab.locator("[name=lines-0-unit_price]").input_value() == "1000.10"
    fill(tab, "lines-3", description="Disk", unit_price="x")
    tab.locator("#preview").get_by_text("Line 4, unit price: Write a number").wait_for()
    fill(tab, "lines-3", unit_price="50")
    tab.locator("#preview dd", has_text="2,050.20 USD").first.wait_for()
    tab.get_by_role("button", name="Remove line 2").click()
    tab.locator("[name=lines-3-description]").wait_for(state="detached")
    assert tab.locator("[name=lines-2-description]").input_value() == "Disk"
    tab.get_by_role("button", name="Add a discount").click()
    fill(tab, "discounts-0", description="Volume", percent="10")
    tab.locator("#preview dd", has_text="1,845.18 USD").wait_for()  # 2,050.20 less 205.02
    tab.get_by_label("Or paste it here").fill(CSV)
    tab.get_by_role("button", name="Read it").click()
    tab.get_by_text("Read: 1 line, 0 discounts. Nothing is saved yet.").wait_for()
    assert not PriceSheet.objects.exists()
    assert not is_too_wide(tab)
    tab.get_by_role("button", name="Save the sheet").click()
    tab.get_by_role("heading", name="Box").wait_for()
    tab.get_by_text("1,854.18 USD").first.wait_for()  # (2,050.20 + 10) less 206.02
    assert not is_too_wide(tab)
    tab.get_by_role("link", name="Revise").click()
    tab.wait_for_url("**/revise")
    fill(tab, "lines-0", quantity="1")
    tab.locator("#preview dd", has_text="954.09 USD").wait_for()
    tab.get_by_role("button", name="Save the sheet").click()
    tab.get_by_role("heading", name="Box revision 2").wait_for()
    assert PriceSheet.objects.current().get().priced().total == Decimal("954.09")


@pytest.mark.whole
def test_enter_in_a_field_shows_the_total_and_saves_nothing(tab):
    tab.goto("/price-sheets/add")
    tab.locator("[name=name]").fill("by accident")
    fill(tab, "lines-0", description="Server", unit_price="5")
    with tab.expect_navigation():
        tab.locator("[name=lines-0-unit_price]").press("Enter")
    tab.locator("#preview dd", has_text="5.00 EUR").first.wait_for()
    assert tab.locator("[name=name]").input_value() == "by accident"
    assert not PriceSheet.objects.exists()


@pytest.mark.whole
def test_a_licence_model_is_typed_and_its_arithmetic_seen_on_a_machine(tab):
    Hardware.objects.create(name="Power", sockets=2, cores_per_socket=10, threads_per_core=8, processor="POWER8")
    tab.goto("/licence-models/")
    tab.get_by_role("link", name="Add a licence model").first.click()
    tab.locator("[name=name]").fill("By the core")
    tab.locator("[name=metric]").select_option("socket")
    tab.locator("[name=cores_per_licence]").wait_for()
    tab.locator("[name=trial-price]").fill("1800")
    tab.locator("#trial").get_by_text("10,800.00").first.wait_for()  # 3 years x 2 sockets x 1,800
    tab.locator("[name=metric]").select_option("core")
    tab.locator("[name=cores_per_licence]").wait_for(state="hidden")
    expect(tab.locator("[name=hours_per_month]")).to_be_hidden()
    tab.locator("#trial").get_by_text("108,000.00").wait_for()
    tab.get_by_role("button", name="Add a factor").click()
    fill(tab, "factors-0", processor="POWER8", factor="0.5")
    tab.locator("#trial").get_by_text("Factor: 20 x 0.5 for POWER8 = 10").wait_for()
    tab.locator("[name=max_sockets]").fill("1")
    tab.locator("#trial").get_by_text("Not eligible.").wait_for()
    tab.locator("[name=max_sockets]").fill("")
    tab.locator("[name=payment]").select_option("hourly")
    tab.locator("[name=hours_per_month]").wait_for()
    expect(tab.locator("[name=period]")).to_be_hidden()
    tab.locator("[name=hours_per_month]").fill("999")
    tab.locator("#trial").get_by_text("Write hours above 0 and up to 744").wait_for()
    tab.get_by_role("button", name="Add the licence model").click()
    tab.locator(".field.wrong [name=hours_per_month]").wait_for()
    tab.locator("[name=hours_per_month]").fill("700")
    assert not is_too_wide(tab)
    tab.get_by_role("button", name="Add the licence model").click()
    tab.get_by_text("By the core is saved").wait_for()
    expect(tab.get_by_label("Amount")).to_have_value("1800")
    tab.goto("/licence-models/")
    tab.get_by_text("Times a core factor of 0.5 for POWER8").wait_for()
    rules = LicenceModel.objects.get().licence_rules()
    assert (rules.metric, rules.payment, rules.hours_per_month, len(rules.factors)) == ("core", "hourly", 700, 1)
    tab.get_by_role("button", name="Change By the core").click()
    tab.get_by_role("link", name="Add a price").click()
    tab.get_by_text("for one physical core, for an hour").wait_for()
    assert not is_too_wide(tab)
