"""Published methods that a plan can start from, and designs: the experiments that were planned at once."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import problems
from benchhub.api.core.views import ReadView, RowSerializer, View
from benchhub.bench import models
from benchhub.bench.plan import growth, plan, presets, preview
from benchhub.bench.queue import permits, queue

NAME = OpenApiParameter("id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Its name: report-a.")


class Translated(drf.Serializer):
    """A step of the report's method, and what is done here in its place."""

    published = drf.CharField()
    here = drf.CharField()


class Preset(drf.Serializer):
    id = drf.CharField(source="name")
    title = drf.CharField()
    document = drf.CharField()
    counted = drf.CharField(help_text="What the method comes to on the report's own number of systems.")
    systems = drf.IntegerField(help_text="How many the report has.")
    remark = drf.CharField(allow_blank=True)
    translation = Translated(many=True)


class Design(RowSerializer):
    experiments = drf.PrimaryKeyRelatedField(many=True, read_only=True)
    created_by = drf.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = models.Design
        fields = ("id", "url", "name", "remark", "preset", "experiments", "created_by", "created_at")


class Presets(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = Preset
    write_scope = "run"
    lookup_value_regex = "[a-z0-9-]+"

    @extend_schema(responses=Preset(many=True))
    def list(self, request: Request) -> Response:
        return Response(self.get_serializer(presets.PRESETS.values(), many=True).data)

    @extend_schema(parameters=[NAME])
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(self.get_serializer(_preset(pk)).data)

    @extend_schema(parameters=[NAME], request=None, responses={200: OpenApiTypes.OBJECT})
    @action(detail=True, methods=["post"])
    def plan(self, request: Request, pk: str) -> Response:
        """Return what to send to experiments/ once you have added `systems`.

        Workloads that it needs are added to the catalogue where they are missing. Nothing is queued.
        """
        preset = _preset(pk)
        values, _ = presets.initial(preset)
        return Response(values)


def _preset(name: str) -> presets.Preset:
    """Return a preset. Raises Http404."""
    if name not in presets.PRESETS:
        raise Http404
    return presets.PRESETS[name]


class Designs(ReadView):
    queryset = models.Design.objects.select_related("created_by").prefetch_related("experiments").order_by("pk")
    serializer_class = Design
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "name": ["exact", "icontains"], "preset": ["exact"], "created_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name", "created_at")

    @extend_schema(request=None, responses={202: Design})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Queue all its experiments once more, as a design of its own beside this one."""
        row = self.get_object()
        for experiment in row.experiments.all():
            permits.require_experiment(request.user, experiment)
        if not row.experiments.exists():
            raise problems.Problem(409, "It has no experiment to be run again.")
        if refusal := preview.again_refusal(list(row.experiments.all())):
            raise problems.Problem(409, refusal)
        copy = plan.design_again(row, request.user)
        return self.accepted_answer(self.get_queryset().get(pk=copy.pk))

    @extend_schema(request=None, responses={202: Design})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel what waits in all its experiments, and stop what is under way."""
        row = self.get_object()
        for experiment in row.experiments.all():
            permits.require_experiment(request.user, experiment)
        for experiment in row.experiments.all():
            growth.stop(experiment)
        queue.ask_to_cancel(models.Run.objects.filter(experiment__design=row))
        return self.accepted_answer(self.get_object())
