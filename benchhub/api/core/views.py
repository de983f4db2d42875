"""Parts that all views of the API share: scopes, ETags, idempotency keys, pages by cursor, and writing by forms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import UTC, timedelta
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import DataError, models, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpResponseNotModified
from django.urls import reverse
from django_filters.fields import IsoDateTimeField
from django_filters.rest_framework import DjangoFilterBackend, FilterSet, IsoDateTimeFilter
from rest_framework import filters, mixins, negotiation, pagination, renderers, serializers, status, viewsets
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as DrfValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts.models import Answer
from benchhub.celery import wake
from benchhub.ui.acts import explain_form

from . import bodies, json_forms, problems
from .authentication import HasScope, TokenAuthentication
from .parsers import Streamed

ANSWER_LIFETIME = timedelta(days=1)
KEY_LENGTH = 200
OWN_PARAMETERS = frozenset({"cursor", "page_size", "ordering", "format"})


def parameter_problem(parameter: str, sentence: str) -> problems.Problem:
    return problems.Problem(400, sentence, [{"pointer": f"?{parameter}", "detail": sentence}])


class Pages(pagination.CursorPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 1000
    ordering = "-pk"
    offset_cutoff = 1_000_000  # rows with the same value of what they are ordered by

    def get_page_size(self, request: Request) -> int | None:
        size_text = request.query_params.get(self.page_size_query_param, "1")
        if not (size_text.isascii() and size_text.isdecimal() and size_text.strip("0")):
            raise parameter_problem("page_size", f"page_size must be 1 to {self.max_page_size}.")
        size: int | None = super().get_page_size(request)
        return size

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> tuple[str, ...]:
        """Order by key at last: rows that are alike in all else could come twice, or on no page."""
        ordering = tuple(super().get_ordering(request, queryset, view))
        by_key = "-pk" if ordering[0].startswith("-") else "pk"
        return ordering if {"pk", "-pk", "id", "-id"} & set(ordering) else (*ordering, by_key)

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> Any:
        """Return a page. Raises NotFound for a cursor that was tampered with."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, TypeError, OverflowError, DataError, ValidationError) as error:
            raise NotFound("This cursor leads nowhere: start again without one.") from error


class Utc(IsoDateTimeField):
    """A time in UTC: Python knows offsets of 20 hours, and PostgreSQL refuses them."""

    def clean(self, value: Any) -> Any:
        time = super().clean(value)
        try:
            return time.astimezone(UTC) if time else time
        except OverflowError as error:
            raise ValidationError("Write a time of this calendar.") from error


class UtcFilter(IsoDateTimeFilter):
    field_class = Utc


class Lookups(FilterSet):
    FILTER_DEFAULTS = {**FilterSet.FILTER_DEFAULTS, models.DateTimeField: {"filter_class": UtcFilter}}


class Filters(DjangoFilterBackend):
    """Refuses parameters that nothing reads: a misspelt filter would otherwise let everything through."""

    filterset_base = Lookups

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        filterset = self.get_filterset_class(view, queryset)
        names = set(filterset.base_filters) if filterset else set()
        names |= {"search"} if getattr(view, "search_fields", None) else set()
        if unknown := sorted(set(request.query_params) - names - OWN_PARAMETERS):
            errors = [{"pointer": f"?{name}", "detail": "There is no such parameter."} for name in unknown]
            raise problems.Problem(400, f"Parameters that nothing reads: {', '.join(unknown)}.", errors)
        try:
            filtered: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        except DrfValidationError as error:
            errors = [
                {**problem, "pointer": f"?{problem['pointer'].lstrip('/')}"} for problem in problems.flat(error.detail)
            ]
            raise problems.Problem(422, " ".join(problem["detail"] for problem in errors), errors) from error
        return filtered


class Search(filters.SearchFilter):
    """A search that is described only where it searches something."""

    def get_schema_operation_parameters(self, view: Any) -> list[Any]:
        return super().get_schema_operation_parameters(view) if getattr(view, "search_fields", None) else []


