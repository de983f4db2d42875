"""A browser for the tests, and what they ask of a page in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

# How long a busy machine may take over a page. A test that fails for another reason than this waits as long.
PATIENCE_MS = 90_000
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium as Playwright drives it. Playwright keeps an event loop in this thread meanwhile."""
    from playwright.sync_api import expect, sync_playwright

    from benchhub.reports.sharing.output import pdf

    program = pdf.program()
    if program is None:
        pytest.skip("Chromium is not installed: install the package chromium-headless-shell.")
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_FLAGS), timeout=PATIENCE_MS)
        new_context = browser.new_context

        def patient(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE_MS)
            return context

        environment.setattr(browser, "new_context", patient)
        expect.set_options(timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, live_server: Any) -> Iterator[Any]:
    """A tab as wide as a phone, whose console must stay silent."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 360, "height": 800})
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


def is_complaint(message: Any) -> bool:
    """Tell whether Chromium finds fault with the page; that a busy machine had set the focus before is none."""
    return message.type != "log" and not message.text.startswith("Autofocus processing was blocked")


def sign_in(page: Any) -> None:
    """Give the tab a session of an administrator; ends on the home page. The form has tests of its own."""
    from django.contrib.auth import get_user_model

    client, name = Client(), settings.SESSION_COOKIE_NAME
    client.force_login(get_user_model().objects.create_superuser("ada", password="engine"))
    origin = page.request.get("/login/").url.removesuffix("login/")
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": origin}])
    page.goto("/")


def is_too_wide(page: Any) -> bool:
    """Tell whether the page, of which there must be a body, is wider than its window."""
    return bool(page.locator("body").evaluate("body => body.parentElement.scrollWidth > innerWidth"))
