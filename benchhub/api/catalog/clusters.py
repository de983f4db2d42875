"""Clusters of BenchHub's own: made on a host, looked at, stopped and removed by a worker."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.instances.clusters.form import ClusterForm
from benchhub.catalog.instances.clusters.page import clusters
from benchhub.catalog.instances.clusters.settings import PURPOSES, unfinished_runs
from benchhub.celery import wake
from benchhub.ui.acts import explain, explain_form


class DataCopy(serializers.ModelSerializer):
    class Meta:
        model = models.DataCopy
        fields = ("key", "recipe", "size_bytes", "loaded_s", "copied_s", "restored_s", "shares_blocks", "made_at")


class Cluster(RowSerializer):
    wanted = serializers.CharField(
        read_only=True, help_text="What a worker does with it next: make, look, stop, discard, remove or nothing."
    )
    facts = serializers.JSONField(
        read_only=True,
        help_text="At `seen_at`: is_there, is_running, size_bytes, settings in force, last_start.",
    )

    copies = DataCopy(
        source="current_copies",
        many=True,
        read_only=True,
        help_text="Copies of data sets that are there, with the seconds that load, copy and restoring took.",
    )

    class Meta:
        model = models.Cluster
        fields = (
            "id", "url", "instance", "folder", "has_checksums", "wal_segment_mib", "encoding", "locale", "wanted",
            "contact_error", "made_at", "removed_at", "facts", "seen_at", "copies",
        )  # fmt: skip


CLUSTER = serializer_of(ClusterForm, "ClusterRequest", host=drf.IntegerField(min_value=1, max_value=2**63 - 1))
ASK = inline_serializer("ClusterAskRequest", {"purpose": drf.ChoiceField(choices=PURPOSES)})


class Clusters(ReadView):
    queryset = clusters()
    serializer_class = Cluster
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"instance": ["exact"], "instance__host": ["exact"], "removed_at": ["isnull"]}
    ordering_fields: ClassVar[Any] = ("id",)

    @extend_schema(request=CLUSTER, responses={202: Cluster})
    def create(self, request: Request) -> Response:
        """Have a cluster made, and the instance that it is."""
        sent = json_forms.checked(CLUSTER, request.data)
        host = models.Host.objects.defer("private_key").filter(pk=sent.pop("host")).first()
        if host is None:
            raise problems.invalid([{"pointer": "/host", "detail": "There is no such host."}])
        self._require_permit(host)
        blank_values = json_forms.form_values(ClusterForm(host=host))
        form = ClusterForm({**blank_values, **json_forms.texts(sent)}, host=host)
        row = json_forms.save_form(form)
        explain_form(request, form)
        return self._accepted(row)

    @extend_schema(request=ASK, responses={202: Cluster})
    @action(detail=True, methods=["post"])
    def ask(self, request: Request, pk: str) -> Response:
        """Have a worker make it, look at it, stop it, or discard its copies, while no run is under way on its host."""
        row = self._permitted()
        return self._asked(row, json_forms.checked(type(ASK), request.data)["purpose"])

    @extend_schema(request=None, responses={202: Cluster})
    @action(detail=True, methods=["post"])
    def remove(self, request: Request, pk: str) -> Response:
        """Remove it with all data in it; results that were measured on it stay."""
        row = self._permitted()
        if keys := unfinished_runs(row.instance, 1):
            raise problems.Problem(409, f"Run {keys[0]} needs it: wait for its runs, or cancel them.")
        return self._asked(row, models.Cluster.Wanted.REMOVE)

    def _asked(self, row: models.Cluster, purpose: str) -> Response:
        if row.wanted:
            raise problems.Problem(409, f"It is {row.get_wanted_display()} first.")
        row.ask(purpose)
        explain(self.request, f"{row}: {purpose}")
        return self._accepted(row)

    def _accepted(self, row: models.Cluster) -> Response:
        transaction.on_commit(wake)
        return self.accepted_answer(self.get_queryset().get(pk=row.pk))

    def _permitted(self) -> models.Cluster:
        row: models.Cluster = self.get_object()
        self._require_permit(row.instance.host)
        return row

    def _require_permit(self, host: models.Host | None) -> None:
        if host is None or rights.denied_hosts(self.request.user, [host.pk]):
            raise problems.Problem(403, f"You have no permit to run on {host}.")
