"""The menu and the search box as a browser shows them: by mouse, by keyboard, and on a phone."""

import pytest
from playwright.sync_api import expect

from benchhub.accounts.navigation import GROUPS
from benchhub.bench import testing
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG_NAME = "a-name-of-a-user-that-is-as-long-as-names-of-users-rarely-are@example.org"


@pytest.fixture
def tab(page):
    testing.make_host("anvil", "192.0.2.1")
    sign_in(page)
    return page


def entries(tab):
    return tab.get_by_role("navigation", name="Main").get_by_role("link")


def hits_of(tab, text):
    """Return what was found for all that was typed: what was found for its beginning may have come before."""
    return tab.locator(f"#search-hits [data-text='{text}']")


def focused(tab):
    return tab.evaluate("document.activeElement.textContent.trim()")


@pytest.mark.parametrize("width", [1280, pytest.param(1024, marks=pytest.mark.whole)])
def test_the_groups_take_one_line_and_tab_reaches_every_entry(tab, width):
    tab.set_viewport_size({"width": width, "height": 800})
    groups = tab.locator(".top summary")
    assert groups.all_text_contents() == [group.title for group in GROUPS]
    tab.locator(".user").evaluate("(link, name) => { link.textContent = name; }", LONG_NAME)
    assert len({group.bounding_box()["y"] for group in groups.all()}) == 1
    assert tab.locator(".top").bounding_box()["height"] < 2.5 * groups.first.bounding_box()["height"]
    tab.locator(".brand").focus()
    for group in GROUPS:
        tab.keyboard.press("Tab")
        assert focused(tab) == group.title
        tab.keyboard.press("Enter")
        assert entries(tab).all_text_contents() == [page.title for page in group.pages]
        assert not is_too_wide(tab)
        for page in group.pages:
            tab.keyboard.press("Tab")
            assert focused(tab) == page.title
    tab.keyboard.press("Tab")
    assert focused(tab).startswith("Search")
    entries(tab).first.wait_for(state="hidden")


@pytest.mark.whole
def test_escape_and_a_click_elsewhere_close_a_group(tab):
    tab.set_viewport_size({"width": 1280, "height": 800})
    for close in (lambda: tab.keyboard.press("Escape"), lambda: tab.locator("h1").click()):
        tab.locator("summary", has_text="Plan").click()
        entries(tab).first.wait_for()
        close()
        entries(tab).first.wait_for(state="hidden")
        expect(entries(tab).first).to_be_hidden()


def test_a_phone_opens_all_groups_at_once_and_is_not_too_wide(tab):
    assert entries(tab).count() == 0
    tab.get_by_role("button", name="Menu").press("Enter")
    assert entries(tab).count() == sum(len(group.pages) for group in GROUPS)
    assert not is_too_wide(tab)


@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.whole)])
def test_control_k_finds_a_host_and_enter_opens_it(tab, width):
    tab.set_viewport_size({"width": width, "height": 800})
    tab.keyboard.press("Control+k")
    tab.keyboard.type("anv")
    hits_of(tab, "anv").get_by_role("link", name="anvil").wait_for()
    assert not is_too_wide(tab)
    assert tab.get_by_role("status").first.text_content() == "1 hit; Enter opens the first."
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="anvil").first.wait_for()


def test_arrows_walk_through_the_hits_and_escape_closes_the_box(tab):
    tab.get_by_role("link", name="Search").click()
    tab.keyboard.type("que")
    hits_of(tab, "que").get_by_role("link", name="Queue").wait_for()
    tab.keyboard.press("ArrowDown")
    assert focused(tab) == "Queue"
    tab.keyboard.press("ArrowUp")
    assert tab.evaluate("document.activeElement.name") == "q"
    tab.keyboard.press("Escape")
    tab.get_by_role("dialog").wait_for(state="hidden")
    assert tab.url.endswith("/")
