"""Views that the resources of the catalogue share: revisions, retiring, deleting."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import ProtectedError
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.words import listing
from benchhub.api.core import problems
from benchhub.api.core.views import AddView
from benchhub.catalog.shared.citations import citations
from benchhub.catalog.shared.retire import users_of

REVISED = ("id", "url", "name", "revision", "retired_at")


NAMED = {"name": ["exact", "icontains"]}


BY_REVISION = {**NAMED, "revision": ["exact"], "retired_at": ["isnull"]}


class RetireView(AddView):
    """Rows that are retired instead of deleted, and shown again."""

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        if users := users_of(row):
            raise problems.Problem(409, f"{row} is in use: change {listing(users)} first.")
        self.get_queryset().filter(pk=row.pk).retire()
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="show-again")
    def show_again(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        if not self.get_queryset().filter(pk=row.pk).show_again():
            raise problems.Problem(409, f"{row} has a newer revision: that one can be shown again.")
        return Response(self.get_serializer(self.get_object()).data)


class ReviseView(RetireView):
    """Rows that results cite: a change is a new revision, answered with its own address."""

    filterset_fields: ClassVar[Any] = BY_REVISION
    ordering_fields: ClassVar[Any] = ("id", "name")

    @action(detail=True, methods=["post"])
    def revise(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        return self.created_answer(self.save(self.changed_values(row, request), row))


class EditView(RetireView):
    """Rows that are edited in place, and deleted while nothing cites them."""

    filterset_fields: ClassVar[Any] = NAMED

    def partial_update(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        return self.edited_answer(self.save(self.changed_values(row, request), row))

    def edited_answer(self, row: Any) -> Response:
        return Response(self.get_serializer(self.get_queryset().get(pk=row.pk)).data)

    def destroy(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        if not citations(row) and _delete(row):
            return Response(status=204)
        raise problems.Problem(409, f"{row} stays, because results or plans need it: {listing(citations(row))}.")


def _delete(row: Any) -> bool:
    """Delete a row; return False where a result or a plan has come to cite it meanwhile."""
    try:
        row.delete()
    except ProtectedError:
        return False
    return True
