"""Pages behind a link, for whoever has it: no login, and no cookie but that of who typed its password.

Each view reads the link anew, so revoking works.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from benchhub.accounts import audit
from benchhub.release import release
from benchhub.reports.models import Link
from benchhub.ui.middleware import POLICY

from . import passwords, publish
from .choices.edition import Reading
from .output import card as cards
from .output import exports, render
from .output.turns import READERS, RETRY_S, BusyError

CARD = "card.png"
View = Callable[..., HttpResponse]
# The reasons why a link shows nothing: status, title and sentence.
CLOSED = {
    "revoked": (410, "This link was withdrawn", "Whoever sent it to you has closed it for good."),
    "expired": (410, "This link has expired", "Ask whoever sent it to you for a new one."),
    "paused": (403, "This link is paused", "It may be opened again: try later, or ask whoever sent it to you."),
}
BUSY_TITLE = "Please come back in a moment"
NO_LINK = (404, "There is nothing at this address", "Check that you have the whole of it.")


def open_to_all(view: View) -> View:
    """Open a view to all, without login or cookie: a form without a cookie gives another site nothing to misuse."""
    return login_not_required(csrf_exempt(xframe_options_exempt(require_http_methods(["GET", "HEAD", "POST"])(view))))


def by_link(view: View) -> View:
    """Find the link of a token, ask for its password where it has one, and set the headers of all that it shows."""

    @wraps(view)
    def view_of_token(request: HttpRequest, token: str, key: str = "", **parameters: str) -> HttpResponse:
        link = Link.objects.of_token(token).for_sharing().first()
        if link is None or link.state in CLOSED:
            return _with_headers(_closed_page(link), link)
        if link.password and not passwords.opens(link, key):
            return _with_headers(_password_page(request, link, token, is_late=bool(key)), link)
        if request.method == "POST":
            return _with_headers(HttpResponse(status=405, headers={"Allow": "GET, HEAD"}), link)
        publish.renew(link)
        try:
            return _with_headers(view(request, link, **parameters), link)
        except BusyError as error:
            return _with_headers(_busy(error), link)

    return open_to_all(view_of_token)


@by_link
def page(request: HttpRequest, link: Link, as_report: bool = False) -> HttpResponse:
    if request.method == "GET":
        link.count_view()
    reading = Reading.by_link(link, request.GET)
    etag = f'W/"{link.projection.sha256[:32]}-{release()}-{reading.digest}{"-report" if as_report else ""}"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    # Beside the page, whether that is the report or not. Who must type a password first sees no picture either.
    picture = "" if link.password else request.build_absolute_uri(CARD)
    plain, zipped = render.page(link.projection_id, as_report, picture, reading)
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(zipped if takes_gzip else plain, headers={"ETag": etag, "Vary": "Accept-Encoding"})
    if takes_gzip:
        response.headers["Content-Encoding"] = "gzip"
    return response


@by_link
def card(request: HttpRequest, link: Link) -> HttpResponse:
    """Answer with the picture of a preview card, which is no view of the page.

    A link behind a password names no such picture.
    """
    etag = f'"{link.projection.sha256[:32]}-{release()}-card"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    picture = cards.png(link.projection.sha256)
    return HttpResponse(picture, content_type="image/png", headers={"ETag": etag})


@by_link
def file(request: HttpRequest, link: Link, name: str) -> HttpResponse:
    reading = Reading.by_link(link, request.GET)
    # A PDF is printed once and in turns of its own.
    takes_turn = name.endswith(".html") or (reading.selection and not name.endswith(".pdf"))
    with READERS.turn() if takes_turn else nullcontext():
        return exports.file(link.projection, name, reading)


def _closed_page(link: Link | None) -> HttpResponse:
    status, title, sentence = CLOSED[link.state] if link else NO_LINK
    return _rendered("shared/closed.html", {"title": title, "sentence": sentence}, status)


def _busy(error: BusyError) -> HttpResponse:
    page = _rendered("shared/closed.html", {"title": BUSY_TITLE, "sentence": str(error)}, 503)
    page.headers["Retry-After"] = str(RETRY_S)
    return page


def _password_page(request: HttpRequest, link: Link, token: str, *, is_late: bool) -> HttpResponse:
    """Ask for the password; the right one leads to an address that opens the page for a while."""
    address = reverse("shared", args=[token])
    problem = "This address was open for an hour only. Type the password again." if is_late else ""
    if request.method == "POST":
        problem = passwords.refusal(request, link, request.POST.get("password", ""))
        if not problem:
            to_page = HttpResponseRedirect(reverse("shared-open", args=[token, passwords.key(link)]))
            passwords.remember(request, to_page, link, address)
            return to_page
        audit.note_refused_key(request, audit.WRONG_LINK_PASSWORD, f"link {link.pk} of snapshot {link.snapshot_id}")
    status = 429 if problem == passwords.TOO_MANY else 403 if problem else 200
    page = _rendered("shared/password.html", {"problem": problem, "address": address}, status)
    if status == 429:
        page.headers["Retry-After"] = str(int(passwords.WAIT.total_seconds()))
    return page


def _rendered(template: str, context: dict[str, str], status: int) -> HttpResponse:
    """Render without the request: reading a user or a session might set a cookie."""
    return HttpResponse(render_to_string(template, context), status=status)


def _with_headers(response: HttpResponse, link: Link | None) -> HttpResponse:
    frames = link.embedded_by if link and link.embedded_by else "'none'"
    response.headers["Content-Security-Policy"] = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {frames}")
    response.headers.setdefault("Cache-Control", "private, no-cache")
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    return response
