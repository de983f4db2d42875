"""Experiments, runs and what belongs to them as JSON. Units are in the names of the fields, or beside the value."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from benchhub.bench import models

from .core.views import Shown

Facts = serializers.JSONField(read_only=True)


class System(Shown):
    class Meta:
        model = models.System
        fields = (
            "id", "url", "label", "instance", "driver", "hardware", "build", "configuration", "path", "description",
            "digest",
        )  # fmt: skip


class Experiment(Shown):
    systems = serializers.PrimaryKeyRelatedField(many=True, read_only=True)
    tags = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    run_count = serializers.IntegerField(read_only=True)
    ended_count = serializers.IntegerField(read_only=True)
    bad_count = serializers.IntegerField(read_only=True, help_text="Runs that failed or were lost.")
    cancelled_count = serializers.IntegerField(read_only=True)
    is_over = serializers.SerializerMethodField(help_text="Whether all its runs have ended, and no more are to come.")
    created_by = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = models.Experiment
        fields = (
            "id", "url", "name", "remark", "tags", "is_demonstration", "is_brought_in", "workload", "systems", "design",
            "client_build", "client_bin_directory", "client_levels", "thread_rule", "repeats", "duration_s",
            "warmup_s", "rest_s", "vacuum", "checkpoint", "priority", "failure_policy", "failure_limit",
            "attempts_if_lost", "paused_at", "pause_reason", "created_by", "created_at", "run_count", "ended_count",
            "bad_count", "cancelled_count", "is_over",
        )  # fmt: skip

    def get_is_over(self, row: Any) -> bool:
        return bool(row.run_count == row.ended_count and not row.grows_on)


class Result(serializers.ModelSerializer):
    class Meta:
        model = models.Result
        fields = (
            "throughput", "unit", "latency_average_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms",
            "measures", "doubts", "remarks", "parser", "parsed_at",
        )  # fmt: skip


class Run(Shown):
    """`result` is null unless the run measured something: a failed run never becomes a point."""

    protocol_digest = serializers.CharField(source="protocol_id", read_only=True)
    result = Result(read_only=True, allow_null=True)

    class Meta:
        model = models.Run
        fields = (
            "id", "url", "uuid", "experiment", "system", "kind", "position", "clients", "threads", "repeat", "spec",
            "protocol_digest", "expected_s", "state", "reason", "cancel_asked_at", "created_at", "started_at",
            "ended_at", "delivery", "source", "set_aside_at", "set_aside_reason", "result",
        )  # fmt: skip


class Found(serializers.ModelSerializer):
    class Meta:
        model = models.Found
        fields = ("settings", "server", "host", "deltas", "differences", "facts_digest")


class Series(serializers.ModelSerializer):
    """Value i covers the `step_s` seconds that end at start + (i + 1) steps."""

    class Meta:
        model = models.Series
        fields = ("metric", "unit", "start_epoch_s", "step_s", "values")


class Histogram(serializers.ModelSerializer):
    class Meta:
        model = models.LatencyHistogram
        fields = ("name", "lower_us", "upper_us", "counts", "sum_us", "min_us", "max_us", "sampling_rate")


class SeriesOfRun(serializers.Serializer):
    series = Series(many=True)
    histograms = Histogram(many=True)


class Evidence(serializers.ModelSerializer):
    """`url` leads to its bytes; `text` is what they are as UTF-8."""

    url = serializers.SerializerMethodField()
    attempt = serializers.IntegerField(source="attempt.number", read_only=True)
    text = serializers.CharField(read_only=True)

    class Meta:
        model = models.Evidence
        fields = ("id", "url", "attempt", "name", "size_bytes", "sha256", "remark", "text")

    def get_url(self, file: models.Evidence) -> str:
        address = reverse("api:run-evidence-file", args=[file.attempt.run_id, file.pk])
        return str(self.context["request"].build_absolute_uri(address))


class GrowthStep(serializers.Serializer):
    runs = serializers.SerializerMethodField(help_text="Of a search one, of a decision a pair; none if not queued yet.")
    before = serializers.JSONField(help_text="What was believed before them, as in `found`.")

    def get_runs(self, step: Any) -> list[int]:
        return [run.pk for run in step.runs]


class Growth(serializers.Serializer):
    """What an experiment that searches or decides has found so far."""

    grows = serializers.CharField(source="experiment.grows", help_text="peak, ceiling or decide.")
    precision = serializers.FloatField(source="experiment.precision", help_text="As a share.")
    ceiling_ms = serializers.FloatField(source="experiment.ceiling_ms", allow_null=True)
    used = serializers.IntegerField(help_text="Measuring runs that were planned so far.")
    budget = serializers.IntegerField(help_text="At most so many.")
    unit = serializers.CharField(allow_blank=True, help_text="Of throughput.")
    is_open = serializers.BooleanField(help_text="Whether more steps may come.")
    stopped = serializers.CharField(source="growth.stopped", default="", help_text="Why no more come; empty if not so.")
    found = serializers.JSONField(
        help_text="What is believed now. Of a decision: `value`, `low` and `high` of the ratio, and a `sentence`; of a "
        "search: `best` clients, `probability` that they are good enough, `estimate`, `low` and `high`."
    )
    steps = GrowthStep(source="rows", many=True)


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


class Period(Shown):
    start = serializers.DateTimeField(source="period.lower", read_only=True)
    end = serializers.DateTimeField(source="period.upper", read_only=True)

    class Meta:
        model = models.Reservation
        fields = ("id", "url", "host", "experiment", "window", "start", "end", "zone", "reason")


class Window(Shown):
    class Meta:
        model = models.Window
        fields = ("id", "url", "host", "experiment", "weekdays", "starts_at", "ends_at", "zone", "reason")


class Preview(serializers.Serializer):
    """What would be queued, and what is odd about it."""

    run_count = serializers.IntegerField()
    load_count = serializers.IntegerField(help_text="Data sets that have to be loaded first.")
    total_s = serializers.FloatField(help_text="One run after the other, by what such runs took before.")
    ahead = serializers.IntegerField(help_text="Runs on the same hosts that come first.")
    wait_s = serializers.FloatField()
    doubts = serializers.ListField(child=serializers.CharField())


class Count(serializers.Serializer):
    count = serializers.IntegerField(help_text="How many runs it was done to.")
    experiment = serializers.CharField(help_text="Where to look for what comes of it.")


class Level(serializers.Serializer):
    clients = serializers.IntegerField()
    n = serializers.IntegerField(source="throughput.n", help_text="Repeats.")
    median = serializers.FloatField(source="throughput.median")
    mean = serializers.FloatField(source="throughput.mean")
    lowest = serializers.FloatField(source="throughput.lowest")
    highest = serializers.FloatField(source="throughput.highest")
    sd = serializers.FloatField(source="throughput.sd", allow_null=True, help_text="Null for one run.")
    latency_average_ms = serializers.FloatField(allow_null=True)
    latency_p95_ms = serializers.FloatField(allow_null=True, help_text="Of all transactions of the repeats together.")
    latency_p99_ms = serializers.FloatField(allow_null=True, help_text="Null where too few were logged.")
    latency_samples = serializers.SerializerMethodField(help_text="Logged transactions behind the percentiles.")
    low = serializers.SerializerMethodField(help_text="Of what low_to_high_is says; null for one run.")
    high = serializers.SerializerMethodField()
    low_to_high_is = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField()
    doubts = serializers.ListField(child=serializers.CharField())

    def get_latency_samples(self, level: Any) -> int | None:
        return level.latencies.samples if level.latencies else None

    def get_low(self, level: Any) -> float | None:
        return level.throughput.low if level.throughput.n > 1 else None

    def get_high(self, level: Any) -> float | None:
        return level.throughput.high if level.throughput.n > 1 else None

    def get_low_to_high_is(self, level: Any) -> str | None:
        return level.throughput.kind if level.throughput.n > 1 else None

    def get_runs(self, level: Any) -> list[int]:
        return [run.run for run in level.runs]


class Curve(serializers.Serializer):
    """Throughput of one system under one protocol, against clients."""

    key = serializers.CharField(help_text="Names the curve in a comparison: experiment-system.")
    system = serializers.IntegerField()
    label = serializers.CharField()
    unit = serializers.CharField()
    protocol_digest = serializers.CharField()
    system_digest = serializers.CharField()
    peak_clients = serializers.IntegerField()
    peak_remark = serializers.CharField(allow_blank=True)
    withheld = serializers.CharField(allow_blank=True, help_text="Why its levels have no intervals.")
    levels = Level(many=True)


class CurveGroup(serializers.Serializer):
    """Curves that may be compared; `refusal` says why where they may not, and then there are none."""

    protocol_digest = serializers.CharField()
    refusal = serializers.CharField(allow_blank=True)
    curves = Curve(many=True)
