"""Tests of instances: a worker logs in once from a driver, as a run would, and changes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights
from benchhub.api.core import json_forms, problems
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench.inspection.page import DriverForm, testable
from benchhub.catalog import models
from benchhub.catalog.instances.inspection import looked_at
from benchhub.celery import wake
from benchhub.ui.acts import explain
from benchhub.ui.findings import LEVELS

FINDING = inline_serializer(
    "InspectionFinding",
    {
        "name": serializers.CharField(),
        "level": serializers.ChoiceField(choices=LEVELS),
        "text": serializers.CharField(),
        "remedy": serializers.CharField(),
    },
    many=True,
)
KEY = {"min_value": 1, "max_value": 2**63 - 1}
ASKED = inline_serializer(
    "InspectionRequest", {"instance": serializers.IntegerField(**KEY), "driver": serializers.IntegerField(**KEY)}
)


class Inspection(RowSerializer):
    findings = serializers.SerializerMethodField(
        help_text="At `seen_at`: `bad` says that runs will fail, `warn` that they may mislead."
    )

    class Meta:
        model = models.Inspection
        fields = ("id", "url", "instance", "driver", "is_wanted", "contact_error", "seen_at", "findings")

    @extend_schema_field(FINDING)
    def get_findings(self, row: models.Inspection) -> list[dict[str, Any]]:
        return [] if row.is_wanted else [asdict(finding) for finding in looked_at(row)]


class Inspections(ReadView):
    queryset = models.Inspection.objects.select_related("instance__build", "instance__host", "driver").defer(
        "instance__password", "instance__host__private_key", "driver__private_key"
    )
    serializer_class = Inspection
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"instance": ["exact"], "is_wanted": ["exact"]}
    ordering_fields: ClassVar[Any] = ("id",)

    @extend_schema(request=ASKED, responses={202: Inspection})
    def create(self, request: Request) -> Response:
        """Have a worker look at an instance from a host that may drive it; `is_wanted` says that it has not yet."""
        sent = json_forms.checked(type(ASKED), request.data)
        instance = testable().filter(pk=sent["instance"]).first()
        if instance is None:
            raise problems.invalid(
                [{"pointer": "/instance", "detail": "There is no such instance that can be tested."}]
            )
        if rights.denied_hosts(request.user, [instance.host_id]):
            raise problems.Problem(403, f"You have no permit to run on {instance.host}.")
        form = DriverForm({"driver": sent["driver"]}, instance=instance, user=request.user)
        if not form.is_valid():
            raise problems.invalid([{"pointer": "/driver", "detail": "Name a trusted host on which you may run."}])
        row = models.Inspection.ask(instance, driver := form.cleaned_data["driver"])
        explain(request, f"{instance}, driven by {driver}")
        transaction.on_commit(wake)
        return self.accepted_answer(self.get_queryset().get(pk=row.pk))