class Ordering(filters.OrderingFilter):
    """Refuses what nothing is ordered by, instead of ordering by something else."""

    def remove_invalid_fields(self, queryset: Any, fields: Iterable[str], view: Any, request: Request) -> list[str]:
        names = list(fields)
        if any(name.removeprefix("-") not in view.ordering_fields for name in names):
            raise parameter_problem("ordering", self._words(view))
        return names

    def get_schema_operation_parameters(self, view: Any) -> list[Any]:
        return [
            {**parameter, "description": self._words(view)}
            for parameter in super().get_schema_operation_parameters(view)
        ]

    @staticmethod
    def _words(view: Any) -> str:
        return f"Order by {', '.join(view.ordering_fields)}; - before it turns the order round."


class AsItIs(negotiation.BaseContentNegotiation):
    """For files, which are of one type whatever the caller accepts; problems are JSON."""

    def select_renderer(self, _request: Request, renderers: Any, _suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type

    def select_parser(self, _request: Request, parsers: Any) -> Any:
        return next(iter(parsers), None)


# What an action that answers a file has beside its name.
FILE: Any = {"pagination_class": None, "filter_backends": [], "content_negotiation_class": AsItIs}


class View(viewsets.GenericViewSet):
    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes = (HasScope,)
    pagination_class: Any = Pages
    filter_backends: Any = (Filters, Search, Ordering)
    ordering_fields: ClassVar[Any] = ("id",)
    post: Callable[..., Response]  # a viewset gets it from its route
    write_scope = "admin"
    scopes: ClassVar[dict[str, str]] = {}
    secret_fields: ClassVar[tuple[str, ...]] = ()  # secrets in an answer; one that is repeated has null in their place

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Who it is comes first: nobody's body is held in memory.
        self.perform_authentication(request)
        self.check_permissions(request)
        digest = self._hold_body(request)
        super().initial(request, *args, **kwargs)
        if request.method == "POST" and (key := request.headers.get("Idempotency-Key")):
            handle: Any = getattr(self, "post", self.http_method_not_allowed)
            self.post = lambda *a, **k: answer_once(request, key, digest, lambda: handle(*a, **k), self.secret_fields)

    def _hold_body(self, request: Request) -> str:
        """Take the body in once, within a bound, and return its digest; an empty text where there is none to take."""
        plain: Any = request._request
        if request.method not in ("POST", "PUT", "PATCH") or plain._read_started:
            return ""
        streamed = (parser.media_type for parser in self.parser_classes if issubclass(parser, Streamed))
        return bodies.hold(request, is_streamed=plain.content_type in streamed)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if request.method in ("GET", "HEAD") and response.status_code == 200:
            return _conditional(request, response)
        return response

    def etag(self, row: Any) -> str:
        return etag(self.get_serializer(row).data)

    def require_unchanged(self, row: Any) -> None:
        """Raise a problem where the caller names by If-Match a state that is not the present one."""
        tags_text = self.request.headers.get("If-Match", "").strip()
        if tags_text not in ("", "*") and self.etag(row) not in [tag.strip() for tag in tags_text.split(",")]:
            raise problems.Problem(412, f"{row} has changed since you fetched it.")

    def link(self, name: str, *args: Any) -> str:
        return str(self.request.build_absolute_uri(reverse(f"api:{name}", args=args)))

    def accepted_answer(self, row: Any, **more: Any) -> Response:
        """Answer 202; `Location` is where to look for the outcome."""
        transaction.on_commit(wake)
        data = {**self.get_serializer(row).data, **more}
        return Response(data, status=status.HTTP_202_ACCEPTED, headers={"Location": data["url"]})


def etag(data: Any, media_type: str = "application/json") -> str:
    text = renderers.JSONRenderer().render(data)
    return f'"{hashlib.sha256(media_type.encode() + text).hexdigest()[:32]}"'


def _conditional(request: Request, response: Any) -> Any:
    """Add the ETag, and leave out content that the caller has already."""
    response["ETag"] = _etag_of(request, response)
    response["Cache-Control"] = "private, no-cache"
    tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
    if response["ETag"] not in tags and "*" not in tags:
        return response
    if not isinstance(response, Response):
        headers = {name: response[name] for name in ("ETag", "Cache-Control", "Vary") if response.has_header(name)}
        return HttpResponseNotModified(headers=headers)
    response.status_code, response.data = status.HTTP_304_NOT_MODIFIED, None
    return response


def _etag_of(request: Request, response: Any) -> str:
    if not isinstance(response, Response):
        return f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    return etag(response.data, getattr(request, "accepted_media_type", "application/json").partition(";")[0])


def answer_once(
    request: Request, key: str, body_digest: str, handle: Callable[[], Response], secret_fields: tuple[str, ...] = ()
) -> Response:
    """Carry a request out unless its key was used: then answer as the first time.

    Everything is one transaction: two that come at once wait for each other, and one that fails is forgotten.
    """
    if len(key) > KEY_LENGTH or not key.isprintable():
        raise problems.Problem(400, f"An Idempotency-Key has {KEY_LENGTH} printable characters at most.")
    answers = Answer.objects.filter(owner=request.user.pk)
    answers.filter(created_at__lt=Now() - ANSWER_LIFETIME).delete()
    request_text = f"{request.method} {request.get_full_path()}\n{body_digest}"
    digest = hashlib.sha256(request_text.encode()).hexdigest()
    with transaction.atomic():
        new = Answer(owner_id=request.user.pk, key=key, request_digest=digest)
        Answer.objects.bulk_create([new], ignore_conflicts=True)
        answer = answers.select_for_update().get(key=key)
        if answer.status is not None:
            return _repeated_answer(answer, digest)
        response = handle()
        answer.status, answer.body = response.status_code, _stored_body(response, secret_fields)
        answer.headers = {name: response[name] for name in ("Location",) if response.has_header(name)}
        answer.save()
    return response


def _stored_body(response: Response, secret_fields: tuple[str, ...]) -> bytes:
    """Return what is kept of an answer, without secrets."""
    data = response.data
    if secret_fields and isinstance(data, dict):
        data = {**data, **{name: None for name in secret_fields if name in data}}
    rendered: bytes = renderers.JSONRenderer().render(data)
    return rendered


def _repeated_answer(answer: Answer, digest: str) -> Response:
    if answer.request_digest != digest:
        raise problems.Problem(
            422, "This Idempotency-Key was used for another request.", remedy="Use a new key for each new request."
        )
    data = json.loads(bytes(answer.body)) if answer.body else None
    return Response(data, status=answer.status, headers={**answer.headers, "Idempotent-Replayed": "true"})


class RowSerializer(serializers.ModelSerializer):
    """A row with its own address; a view's basename is the name of its model."""

    url = serializers.SerializerMethodField()

    def get_url(self, row: Any) -> str:
        address = reverse(f"api:{row._meta.model_name}-detail", args=[row.pk])
        request = self.context.get("request")
        return request.build_absolute_uri(address) if request else address


class ReadView(mixins.ListModelMixin, mixins.RetrieveModelMixin, View):
    """A list and its rows."""


class AddView(ReadView):
    """Rows are added by the form of their page."""

    form_class: ClassVar[Any]
    takes: ClassVar[type[serializers.Serializer]]

    def form(self, values: dict[str, Any], instance: Any = None) -> Any:
        return self.form_class(values, instance=instance)

    def blank_form(self, instance: Any = None) -> Any:
        """Return the form as it is shown before anything is typed."""
        return self.form_class(instance=instance)

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        values = {**json_forms.form_values(self.blank_form()), **json_forms.texts(sent)}
        return self.created_answer(self.save(values))

    def save(self, values: dict[str, Any], instance: Any = None) -> Any:
        form = self.form(values, instance)
        row = json_forms.save_form(form)
        explain_form(self.request, form)
        return row

    def created_answer(self, row: Any) -> Response:
        data = self.get_serializer(self.get_queryset().get(pk=row.pk)).data
        return Response(data, status=status.HTTP_201_CREATED, headers={"Location": data["url"]})

    def changed_values(self, row: Any, request: Request) -> dict[str, Any]:
        """Return what the row's form shows, with what was sent in its place."""
        sent = json_forms.checked(self.takes, request.data, partial=True)
        values = json_forms.form_values(self.blank_form(row))
        if wrong := sorted(set(sent) - set(values)):
            sentence = "This cannot be changed: leave it out."
            raise problems.invalid({"pointer": f"/{name}", "detail": sentence} for name in wrong)
        return {**values, **json_forms.texts(sent)}
