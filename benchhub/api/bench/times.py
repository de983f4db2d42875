"""The times at which hosts are blocked and experiments may run."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import Strict
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models
from benchhub.bench.queue import permits, timetable
from benchhub.bench.queue.forms import times as time_forms
from benchhub.catalog.models import Host
from benchhub.celery import wake


class Period(RowSerializer):
    start = serializers.DateTimeField(source="period.lower", read_only=True)
    end = serializers.DateTimeField(source="period.upper", read_only=True)

    class Meta:
        model = models.Reservation
        fields = ("id", "url", "host", "experiment", "window", "start", "end", "zone", "reason")


class Window(RowSerializer):
    class Meta:
        model = models.Window
        fields = ("id", "url", "host", "experiment", "weekdays", "starts_at", "ends_at", "zone", "reason")


KEY: dict[str, Any] = {"min_value": 1, "max_value": 2**63 - 1, "required": False, "help_text": "This or the other."}


ZONE = "Name of the IANA time zone of the clock that is meant; left out: UTC."


class Owned(Strict):
    host = drf.IntegerField(**KEY)
    experiment = drf.IntegerField(**KEY)
    zone = drf.CharField(max_length=64, required=False, help_text=ZONE)
    reason = drf.CharField(max_length=200, required=False, allow_blank=True)


class ReservationRequest(Owned):
    start = drf.CharField(max_length=40, help_text="By the clock of the zone: 2026-12-24T18:00.")
    end = drf.CharField(max_length=40)


class WindowRequest(Owned):
    weekdays = drf.ListField(child=drf.IntegerField(min_value=0, max_value=6), min_length=1, help_text="0 is Monday.")
    starts_at = drf.TimeField(format="%H:%M")
    ends_at = drf.TimeField(format="%H:%M", help_text="Not after the start: of the next day.")


class Times(ReadView):
    """Each reservation and each window belongs to a host or to an experiment."""

    write_scope = "run"
    takes: ClassVar[type[Strict]]
    form_class: ClassVar[Any]

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        owner = self._owner(sent.pop("host", None), sent.pop("experiment", None))
        form = self.form_class({"zone": "UTC", **json_forms.texts(sent)}, owner=owner)
        row = json_forms.save_form(form)
        transaction.on_commit(wake)
        data = self.get_serializer(row).data
        return Response(data, status=201, headers={"Location": data["url"]})

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self._owner(row.host_id, row.experiment_id)
        if getattr(row, "window_id", None):
            raise problems.Problem(409, "It comes from a window, and goes with that.")
        timetable.remove(row)
        transaction.on_commit(wake)
        return Response(status=204)

    def _owner(self, host: int | None, experiment: int | None) -> Any:
        """Return host or experiment. Raises a problem unless exactly one is named and the user may run there."""
        if (host is None) == (experiment is None):
            raise problems.invalid([{"pointer": "/host", "detail": "Name a host or an experiment."}])
        if experiment is not None:
            owner = get_object_or_404(models.Experiment, pk=experiment)
            permits.require_experiment(self.request.user, owner)
            return owner
        if sentence := permits.refusal(self.request.user, [host]):
            raise problems.Problem(403, sentence)
        return get_object_or_404(Host.objects.defer("private_key", "facts"), pk=host)


class Reservations(Times):
    queryset = models.Reservation.objects.order_by("pk")
    serializer_class = Period
    takes = ReservationRequest
    form_class = time_forms.OnceForm
    filterset_fields: ClassVar[Any] = {"host": ["exact"], "experiment": ["exact"], "window": ["exact", "isnull"]}


class Windows(Times):
    queryset = models.Window.objects.order_by("pk")
    serializer_class = Window
    takes = WindowRequest
    form_class = time_forms.WeeklyForm
    filterset_fields: ClassVar[Any] = {"host": ["exact"], "experiment": ["exact"]}
