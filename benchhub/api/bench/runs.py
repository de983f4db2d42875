"""Runs: watched, cancelled, set aside and repeated as on their pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Case, F, When
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, parsers, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import FILE, ReadView, RowSerializer
from benchhub.archive import ArchiveError
from benchhub.bench import models
from benchhub.bench.queue import permits, queue
from benchhub.bench.results import aside, live_log
from benchhub.bench.results.telemetry import sysstat
from benchhub.bench.run_page import downloads
from benchhub.bench.run_page.bundle import NoBundleError
from benchhub.bench.run_page.page import runs
from runners.telemetry.sysstat.answer import MOST_BYTES, UnfitError

MOST_TEXT_BYTES = 2**20  # of a file in a list: a run may have left 64 MiB
SYSSTAT = {
    "sysstat": {
        "hosts": [
            {
                "nodename": "db1",
                "release": "6.1.0",
                "number-of-cpus": 8,
                "statistics": [
                    {
                        "timestamp": {"date": "2026-01-31", "time": "02:00:01", "utc": 1, "interval": 1},
                        "cpu-load": [{"cpu": "all", "user": 61.0, "nice": 0.0, "system": 20.0, "iowait": 1.0}],
                    }
                ],
            }
        ]
    }
}
Facts = serializers.JSONField(read_only=True)


class Result(serializers.ModelSerializer):
    class Meta:
        model = models.Result
        fields = (
            "throughput", "unit", "latency_average_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms",
            "measures", "doubts", "remarks", "parser", "parsed_at",
        )  # fmt: skip


class Run(RowSerializer):
    """`result` is null unless the run measured something: a failed run never becomes a point."""

    protocol_digest = serializers.CharField(source="protocol_id", read_only=True)
    result = Result(read_only=True, allow_null=True)
    provenance = serializers.CharField(
        source="provenance_text",
        read_only=True,
        help_text="Where an imported run comes from; empty for BenchHub's own.",
    )

    class Meta:
        model = models.Run
        fields = (
            "id", "url", "uuid", "experiment", "system", "kind", "position", "clients", "threads", "repeat", "spec",
            "protocol_digest", "expected_s", "state", "reason", "cancel_asked_at", "created_at", "started_at",
            "ended_at", "delivery", "source", "provenance", "set_aside_at", "set_aside_reason",
            "result",
        )  # fmt: skip


class Found(serializers.ModelSerializer):
    class Meta:
        model = models.Found
        fields = ("settings", "server", "host", "pooler", "deltas", "differences", "facts_digest", "limits_digest")


class Series(serializers.ModelSerializer):
    """Value i covers the `step_s` seconds that end at start + (i + 1) steps."""

    class Meta:
        model = models.Series
        fields = ("metric", "unit", "start_epoch_s", "step_s", "values")


class Telemetry(serializers.ModelSerializer):
    """A metric of the driver's machine or of the server; value i covers the `step_s` seconds that end after i + 1."""

    values = serializers.ListField(child=serializers.FloatField(allow_null=True), read_only=True)

    class Meta:
        model = models.RunTelemetry
        fields = ("metric", "unit", "start_epoch_s", "step_s", "values")


class Histogram(serializers.ModelSerializer):
    class Meta:
        model = models.LatencyHistogram
        fields = ("name", "lower_us", "upper_us", "counts", "sum_us", "min_us", "max_us", "sampling_rate")


class TelemetrySource(serializers.ModelSerializer):
    """Where the telemetry of a run comes from, if BenchHub did not observe it itself."""

    by = serializers.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = models.TelemetryImport
        fields = (
            "host", "kernel", "version", "interval_s", "first_at", "last_at", "sample_count", "outside_count",
            "doubts", "evidence", "by", "token", "at",
        )  # fmt: skip


class SeriesOfRun(serializers.Serializer):
    series = Series(many=True)
    telemetry_source = TelemetrySource(allow_null=True, help_text="Null where BenchHub observed it, or nobody did.")
    telemetry = Telemetry(many=True)
    histograms = Histogram(many=True)


