from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseRedirectBase

# Plotly sets styles from script and exports pictures through data: and blob: addresses; nothing else is loosened.
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


Handler = Callable[[HttpRequest], HttpResponse]
PAGE_METHODS, API_METHODS = ("GET", "HEAD", "POST", "OPTIONS"), ("PUT", "PATCH", "DELETE")


def refuse_other_methods(get_response: Handler) -> Handler:
    """Refuse methods that no page has, which a view would answer as GET, and no guard would look at as a change."""

    def middleware(request: HttpRequest) -> HttpResponse:
        methods = (*PAGE_METHODS, *(API_METHODS if request.path.startswith("/api/") else ()))
        return get_response(request) if request.method in methods else HttpResponseNotAllowed(methods)

    return middleware


def refuse_impossible_addresses(get_response: Handler) -> Handler:
    """Refuse an address with a NUL character: nothing has such a name, and the warehouse takes none to look for.

    The API says so itself, to whoever may ask.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info and not request.path.startswith("/api/"):
            raise Http404
        return get_response(request)

    return middleware


def content_security_policy(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response

    return middleware


def kept_by_nobody(get_response: Handler) -> Handler:
    """Let no browser and no proxy keep a page of somebody who has signed in: the next at the machine sees nothing."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if getattr(request, "user", None) and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware


def whole_page_instead_of_a_part(get_response: Handler) -> Handler:
    """Load the whole page where htmx asked for a part of it and is redirected (to sign in) or refused."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_led_away = isinstance(response, HttpResponseRedirectBase) or response.status_code == 403
        if not is_led_away or "HX-Request" not in request.headers:
            return response
        # A form cannot be sent again, so its page is loaded again.
        headers = {"HX-Redirect": request.get_full_path()} if request.method == "GET" else {"HX-Refresh": "true"}
        return HttpResponse(status=204, headers=headers)

    return middleware
