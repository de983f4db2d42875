"""The queue: runs under way, those that come next on each host, why they wait and when they are expected to start."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core.views import View
from benchhub.bench.models import Experiment
from benchhub.bench.queue.page import QueuePage


class Waiting(drf.Serializer):
    """`expected_at` is null where the start depends on a person."""

    run = drf.IntegerField(source="run.pk")
    experiment = drf.IntegerField(source="run.experiment_id")
    reasons = drf.ListField(child=drf.CharField(), help_text="Why it does not start now.")
    expected_at = drf.DateTimeField(allow_null=True)
    is_due = drf.BooleanField(help_text="Whether it starts with the next look at the queue.")


class Lane(drf.Serializer):
    host = drf.IntegerField(source="host.pk")
    name = drf.CharField(source="host.name")
    active = drf.SerializerMethodField(help_text="Runs under way.")
    queued = drf.IntegerField(help_text="All runs that wait for it.")
    waiting = Waiting(many=True, source="visible", help_text="The next of them.")

    def get_active(self, lane: Any) -> list[int]:
        return [run.pk for run in lane.active]


class Queue(drf.Serializer):
    experiments = drf.SerializerMethodField(help_text="Those that wait, in the order in which their runs are taken.")
    hosts = Lane(many=True, source="lanes", help_text="Those that anything runs on or waits for, and those in trouble.")
    is_cut = drf.BooleanField(help_text="Whether more runs wait than are looked at.")

    def get_experiments(self, _queue_page: Any) -> list[int]:
        return list(Experiment.objects.waiting().values_list("pk", flat=True))


class QueueShown(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = Queue

    @extend_schema(responses=forced_singular_serializer(Queue))
    def list(self, request: Request) -> Response:  # DRF's signature
        """Return what comes next, and when. Expected starts are estimates."""
        return Response(Queue(QueuePage.load(timezone.now())).data)
