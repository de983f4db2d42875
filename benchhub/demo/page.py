"""Look at a page as a browser would: sent to the login, log in, be sent back."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, Request, build_opener

from benchhub.embedded import EmbeddedError

TIMEOUT_S = 30


@dataclass(frozen=True)
class Page:
    url: str
    status: int
    text: str


def answers(url: str) -> bool:
    """Tell whether a web server answers there with success."""
    try:
        with _opener().open(url, timeout=5) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


def visit(url: str, username: str, password: str) -> Page:
    """Fetch a page that needs a login. Raises EmbeddedError when it is not shown."""
    browser = _opener()
    try:
        page = _read(browser.open(url, timeout=TIMEOUT_S))
        if page.url != url:
            page = _read(browser.open(_filled_in(page, username, password), timeout=TIMEOUT_S))
    except URLError as error:
        raise EmbeddedError(f"{url} was not served: {error}.") from error
    if page.url != url:
        raise EmbeddedError(f"{url} was not shown to user {username}, but {page.url} instead.")
    return page


def _opener() -> OpenerDirector:
    """Return an opener without a proxy: the pages lie on this machine."""
    return build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))


def _read(response: HTTPResponse) -> Page:
    with response:
        return Page(response.geturl(), response.status, response.read().decode())


def _filled_in(login: Page, username: str, password: str) -> Request:
    """Send the login form to its own address, which says where to go next."""
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', login.text)
    if token is None:
        raise EmbeddedError(f"{login.url} shows no login form.")
    fields = {"csrfmiddlewaretoken": html.unescape(token[1]), "username": username, "password": password}
    return Request(login.url, data=urlencode(fields).encode(), headers={"Referer": login.url})
