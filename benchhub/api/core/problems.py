"""Errors as RFC 9457 problem details: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from benchhub.analysis.words import count
from benchhub.bench.queue.exclusive import OverlapError

MEDIA_TYPE = "application/problem+json"
BASE = "/api/v1/problems/"
# status -> (kind, title, remedy). The kind ends the address that names the type.
KINDS: Mapping[int, tuple[str, str, str]] = {
    400: ("malformed", "The request cannot be read", "Correct what is named and send it again."),
    401: ("unauthenticated", "Nobody is signed in", "Send 'Authorization: Bearer ...' with a token that is good."),
    403: ("forbidden", "This is not allowed", "Ask an administrator for the role, the permit or the scope."),
    404: ("not-found", "There is no such thing", "Look for it in its list."),
    405: ("method", "This address does not take that method", "See the methods in the header Allow."),
    406: ("not-acceptable", "There is no such representation", "Accept application/json."),
    409: ("conflict", "This is not possible as things stand", "Look at the present state, then decide again."),
    412: ("changed", "It has changed since", "Fetch it again and repeat the change."),
    413: ("too-large", "The request is too large", "Send it in several parts."),
    415: ("media-type", "This media type is not read here", "Send application/json."),
    422: ("invalid", "What was sent is not valid", "Correct the fields that are named and send it again."),
    429: ("too-many", "Too many requests", "Wait as long as the header Retry-After says."),
    501: ("not-here", "This installation cannot do that", "Ask whoever runs it, or do without."),
    500: ("fault", "BenchHub has failed", "Look at the log of the web process."),
}


class Problem(exceptions.APIException):
    """`errors` are {"pointer", "detail"}, for NDJSON also "line"; a remedy other than the status's can be given."""

    def __init__(self, code: int, detail: str, errors: Iterable[Mapping[str, Any]] = (), remedy: str = "") -> None:
        super().__init__(detail)
        self.status_code, self.errors, self.remedy = code, list(errors), remedy


def invalid(errors: Iterable[Mapping[str, Any]]) -> Problem:
    faults = list(errors)
    return Problem(422, f"Nothing was stored, because of {count(len(faults), 'fault')}.", faults)


def of_form(form: Any, prefix: str = "") -> list[dict[str, str]]:
    """Return what is wrong with a form; the pointer of its general errors is the prefix itself."""
    return [
        {"pointer": f"{prefix}/{name}" if name != "__all__" else prefix, "detail": " ".join(map(str, errors))}
        for name, errors in form.errors.items()
    ]


def handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Answer an exception, as DRF's exception handler."""
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, OverlapError):
        error = Problem(409, str(error))
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(*error.args)
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    if isinstance(error, exceptions.ValidationError):
        error = invalid(flat(error.detail))
    return _response(error, context["request"])


def _response(error: exceptions.APIException, request: Any) -> Response:
    errors, remedy = getattr(error, "errors", []), getattr(error, "remedy", "")
    sentences = " ".join(problem["detail"] for problem in flat(error.detail))
    data = body(error.status_code, sentences, request.path, errors, remedy)
    response = Response(data, status=error.status_code, content_type=MEDIA_TYPE)
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = f"{wait:.0f}"
    return response


def body(code: int, detail: str, path: str, errors: Iterable[Any] = (), remedy: str = "") -> dict[str, Any]:
    kind, title, usual = KINDS.get(code, KINDS[400 if code < 500 else 500])
    more = {"errors": list(errors)} if errors else {}
    return {
        "type": f"{BASE}{kind}",
        "title": title,
        "status": code,
        "detail": detail,
        "remedy": remedy or usual,
        "instance": path,
        **more,
    }


def flat(detail: Any, pointer: str = "") -> Iterator[dict[str, str]]:
    """Yield DRF's nested details as pointers and sentences."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from flat(inner, pointer if name == "non_field_errors" else f"{pointer}/{name}")
    elif isinstance(detail, list) and any(isinstance(part, Mapping | list) for part in detail):
        for number, inner in enumerate(detail):
            yield from flat(inner, f"{pointer}/{number}")
    elif isinstance(detail, list):
        if detail:
            yield {"pointer": pointer, "detail": " ".join(map(str, detail))}
    else:
        yield {"pointer": pointer, "detail": str(detail)}


@csrf_exempt
@login_not_required
def not_found(request: Any, *_: Any, **__: Any) -> JsonResponse:
    """Answer addresses below /api/ that lead nowhere."""
    data = body(status.HTTP_404_NOT_FOUND, "This address leads nowhere.", request.path, remedy="Start from /api/v1/.")
    return JsonResponse(data, status=404, content_type=MEDIA_TYPE)
