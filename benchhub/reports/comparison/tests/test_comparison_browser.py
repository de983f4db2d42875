"""Choosing curves and terms in a browser: without a reload where there is script, by plain forms elsewhere."""

from datetime import date
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(page):
    sign_in(page)
    return page


@pytest.fixture
def page_without_script(chromium, live_server):
    context = chromium.new_context(base_url=live_server.url, java_script_enabled=False)
    tab = context.new_page()
    sign_in(tab)
    yield tab
    context.close()


@pytest.fixture
def experiment():
    """Two systems on a box of 2 sockets that costs 5,000 EUR: 16 gives 1,000 TPS at 8 clients, 18 gives 2,000."""
    box, host = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10), testing.make_host()
    systems = [testing.make_system(version, host, box) for version in ("16", "18")]
    experiment = testing.make_experiment(systems)
    for system, tps in zip(systems, (1000.0, 2000.0), strict=True):
        for repeat in (1, 2):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps)
    socket = LicenceModel.objects.create(name="Per socket", metric="socket")
    source = {"currency": "EUR", "priced_on": date(2026, 1, 1), "source": "a quote"}
    ListPrice.objects.create(hardware=box, description="Box", amount=Decimal(5000), **source)
    ListPrice.objects.create(licence_model=socket, description="socket", amount=Decimal(4200), **source)
    return experiment


def first_price(page):
    return page.locator(".price").first


def test_curves_are_ticked_and_compared(page, experiment):
    page.goto("/compare/")
    assert not is_too_wide(page)
    for version in ("16", "18"):
        page.get_by_label(f"Compare PostgreSQL {version}").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("PostgreSQL 18 gives 2.00x the throughput of PostgreSQL 16 at 8 clients").wait_for()
    page.locator("#chart.drawn").wait_for()
    assert page.locator("#chart .points path.point").count() >= 4 + 2
    assert "pick" not in page.url
    assert not is_too_wide(page)


