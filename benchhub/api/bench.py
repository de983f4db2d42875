"""Experiments and runs: planned, queued, watched, cancelled and repeated as on their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.bench import models
from benchhub.bench.models import Experiment, LiveLog, Run
from benchhub.bench.plan import form as plan_form
from benchhub.bench.plan import growth, plan, preview, repeats
from benchhub.bench.queue import permits, queue
from benchhub.bench.queue.form_policy import PolicyForm
from benchhub.bench.results import aside, live_log
from benchhub.bench.run_page import downloads, page
from benchhub.bench.run_page.bundle import NoBundleError
from benchhub.celery import wake
from benchhub.reports.curves import csv as curves_csv
from benchhub.reports.curves import curves, latencies, sweeps
from benchhub.reports.experiments import growth as experiments_growth
from benchhub.reports.experiments import queries, tags

from . import serializers_bench as serializers
from .core import json_forms, problems
from .core.json_forms import serializer_of
from .core.renderers import Csv, Page
from .core.views import FILE, Read

KEY = drf.IntegerField(min_value=1, max_value=2**63 - 1)
SYSTEM = serializer_of(
    plan_form.SystemForm,
    "SystemRequest",
    instance=KEY,
    hardware=drf.IntegerField(required=False, allow_null=True, help_text="Left out: that of the host."),
    driver=drf.IntegerField(required=False, allow_null=True, help_text="Left out: the instance's own host."),
)
PLAN = serializer_of(
    plan_form.PlanForm,
    "ExperimentRequest",
    usual=preview.DEFAULTS,
    workload=KEY,
    more_workloads=drf.ListField(
        child=drf.IntegerField(min_value=1, max_value=2**63 - 1), required=False, help_text="Each makes a part."
    ),
    client=drf.CharField(required=False, allow_blank=True, help_text="Its folder; left out: the newest on the driver."),
    systems=SYSTEM(many=True, min_length=1, max_length=plan_form.MOST_SYSTEMS),
)
POLICY = serializer_of(PolicyForm, "PolicyRequest")
ASIDE = serializer_of(aside.AsideForm, "AsideRequest")
REPEATS = serializer_of(repeats.RepeatsForm, "RepeatsRequest")
TAGS = inline_serializer(
    "TagsRequest", {"tags": drf.ListField(child=drf.CharField(max_length=tags.LONGEST), max_length=tags.MOST)}
)
FILE_NUMBER = OpenApiParameter("file", OpenApiTypes.INT64, OpenApiParameter.PATH, description="Its id in the list.")
MOVE = inline_serializer("MoveRequest", {"direction": drf.ChoiceField(choices=list(queue.DIRECTIONS))})


def draft_of(sent: Mapping[str, Any], user: Any, *, needs_name: bool) -> plan_form.Draft:
    """The form of a plan as the page would have sent it."""
    systems = sent.get("systems", [])
    data: dict[str, Any] = {**preview.DEFAULTS, **json_forms.texts({k: v for k, v in sent.items() if k != "systems"})}
    data |= {"systems-TOTAL_FORMS": str(len(systems)), "systems-INITIAL_FORMS": "0"}
    for number, system in enumerate(systems):
        data |= {f"systems-{number}-{name}": text for name, text in json_forms.texts(system).items()}
    return plan_form.Draft(data, needs_name=needs_name, user=user)  # type: ignore[arg-type]  # a mapping is enough


def asked_of(draft: plan_form.Draft) -> plan_form.Asked:
    """What was asked for. Raises a problem that names the fields."""
    if draft.asked:
        return draft.asked
    of_systems = [one for n, form in enumerate(draft.systems) for one in problems.of_form(form, f"/systems/{n}")]
    raise problems.invalid([*problems.of_form(draft.plan), *of_systems])


class Systems(Read):
    queryset = models.System.objects.order_by("pk")
    serializer_class = serializers.System
    filterset_fields: ClassVar[Any] = {
        "instance": ["exact"], "driver": ["exact"], "hardware": ["exact"], "build": ["exact"],
        "configuration": ["exact"], "path": ["exact"], "digest": ["exact"], "label": ["exact", "icontains"],
    }  # fmt: skip


class Experiments(Read):
    serializer_class = serializers.Experiment
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "name": ["exact", "icontains"], "workload": ["exact"], "systems": ["exact"], "is_demonstration": ["exact"],
        "created_by__username": ["exact"], "created_at": ["gte", "lte"], "paused_at": ["isnull"],
        "design": ["exact"], "tags__name": ["exact"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name", "created_at", "priority")
    search_fields = ("name", "remark")

    def get_queryset(self) -> QuerySet[Experiment]:
        return queries.experiments().select_related("created_by").prefetch_related("systems", "tags")

    @extend_schema(request=PLAN, responses={202: serializers.Experiment})
    def create(self, request: Request) -> Response:
        """Plan an experiment and queue its runs."""
        sent = json_forms.checked(PLAN, request.data)
        asked = asked_of(draft_of(sent, request.user, needs_name=True))
        return self._shown(preview.queue(asked, request.user))

    @extend_schema(request=PLAN, responses=serializers.Preview)
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """What would be queued; nothing is saved."""
        sent = json_forms.checked(PLAN, request.data, partial=True)
        asked = asked_of(draft_of(sent, request.user, needs_name=False))
        return Response(serializers.Preview(preview.look(asked)).data)

    @extend_schema(request=POLICY, responses=serializers.Experiment)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change its priority, and what happens when runs fail."""
        row = self._permitted()
        self.require_unchanged(row)
        sent = json_forms.checked(POLICY, request.data, partial=True)
        shown = json_forms.present(PolicyForm(instance=row))
        json_forms.saved(PolicyForm({**shown, **json_forms.texts(sent)}, instance=row))
        transaction.on_commit(wake)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None, responses={202: serializers.Count})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel what waits, and stop what is under way."""
        row = self._permitted()
        growth.stop(row)
        return self._counted(row, queue.ask_to_cancel(Run.objects.filter(experiment=row)))

    @extend_schema(request=None, responses={202: serializers.Count})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run those that failed or were lost again, as new attempts."""
        row = self._permitted()
        return self._counted(row, queue.run_again(row.runs.all(), f"To be run again, as {request.user} asked."))

    @extend_schema(request=None, responses={202: serializers.Experiment})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Queue the same experiment once more, beside the first."""
        row = self._permitted()
        if retired := preview.retired_instances(row):
            raise problems.Problem(409, f"An instance of it is retired: {', '.join(retired)}.")
        return self._shown(plan.again(row, request.user))

    @extend_schema(request=REPEATS, responses={202: serializers.Count})
    @action(detail=True, methods=["post"])
    def repeats(self, request: Request, pk: str) -> Response:
        """Queue more repeats at these levels: of each system that has runs there."""
        row = self._permitted()
        if retired := preview.retired_instances(row):
            raise problems.Problem(409, f"An instance of it is retired: {', '.join(retired)}.")
        sent = json_forms.checked(REPEATS, request.data)
        blank = repeats.RepeatsForm(experiment=row)
        form = repeats.RepeatsForm({**json_forms.present(blank), **json_forms.texts(sent)}, experiment=row)
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        return self._counted(row, len(repeats.add(row, form.cleaned_data["levels"], form.cleaned_data["repeats"])))

    @extend_schema(request=TAGS)
    @action(detail=True, methods=["put"])
    def tags(self, request: Request, pk: str) -> Response:
        """These take the place of the tags that it has."""
        row, sent = self.get_object(), json_forms.checked(type(TAGS), request.data)
        if wrong := [word for word in sent["tags"] if "," in word]:
            raise problems.invalid([{"pointer": "/tags", "detail": f"'{wrong[0]}' has a comma: name tags one by one."}])
        form = tags.TagsForm({"tags": ", ".join(sent["tags"])})
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        tags.replace(row, form.cleaned_data["tags"])
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        queue.pause(self._permitted(), f"Paused by {request.user}.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        queue.resume(self._permitted())
        transaction.on_commit(wake)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=MOVE)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, pk: str) -> Response:
        """Move it up or down in the queue by one."""
        direction = json_forms.checked(type(MOVE), request.data)["direction"]
        if not queue.shift(self._permitted(), queue.DIRECTIONS[direction]):
            raise problems.Problem(409, "It stands at the end of the queue, or no longer waits.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={(200, "application/json"): serializers.CurveGroup(many=True), (200, "text/csv"): str})
    @action(detail=True, renderer_classes=[JSONRenderer, Csv, Page], pagination_class=None, filter_backends=[])
    def curves(self, request: Request, pk: str) -> Response:
        """Its curves, one group for each protocol; as CSV with Accept: text/csv."""
        row = self.get_object()
        runs, systems = list(queries.runs(row)), queries.systems(row)
        groups = curves.groups(runs, systems, latencies.of_runs(run.pk for run in runs))
        if request.accepted_renderer.format == "csv":
            return Response(curves_csv.experiment_csv(sweeps.sweeps(row, systems), groups))
        return Response([group_of(row.pk, group) for group in groups])

    @extend_schema(responses=serializers.Growth)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def growth(self, request: Request, pk: str) -> Response:
        """What a search or a decision has found, and what was believed before each of its steps."""
        row = self.get_object()
        shown = experiments_growth.shown(row, list(queries.runs(row)))
        if shown is None:
            raise problems.Problem(404, "It runs every level as listed: it neither searches nor decides.")
        return Response(serializers.Growth(shown).data)

    def _permitted(self) -> Experiment:
        row: Experiment = self.get_object()
        permits.require_experiment(self.request.user, row)
        return row

    def _shown(self, experiment: Experiment) -> Response:
        return self.accepted(self.get_queryset().get(pk=experiment.pk))

    def _counted(self, row: Experiment, count: int) -> Response:
        transaction.on_commit(wake)
        address = self.link("experiment-detail", row.pk)
        return Response({"count": count, "experiment": address}, status=202, headers={"Location": address})


def group_of(experiment: int, group: curves.Group) -> dict[str, Any]:
    shown = [curve_of(f"{experiment}-{one.system.pk}", one) for one in group.curves]
    return {"protocol_digest": group.protocol_digest, "refusal": group.refusal, "curves": shown}


def curve_of(key: str, of: curves.SystemCurve) -> dict[str, Any]:
    peak = of.curve.peak
    named = {"key": key, "system": of.system.pk, "label": of.system.label, "unit": of.curve.unit}
    digests = {"protocol_digest": of.curve.protocol_digest, "system_digest": of.curve.system_digest}
    at = {"peak_clients": peak.level.clients, "peak_remark": peak.sentence, "withheld": of.curve.withheld}
    return {**named, **digests, **at, "levels": serializers.Level(of.curve.levels, many=True).data}


class Runs(Read):
    queryset = Run.objects.select_related("result").order_by("pk")
    serializer_class = serializers.Run
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "experiment": ["exact"], "system": ["exact"], "kind": ["exact"], "state": ["exact", "in"],
        "clients": ["exact", "gte", "lte"], "repeat": ["exact"], "protocol": ["exact"],
        "created_at": ["gte", "lte"], "ended_at": ["gte", "lte", "isnull"], "set_aside_at": ["isnull"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "created_at", "position", "clients")

    @extend_schema(request=None, responses={202: serializers.Run})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        row = self._permitted()
        if row.is_final:
            raise problems.Problem(409, f"Run {row.pk} has ended already: it {row.state}.")
        queue.ask_to_cancel(Run.objects.filter(pk=row.pk))
        return self.accepted(self.get_object())

    @extend_schema(request=None, responses={202: serializers.Run})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run it again, as a new attempt."""
        row = self._permitted()
        if not queue.run_again(Run.objects.filter(pk=row.pk), f"To be run again, as {request.user} asked."):
            raise problems.Problem(409, "Only a run that failed or was lost is run again.")
        return self.accepted(self.get_object())

    @extend_schema(request=ASIDE)
    @action(detail=True, methods=["post"], url_path="set-aside")
    def set_aside(self, request: Request, pk: str) -> Response:
        """It stays in every table, but leaves every figure, mean and price until it is put back."""
        row = self._permitted()
        sent = json_forms.checked(ASIDE, request.data)
        form = aside.AsideForm(json_forms.texts(sent))
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        if not aside.set_aside(row, request.user, form.cleaned_data["reason"]):
            raise problems.Problem(409, "The run gives no point, or is set aside already.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="put-back")
    def put_back(self, request: Request, pk: str) -> Response:
        """Let it count again; its history says that it was set aside."""
        if not aside.put_back(self._permitted(), request.user):
            raise problems.Problem(409, "The run was not set aside.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={(200, "application/gzip"): OpenApiTypes.BINARY})
    @action(detail=True, **FILE)
    def bundle(self, request: Request, pk: str) -> HttpResponse:
        """A tar.gz of shell commands, settings and data set, by which it is repeated without BenchHub."""
        row = page.run(self.get_object().pk).exclude(kind=Run.Kind.LOAD).first()
        if row is None:
            raise problems.Problem(409, "It loads a data set, and measures nothing that could be repeated.")
        try:
            return downloads.bundle(row)
        except NoBundleError as error:
            raise problems.Problem(409, str(error)) from error

    @extend_schema(responses=serializers.SeriesOfRun)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def series(self, request: Request, pk: str) -> Response:
        """Its metrics over time, and its latencies."""
        row = self.get_object()
        shown = {"series": row.series.order_by("metric"), "histograms": row.histograms.order_by("name")}
        return Response(serializers.SeriesOfRun(shown).data)

    @extend_schema(responses=serializers.Found)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def found(self, request: Request, pk: str) -> Response:
        """Settings and facts as they were found around the run."""
        row = models.Found.objects.filter(run=self.get_object()).first()
        if row is None:
            raise problems.Problem(404, "Nothing was found out about the server and its host in this run.")
        return Response(serializers.Found(row).data)

    @extend_schema(responses=serializers.Event(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def events(self, request: Request, pk: str) -> Response:
        """Every move of its state."""
        return Response(serializers.Event(self.get_object().events.all(), many=True).data)

    @extend_schema(responses=serializers.Evidence(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def evidence(self, request: Request, pk: str) -> Response:
        """What its attempts left, file by file."""
        files = models.Evidence.objects.filter(attempt__run=self.get_object()).select_related("attempt")
        rows, context = files.order_by("attempt__number", "name"), self.get_serializer_context()
        return Response(serializers.Evidence(rows, many=True, context=context).data)

    @extend_schema(parameters=[FILE_NUMBER], responses={(200, "text/plain"): OpenApiTypes.BINARY})
    @action(detail=True, url_path="evidence/(?P<file>[0-9]{1,18})", **FILE)
    def evidence_file(self, request: Request, pk: str, file: str) -> HttpResponse:
        """One of these files, byte for byte."""
        return downloads.evidence(get_object_or_404(models.Evidence, pk=file, attempt__run=self.get_object()))

    @extend_schema(
        parameters=[OpenApiParameter("after", OpenApiTypes.INT64, description="The byte to begin after.")],
        responses=serializers.Log,
    )
    @action(detail=True, pagination_class=None, filter_backends=[], url_path="log/(?P<stream>[a-z]{1,20})")
    def log(self, request: Request, pk: str, stream: str) -> Response:
        """The last part of a live log, while the run is under way."""
        row, after = self.get_object(), request.query_params.get("after", "0")
        if not (after.isascii() and after.isdecimal() and len(after) < 19):
            raise problems.Problem(400, "Write the number of a byte after which to begin.")
        log = LiveLog.objects.filter(attempt__run=row, stream=stream).order_by("-attempt__number").first()
        if log is None:
            raise Http404
        part = live_log.part(log, int(after))
        return Response(serializers.Log({**_fields(part), "is_over": row.is_final}).data)

    def _permitted(self) -> Run:
        row: Run = self.get_object()
        permits.require_run(self.request.user, row)
        return row


def _fields(part: live_log.Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in ("stream", "text", "end", "skipped_bytes")}
