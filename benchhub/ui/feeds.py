"""Answers that many viewers ask for again and again: made once for all of them, and not sent to who has them.

A page under way asks for itself every few seconds. Its version, which costs a query and is kept for a second, tells
whether anything of it has changed. Where it has, only a few pages at once are made anew for those who only look on: the
others ask again, so that refreshes never take the threads from people who click.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.utils.safestring import SafeString, mark_safe

VERSION = "BenchHub-Version"
FRESH_S = 1.0
PASSING_S = 5.0  # as often as a page asks for itself
MOST_ANSWERS = 512
MOST_DRAWINGS = 16  # pages of up to 150 kB, of which each new version makes the older ones useless
MOST_REFRESHES = 2
TOKEN_MARK = secrets.token_hex()  # nobody outside knows it, so that no text of a page can be taken for it

_turns = threading.BoundedSemaphore(MOST_REFRESHES)


class Feeds:
    """Keep the newest answers for a while, each made by one thread while others wait for it."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, fresh_s: float = FRESH_S, most: int = MOST_ANSWERS
    ) -> None:
        self._clock = clock
        self._most = most
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return the answer of this key, made anew if it is too old."""
        answer = self._answer(key)
        with answer.lock:
            if self._clock() - answer.made_s >= self._fresh_s:
                answer.text = make()
                answer.made_s = self._clock()
            return answer.text

    def _answer(self, key: Hashable) -> _Answer:
        with self._lock:
            answer = self._answers.setdefault(key, _Answer())
            self._answers.move_to_end(key)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
            return answer


class _Answer:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made_s = float("-inf")
        self.text = ""


feeds = Feeds()
# Pages by their version, which is another one where anything of them has changed.
drawings = Feeds(fresh_s=float("inf"), most=MOST_DRAWINGS)


# Parts of a page that change with the time itself: so long, all who look on see the same.
passing = Feeds(fresh_s=PASSING_S, most=MOST_DRAWINGS)


def version_of(*facts: Any) -> str:
    """Return a short text that is the same in each process, and another one where any of the facts is."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def answer(request: HttpRequest, key: Hashable, make: Callable[[], dict[str, Any]]) -> HttpResponse:
    """Answer with JSON, or with 304 and nothing where the viewer has this answer already."""
    text = feeds.get(key, lambda: json.dumps(make(), separators=(",", ":")))
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'
    is_there = request.headers.get("If-None-Match") == etag
    response = HttpResponse(status=304) if is_there else HttpResponse(text, content_type="application/json")
    response["ETag"] = etag
    return response


def drawn(request: HttpRequest, key: Hashable, draw: Callable[[str], str]) -> SafeString:
    """Return HTML that was drawn once for all who look on and may do the same, which `key` says with the version.

    The key has what the address means, as many addresses may mean the same. `draw` takes what stands for the token of
    the reader's own forms. Whoever opens the page has it drawn anew.
    """
    html = drawings.get(key, lambda: draw(TOKEN_MARK)) if VERSION in request.headers else draw(TOKEN_MARK)
    return mark_safe(html.replace(TOKEN_MARK, get_token(request)))  # nosec B308


def is_unchanged(request: HttpRequest, key: Hashable, version: Callable[[], str]) -> bool:
    """Tell whether a page that refreshes itself is as the viewer has it."""
    version_before = request.headers.get(VERSION)
    return version_before is not None and version_before == feeds.get(key, version)


def refreshed(
    request: HttpRequest, key: Hashable, version: Callable[[], str], page: Callable[[str], HttpResponse]
) -> HttpResponse:
    """Answer with the page, which takes its version; with 204 and nothing where it need not be made anew now."""
    if VERSION not in request.headers:
        return page(version())
    if is_unchanged(request, key, version) or not _turns.acquire(blocking=False):
        return HttpResponse(status=204)
    try:
        return page(version())
    finally:
        _turns.release()


def passed(
    request: HttpRequest, key: Hashable, draw: Callable[[], str], page: Callable[[SafeString, str], HttpResponse]
) -> HttpResponse:
    """Answer with a page of HTML that is drawn anew every `PASSING_S` for all who look on and may do the same.

    It has no version but itself; 204 and nothing where the viewer has it. Whoever opens the page has it drawn anew.
    """
    version_before = request.headers.get(VERSION)
    html = draw() if version_before is None else passing.get(key, draw)
    version = version_of(html)
    return HttpResponse(status=204) if version == version_before else page(mark_safe(html), version)  # nosec B308