class Evidence(serializers.ModelSerializer):
    """`url` leads to its bytes; `text` is what they are as UTF-8, and null where there are more than 1 MiB of them.

    From `archived_at` on they are in the archive; `text` is null, and `url` says why, where it cannot be read.
    """

    url = serializers.SerializerMethodField()
    attempt = serializers.IntegerField(source="attempt.number", read_only=True)
    text = serializers.SerializerMethodField()

    class Meta:
        model = models.Evidence
        fields = ("id", "url", "attempt", "name", "size_bytes", "sha256", "remark", "archived_at", "text")

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_text(self, file: Any) -> str | None:
        if file.short_content is None:
            return None
        try:
            content = file.read() if file.archived_at else bytes(file.short_content)
        except ArchiveError:
            return None
        return content.decode("utf-8", errors="replace")

    def get_url(self, file: models.Evidence) -> str:
        address = reverse("api:run-evidence-file", args=[file.attempt.run_id, file.pk])
        return str(self.context["request"].build_absolute_uri(address))


class Event(serializers.ModelSerializer):
    class Meta:
        model = models.Event
        fields = ("at", "old_state", "new_state", "reason")


class Log(serializers.Serializer):
    """`end` is the byte to ask for next; text that was skipped before it is no longer kept."""

    stream = serializers.CharField()
    text = serializers.CharField()
    end = serializers.IntegerField()
    skipped_bytes = serializers.IntegerField()
    is_over = serializers.BooleanField()


ASIDE = serializer_of(aside.AsideForm, "AsideRequest")


FILE_NUMBER = OpenApiParameter("file", OpenApiTypes.INT64, OpenApiParameter.PATH, description="Its id in the list.")


