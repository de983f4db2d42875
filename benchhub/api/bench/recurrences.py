"""Rules by which plans recur."""

from __future__ import annotations

from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import Strict
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models
from benchhub.bench.additions import form, recurring
from benchhub.bench.queue import permits

from .times import ZONE


class Recurrence(RowSerializer):
    state = serializers.CharField(read_only=True, help_text="active, paused or ended.")
    sentence = serializers.CharField(source="rule.sentence", read_only=True)
    skips = serializers.JSONField(read_only=True, help_text="The latest times that were skipped: at, experiment.")

    class Meta:
        model = models.Recurrence
        fields = (
            "id", "url", "plan", "weekdays", "starts_at", "zone", "until", "state", "sentence", "next_at", "paused_at",
            "pause_reason", "skips", "created_at",
        )  # fmt: skip


class RecurrenceRequest(Strict):
    experiment = drf.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The plan that is to recur.")
    weekdays = drf.ListField(child=drf.IntegerField(min_value=0, max_value=6), min_length=1, help_text="0 is Monday.")
    starts_at = drf.TimeField(format="%H:%M")
    zone = drf.CharField(max_length=64, required=False, help_text=ZONE)
    until = drf.DateField(required=False, help_text="The last day, by the clock of the zone.")


class Recurrences(ReadView):
    """An experiment has one rule at most: another for the same takes its place.

    What it has queued: `experiments/?occasion_of=` with its id.
    """

    queryset = models.Recurrence.objects.order_by("pk")
    serializer_class = Recurrence
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"plan": ["exact"]}

    @extend_schema(request=RecurrenceRequest, responses={201: Recurrence})
    def create(self, request: Request) -> Response:
        sent = json_forms.checked(RecurrenceRequest, request.data)
        experiment = get_object_or_404(models.Experiment, pk=sent.pop("experiment"))
        permits.require_experiment(request.user, experiment)
        rule = form.RecurrenceForm({"zone": "UTC", **json_forms.texts(sent)}, experiment=experiment)
        if not rule.is_valid():
            raise problems.invalid(problems.of_form(rule))
        data = self.get_serializer(rule.saved(request.user)).data
        return Response(data, status=201, headers={"Location": data["url"]})

    @extend_schema(request=None, responses=Recurrence)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:  # the route has it
        self._permitted().pause(f"Paused by {request.user}.")
        return self._answer()

    @extend_schema(request=None, responses=Recurrence)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        recurring.go_on(self._permitted())
        return self._answer()

    @extend_schema(request=None, responses=Recurrence)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        self._permitted().end()
        return self._answer()

    def _permitted(self) -> models.Recurrence:
        row: models.Recurrence = self.get_object()
        permits.require_experiment(self.request.user, row.plan)
        return row

    def _answer(self) -> Response:
        return Response(self.get_serializer(self.get_object()).data)