def test_the_term_changes_prices_and_address_without_a_reload(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    first_price(page).get_by_text("30.20").wait_for()  # (5,000 + 3 x 2 x 4,200) / 1,000
    assert page.evaluate("document.getElementById('answer').getBoundingClientRect().bottom <= innerHeight")
    page.locator("#prices-1 .prices summary").first.click()
    page.evaluate("window.isSamePage = true")
    page.get_by_label("5 years").check()
    first_price(page).get_by_text("47.00").wait_for()  # (5,000 + 5 x 2 x 4,200) / 1,000
    assert page.evaluate("window.isSamePage")
    assert "term=5" in page.url
    assert page.locator("#prices-1 .prices details").first.get_attribute("open") is not None
    assert page.evaluate("document.activeElement.value") == "5"
    page.get_by_text("More terms").click()
    page.get_by_label("up", exact=True).check()
    page.wait_for_url("**rounding=up**")
    assert "term=5" in page.url
    assert page.get_by_label("5 years").is_checked()


@pytest.mark.whole
def test_going_back_brings_the_earlier_term(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_label("5 years").check()
    first_price(page).get_by_text("47.00").wait_for()
    page.evaluate("window.isSamePage = true")
    page.go_back()
    first_price(page).get_by_text("30.20").wait_for()
    assert page.get_by_label("3 years").is_checked()
    assert page.evaluate("window.isSamePage")


@pytest.mark.whole
def test_the_baseline_changes_without_a_reload_and_keeps_the_term(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_label("5 years").check()
    first_price(page).get_by_text("47.00").wait_for()
    page.evaluate("window.isSamePage = true")
    page.locator("#levels").get_by_label("PostgreSQL 18").check()
    page.get_by_text("PostgreSQL 16 gives 0.50x the throughput of PostgreSQL 18").wait_for()
    assert page.evaluate("window.isSamePage")
    assert "term=5" in page.url
    assert "baseline=" in page.url
    assert page.locator("#chart.drawn").count() == 1
    page.reload()
    page.get_by_text("PostgreSQL 16 gives 0.50x").wait_for()


@pytest.mark.whole
def test_the_term_is_chosen_on_the_page_of_an_experiment_too(page, experiment):
    page.goto(f"/experiments/{experiment.pk}/")
    page.evaluate("window.isSamePage = true")
    page.get_by_label("1 year", exact=True).check()
    first_price(page).get_by_text("13.40").wait_for()  # (5,000 + 2 x 4,200) / 1,000
    assert page.evaluate("window.isSamePage")
    assert "term=1&" in page.url
    assert "discount=" not in page.url  # what is empty is as usual, and not said


@pytest.mark.whole
def test_terms_work_without_script(page_without_script, experiment):
    page = page_without_script
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_label("5 years").check()
    page.locator("#prices-1").get_by_role("button", name="Apply").click()
    first_price(page).get_by_text("47.00").wait_for()
    assert page.get_by_label("5 years").is_checked()
    page.locator("#levels").get_by_label("PostgreSQL 18").check()
    page.locator("#levels").get_by_role("button", name="Apply").click()
    page.get_by_text("PostgreSQL 16 gives 0.50x").wait_for()
    assert page.get_by_label("5 years").is_checked()


@pytest.mark.whole
def test_less_usual_terms_change_the_page_without_a_reload_and_stay_open(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.evaluate("window.isSamePage = true")
    page.get_by_text("More terms").click()
    page.get_by_label("Discount, %").fill("10")
    page.keyboard.press("Tab")
    first_price(page).get_by_text("27.18").wait_for()  # 30,200 less 10%, over 1,000
    page.get_by_role("textbox", name="Standbys").fill("1")
    page.keyboard.press("Enter")
    first_price(page).get_by_text("54.36").wait_for()  # everything twice
    assert page.locator("#more-1").get_attribute("open") is not None
    assert "discount=10" in page.url
    assert "standbys=1" in page.url
    assert page.evaluate("window.isSamePage")
    assert not is_too_wide(page)


@pytest.mark.whole
def test_a_wrong_term_is_told_beside_its_control_and_put_right(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_text("More terms").click()
    page.get_by_label("Discount, %").fill("101")
    page.keyboard.press("Tab")
    page.get_by_text("Write a discount from 0 to 100 per cent").wait_for()
    assert page.get_by_label("Discount, %").input_value() == "101"
    first_price(page).get_by_text("30.20").wait_for()
    page.get_by_label("Discount, %").fill("50")
    page.keyboard.press("Tab")
    first_price(page).get_by_text("15.10").wait_for()
    assert page.get_by_text("Write a discount from 0 to 100 per cent").count() == 0


@pytest.mark.whole
def test_the_load_under_a_ceiling_is_chosen_and_its_ceiling_written(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_label("At which level").select_option("latency")
    page.get_by_text("no guarantee for users who arrive on their own").wait_for()
    page.get_by_label("Latency at most, ms").fill("5")
    page.keyboard.press("Tab")
    page.get_by_text("No level keeps 5 ms").wait_for()  # 8 clients over 1,000 TPS take 8 ms on average
    assert "ceiling=5" in page.url


def test_figures_of_prices_are_drawn_and_their_questions_change_without_a_reload(page, experiment):
    core = LicenceModel.objects.create(name="Per core", metric="core")
    source = {"currency": "EUR", "priced_on": date(2026, 1, 1), "source": "a quote"}
    ListPrice.objects.create(licence_model=core, description="core", amount=Decimal(1800), **source)
    page.goto(f"/compare/?experiment={experiment.pk}")
    for name in ("price-figures", "what-if"):
        page.locator(f"#{name} > summary").click()
    for name in ("clients", "split", "break-even", "sensitivity", "standbys", "pareto"):
        page.locator(f"#chart-{name}.drawn").wait_for()
    page.evaluate("window.isSamePage = true")
    page.locator("#price-figures form").get_by_label("Per socket").check()
    page.get_by_text("The price of one TPS under Per socket").wait_for()
    page.get_by_label("System", exact=True).select_option(label="PostgreSQL 18")
    page.get_by_text("These answers are about PostgreSQL 18 under Per socket").wait_for()
    assert page.evaluate("window.isSamePage")
    assert not is_too_wide(page)
    page.locator("#table-split > summary").click()
    page.locator("#table-split").get_by_role("link", name="How?").first.click()
    page.locator("#prices-1 details[open] ol").first.wait_for()


@pytest.mark.whole
def test_all_terms_work_without_script(page_without_script, experiment):
    page = page_without_script
    page.goto(f"/compare/?experiment={experiment.pk}")
    page.get_by_text("More terms").click()
    page.get_by_label("Discount, %").fill("10")
    page.get_by_role("textbox", name="Standbys").fill("1")
    page.locator("#prices-1").get_by_role("button", name="Apply").click()
    first_price(page).get_by_text("54.36").wait_for()
    expect(page.get_by_label("Discount, %")).to_be_visible()
    page.locator("#what-if > summary").click()
    page.locator("#what-if").get_by_label("System", exact=True).select_option(label="PostgreSQL 18")
    page.locator("#what-if").get_by_role("button", name="Apply").click()
    page.get_by_text("These answers are about PostgreSQL 18").wait_for()
    first_price(page).get_by_text("54.36").wait_for()
    assert page.locator("#price-figures").get_attribute("open") is not None  # the address says what they are about
    page.locator("#table-split > summary").click()
    expect(page.locator("#table-split table")).to_be_visible()
