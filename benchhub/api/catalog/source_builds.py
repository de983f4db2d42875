"""PostgreSQL that BenchHub builds on hosts: asked for, watched, cancelled and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import FILE, ReadView, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.builds.form import OWN_SOURCES, SourceBuildForm
from benchhub.catalog.builds.logs import log_file
from benchhub.catalog.builds.page import USED
from benchhub.celery import wake
from benchhub.ui.acts import explain, explain_form

FORBIDDEN_SOURCE = "Only an administrator may have other sources built than PostgreSQL's own: what they hold is run."

NUMBER = OpenApiParameter("number", OpenApiTypes.INT64, OpenApiParameter.PATH, description="Of the attempt, from 1 on.")


class SourceBuildLog(serializers.ModelSerializer):
    class Meta:
        model = models.SourceBuildLog
        fields = ("number", "size_bytes", "sha256", "whole_bytes", "whole_sha256", "stored_at")


class SourceBuild(RowSerializer):
    logs = SourceBuildLog(many=True, read_only=True, help_text="One of each attempt that began; `log/N/` has its text.")
    facts = serializers.JSONField(read_only=True, help_text="Its programs, as a probe describes those that it finds.")
    source_facts = serializers.JSONField(
        read_only=True, help_text="What was really built: commit, sha256 of the tarball, compiler."
    )

    class Meta:
        model = models.SourceBuild
        fields = (
            "id", "url", "host", "kind", "revision", "place", "options", "jobs", "digest", "number", "state", "step",
            "error", "contact_error", "asked_at", "started_at", "ended_at", "facts", "source_facts", "logs",
        )  # fmt: skip


SOURCE_BUILD = serializer_of(
    SourceBuildForm, "SourceBuildRequest", host=drf.IntegerField(min_value=1, max_value=2**63 - 1)
)


class SourceBuilds(ReadView):
    queryset = models.SourceBuild.objects.for_table().prefetch_related("logs")
    serializer_class = SourceBuild
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"host": ["exact"], "state": ["exact", "in"]}
    ordering_fields: ClassVar[Any] = ("id",)

    @extend_schema(request=SOURCE_BUILD, responses={202: SourceBuild})
    def create(self, request: Request) -> Response:
        """Have a PostgreSQL built on a host. The same source and options there are one build, which is answered."""
        values = json_forms.checked(SOURCE_BUILD, request.data)
        host = models.Host.objects.defer("private_key").filter(pk=values.pop("host")).first()
        if host is None:
            raise problems.invalid([{"pointer": "/host", "detail": "There is no such host."}])
        self._require_permit(host)
        has_any_source = rights.is_at_least(request.user, rights.Role.ADMINISTRATOR)
        if not has_any_source and any(values.get(name) for name in OWN_SOURCES):
            raise problems.Problem(403, FORBIDDEN_SOURCE)
        form = SourceBuildForm(json_forms.texts(values), host=host, has_any_source=has_any_source)
        row = json_forms.save_form(form)
        explain_form(request, form)
        return self._accepted(row)

    @extend_schema(request=None, responses={202: SourceBuild})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Build again what failed, was cancelled or removed."""
        row = self._permitted()
        return self._done(row, row.ask, "build")

    @extend_schema(request=None, responses={202: SourceBuild})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """End it: at once where it waits, else as soon as a worker has stopped it on the host.

        Asked again when `contact_error` says that a worker could not, it is given up without the host.
        """
        row = self._permitted()
        return self._done(row, row.cancel, "cancel")

    @extend_schema(request=None, responses={202: SourceBuild})
    @action(detail=True, methods=["post"])
    def remove(self, request: Request, pk: str) -> Response:
        """Remove its programs from the host, unless an instance uses them; its logs and results stay."""
        row = self._permitted()
        if user := row.users().first():
            raise problems.Problem(409, USED.format(user))
        return self._done(row, row.ask_to_remove, "remove")

    @extend_schema(parameters=[NUMBER], responses={(200, "text/plain"): OpenApiTypes.BINARY})
    @action(detail=True, url_path="log/(?P<number>[0-9]{1,9})", **FILE)
    def log(self, request: Request, pk: str, number: str) -> HttpResponse:
        """Return what an attempt printed, as it came; of a very long log without its middle."""
        return log_file(get_object_or_404(models.SourceBuildLog, build=self.get_object(), number=number))

    def _done(self, row: models.SourceBuild, act: Callable[[], bool], purpose: str) -> Response:
        if not act():
            raise problems.Problem(409, f"Nothing was done: it is {row.get_state_display()}.")
        explain(self.request, f"{row}: {purpose}")
        return self._accepted(row)

    def _accepted(self, row: models.SourceBuild) -> Response:
        transaction.on_commit(wake)
        return self.accepted_answer(self.get_queryset().get(pk=row.pk))

    def _permitted(self) -> models.SourceBuild:
        row: models.SourceBuild = self.get_object()
        self._require_permit(row.host)
        return row

    def _require_permit(self, host: models.Host) -> None:
        if rights.denied_hosts(self.request.user, [host.pk]):
            raise problems.Problem(403, f"You have no permit to run on {host}.")
