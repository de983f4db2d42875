"""Build, publish, share and open in a fresh profile: once, from end to end."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect
from pypdf import PdfReader

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.reports.models import Link
from benchhub.reports.sharing import passwords
from benchhub.reports.sharing.conftest import SECRETS
from tests.browser import is_too_wide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"


@pytest.fixture
def signed_in(page):
    user = make_user("ada", Role.RUNNER)
    client = Client()
    client.force_login(user)
    page.goto("/login/")
    name = settings.SESSION_COOKIE_NAME
    origin = page.evaluate("location.origin")
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": origin}])
    return page


@pytest.fixture
def fresh(chromium, live_server):
    """A tab of somebody who has never been here."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 360, "height": 800})
    yield context.new_page()
    assert {cookie["name"] for cookie in context.cookies()} <= {passwords.COOKIE}
    context.close()


def build_and_publish(page, experiment):
    page.goto(f"/compare/?experiment={experiment.pk}&discount=12.5")
    page.get_by_role("link", name="Keep and publish").click()
    page.get_by_label("Title").fill("16 or 18 on quokka")
    page.get_by_label("Remarks").fill("Measured at 192.0.2.77.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="What was found").wait_for()


def make_link(page, password):
    page.get_by_role("link", name="Make a link").click()
    page.get_by_label("For whom").fill("The board")
    page.get_by_label("Names of vendors, machines and licences").check()
    page.get_by_label("Password (optional)").fill(password)
    page.get_by_role("button", name="Read what it will tell").click()
    page.get_by_role("button", name="Make the link").click()
    return page.get_by_label("Address").input_value()


def open_with(tab, address, password):
    tab.goto(address)
    tab.get_by_label("Password").fill(password)
    tab.get_by_role("button", name="Open").click()


def secrets_in(text):
    every = [*(name for names in SECRETS.values() for name in names), "12.5%"]
    return [name for name in every if name.lower() in text.lower()]


def download(tab, name):
    if tab.locator("#downloads").get_attribute("open") is None:
        tab.locator("#downloads > summary").click()
    with tab.expect_download() as waiting:
        tab.get_by_role("link", name=name, exact=True).click()
    return waiting.value.path()


def text_of_pdf(path):
    return "\n".join(page.extract_text() for page in PdfReader(path).pages)


def test_from_curves_to_a_page_that_a_stranger_opens_until_the_link_is_withdrawn(signed_in, fresh, experiment):
    build_and_publish(signed_in, experiment)
    assert not is_too_wide(signed_in)
    address = make_link(signed_in, PASSWORD)

    open_with(fresh, address, "wrong password")
    fresh.locator("main").get_by_text("This password is wrong.").wait_for()
    open_with(fresh, address, PASSWORD)
    fresh.locator(".chart.drawn").first.wait_for()
    expect(fresh.locator(".chart.drawn")).to_have_count(7)
    assert "18 gives 1.12x the throughput" in fresh.locator("main").inner_text()
    assert not is_too_wide(fresh)
    assert secrets_in(fresh.content()) == []

    assert secrets_in(download(fresh, "JSON").read_text()) == []
    assert secrets_in(download(fresh, "One HTML file").read_text()) == []
    pdf = download(fresh, "PDF")
    assert pdf.read_bytes().startswith(b"%PDF-")
    text = text_of_pdf(pdf)
    assert "throughput" in text
    assert secrets_in(text) == []

    with fresh.expect_download() as waiting:
        fresh.get_by_role("button", name="SVG of Throughput, TPS").click()
    assert "<svg" in waiting.value.path().read_text()

    opened = fresh.url
    signed_in.get_by_role("link", name="16 or 18 on quokka").click()
    signed_in.get_by_role("link", name="Withdraw the link for The board").click()
    signed_in.get_by_role("button", name="Withdraw the link").click()
    fresh.goto(opened)
    assert "This link was withdrawn" in fresh.locator("h1").inner_text()
    assert Link.objects.get().views == 1


def test_one_file_draws_its_figures_without_a_network_and_an_expired_link_shows_nothing(
    share, fresh, live_server, tmp_path
):
    link, address = share()
    fresh.goto(address)
    file = tmp_path / "page.html"
    file.write_bytes(download(fresh, "One HTML file").read_bytes())
    fresh.context.set_offline(True)
    complaints = []
    fresh.on("console", lambda message: complaints.append(message.text))
    fresh.goto(file.as_uri())
    assert fresh.locator(".chart").count() >= 5
    expect(fresh.locator(".chart.drawn")).to_have_count(fresh.locator(".chart").count())
    assert complaints == []
    fresh.context.set_offline(False)
    Link.objects.filter(pk=link.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    fresh.goto(address)
    assert "This link has expired" in fresh.locator("h1").inner_text()
    assert "1,120" not in fresh.content()
