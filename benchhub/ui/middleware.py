from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseRedirectBase

# Plotly sets styles from script and exports pictures through data: and blob: addresses; nothing else is loosened.
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


Handler = Callable[[HttpRequest], HttpResponse]


def content_security_policy(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def whole_page_instead_of_a_part(get_response: Handler) -> Handler:
    """Where htmx asked for a part of a page and is led away (to sign in) or refused, the page goes there itself."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_led_away = isinstance(response, HttpResponseRedirectBase) or response.status_code == 403
        return _whole_page(request) if is_led_away and "HX-Request" in request.headers else response

    return middleware


def _whole_page(request: HttpRequest) -> HttpResponse:
    """What was asked for is opened; a form that was sent cannot be, so its page is loaded again."""
    how = {"HX-Redirect": request.get_full_path()} if request.method == "GET" else {"HX-Refresh": "true"}
    return HttpResponse(status=204, headers=how)