class Runs(ReadView):
    queryset = models.Run.objects.select_related("result", "delivery__by").order_by("pk")
    serializer_class = Run
    write_scope = "run"
    scopes: ClassVar[dict[str, str]] = dict.fromkeys(("telemetry", "remove_telemetry"), "ingest")
    filterset_fields: ClassVar[Any] = {
        "experiment": ["exact"], "system": ["exact"], "kind": ["exact"], "state": ["exact", "in"],
        "clients": ["exact", "gte", "lte"], "repeat": ["exact"], "protocol": ["exact"],
        "created_at": ["gte", "lte"], "ended_at": ["gte", "lte", "isnull"], "set_aside_at": ["isnull"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "created_at", "position", "clients")

    @extend_schema(request=None, responses={202: Run})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        row = self._permitted()
        if row.is_final:
            raise problems.Problem(409, f"Run {row.pk} has ended already: it {row.state}.")
        queue.ask_to_cancel(models.Run.objects.filter(pk=row.pk))
        return self.accepted_answer(self.get_object())

    @extend_schema(request=None, responses={202: Run})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run it again, as a new attempt."""
        row = self._permitted()
        if not queue.run_again(models.Run.objects.filter(pk=row.pk), f"To be run again, as {request.user} asked."):
            raise problems.Problem(409, "Only a run that failed or was lost is run again.")
        return self.accepted_answer(self.get_object())

    @extend_schema(request=ASIDE)
    @action(detail=True, methods=["post"], url_path="set-aside")
    def set_aside(self, request: Request, pk: str) -> Response:
        """Set it aside: it stays in every table, but leaves every figure, mean and price until it is put back."""
        row = self._counting()
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
        row: models.Run = self.get_object()
        permits.require_putting_back(request.user, row)
        if not aside.put_back(row, request.user):
            raise problems.Problem(409, "The run was not set aside.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={(200, "application/gzip"): OpenApiTypes.BINARY})
    @action(detail=True, **FILE)
    def bundle(self, request: Request, pk: str) -> HttpResponse:
        """Return a tar.gz of shell commands, settings and data set, by which it is repeated without BenchHub."""
        row = runs().filter(pk=self.get_object().pk).exclude(kind=models.Run.Kind.LOAD).first()
        if row is None:
            raise problems.Problem(409, "It loads a data set, and measures nothing that could be repeated.")
        try:
            return downloads.bundle(row)
        except NoBundleError as error:
            raise problems.Problem(409, str(error)) from error

    @extend_schema(responses=SeriesOfRun)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def series(self, request: Request, pk: str) -> Response:
        """Return its metrics over time, what was observed beside its load, and its latencies."""
        row = self.get_object()
        data = {
            "series": row.series.order_by("metric"),
            "telemetry_source": models.TelemetryImport.objects.filter(run=row).select_related("by").first(),
            "telemetry": row.telemetry.order_by("metric"),
            "histograms": row.histograms.order_by("name"),
        }
        return Response(SeriesOfRun(data).data)

    @extend_schema(
        request={parsers.Sysstat.media_type: {"type": "object"}},
        responses={201: TelemetrySource},
        examples=[
            OpenApiExample("a second", SYSSTAT, media_type=parsers.Sysstat.media_type, request_only=True),
        ],
    )
    @action(detail=True, methods=["post"], parser_classes=[parsers.Sysstat])
    def telemetry(self, request: Request, pk: str) -> Response:
        """Add what sysstat noted, as `sadf -j -- -A` prints it, to a run that BenchHub did not observe.

        It takes the place of an earlier file; a run keeps 5 files at most. The file may have 32 MiB. Samples outside
        the load are left out.
        """
        row = self._counting()
        if reason := sysstat.refusal(row):
            raise problems.Problem(409, reason)
        content = request.data.read(MOST_BYTES + 1) if request.data else b""
        try:
            stored = sysstat.store(row, content, request.user, str(request.auth or ""))
        except UnfitError as error:
            raise problems.Problem(422, str(error)) from error
        return Response(TelemetrySource(stored).data, status=201)

    @extend_schema(responses={204: None})
    @telemetry.mapping.delete
    def remove_telemetry(self, request: Request, pk: str) -> Response:
        """Remove what was added from sysstat; its file stays as evidence."""
        if not sysstat.remove(self._counting(), request.user):
            raise problems.Problem(409, "The run has no telemetry of sysstat.")
        return Response(status=204)

    @extend_schema(responses=Found)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def found(self, request: Request, pk: str) -> Response:
        """Return settings and facts as they were found around the run."""
        row = models.Found.objects.filter(run=self.get_object()).first()
        if row is None:
            raise problems.Problem(404, "Nothing was found out about the server and its host in this run.")
        return Response(Found(row).data)

    @extend_schema(responses=Event(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def events(self, request: Request, pk: str) -> Response:
        """Return every move of its state."""
        return Response(Event(self.get_object().events.all(), many=True).data)

    @extend_schema(responses=Evidence(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def evidence(self, request: Request, pk: str) -> Response:
        """List what its attempts left, file by file."""
        files = models.Evidence.objects.filter(attempt__run=self.get_object()).select_related("attempt")
        short = Case(When(size_bytes__lte=MOST_TEXT_BYTES, then=F("content")))
        rows = files.order_by("attempt__number", "name").defer("content").annotate(short_content=short)
        context = self.get_serializer_context()
        return Response(Evidence(rows, many=True, context=context).data)

    @extend_schema(parameters=[FILE_NUMBER], responses={(200, "text/plain"): OpenApiTypes.BINARY})
    @action(detail=True, url_path="evidence/(?P<file>[0-9]{1,18})", **FILE)
    def evidence_file(self, request: Request, pk: str, file: str) -> HttpResponse:
        """Return one of these files, byte for byte."""
        row = get_object_or_404(models.Evidence, pk=file, attempt__run=self.get_object())
        try:
            return downloads.evidence(row)
        except ArchiveError as error:
            raise problems.Problem(409, str(error)) from error

    @extend_schema(
        parameters=[OpenApiParameter("after", OpenApiTypes.INT64, description="The byte to begin after.")],
        responses=Log,
    )
    @action(detail=True, pagination_class=None, filter_backends=[], url_path="log/(?P<stream>[a-z]{1,20})")
    def log(self, request: Request, pk: str, stream: str) -> Response:
        """Return the last part of a live log, while the run is under way."""
        row, after = self.get_object(), request.query_params.get("after", "0")
        if not (after.isascii() and after.isdecimal() and len(after) < 19):
            raise problems.Problem(400, "Write the number of a byte after which to begin.")
        log = models.LiveLog.objects.filter(attempt__run=row, stream=stream).order_by("-attempt__number").first()
        if log is None:
            raise Http404
        part = live_log.part(log, int(after))
        fields = {name: getattr(part, name) for name in ("stream", "text", "end", "skipped_bytes")}
        return Response(Log({**fields, "is_over": row.is_final}).data)

    def _permitted(self) -> models.Run:
        row: models.Run = self.get_object()
        permits.require_run(self.request.user, row)
        return row

    def _counting(self) -> models.Run:
        """Return the run if the user may say whether it counts."""
        row: models.Run = self.get_object()
        permits.require_counting(self.request.user, row)
        return row
