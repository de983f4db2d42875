"""Curves as they are drawn: levels with their spread, and the runs behind each."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from benchhub.bench.models.levels import MOST_REPEATS
from benchhub.reports.curves import curves


class Level(serializers.Serializer):
    clients = serializers.IntegerField()
    n = serializers.IntegerField(source="throughput.n", help_text="Repeats that all figures rest on.")
    left_out = serializers.IntegerField(
        help_text=f"Older runs, in no figure: a level is made of its newest {MOST_REPEATS}."
    )
    geometric_mean = serializers.FloatField(
        source="throughput.mean", help_text="What charts, ratios, peaks and prices rest on; a single run is its own."
    )
    median = serializers.FloatField(source="throughput.median", help_text="To compare with other reports.")
    arithmetic_mean = serializers.FloatField(source="throughput.arithmetic_mean", help_text="Likewise.")
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
    is_imported = serializers.BooleanField(help_text="Its runs were measured elsewhere.")
    levels = Level(many=True)


class CurveGroup(serializers.Serializer):
    """Curves that may be compared; `refusal` says why where they may not, and then there are none."""

    protocol_digest = serializers.CharField()
    refusal = serializers.CharField(allow_blank=True)
    curves = Curve(many=True)


def group_of(experiment: int, group: curves.Group) -> dict[str, Any]:
    documents = [curve_of(f"{experiment}-{system_curve.system.pk}", system_curve) for system_curve in group.curves]
    return {"protocol_digest": group.protocol_digest, "refusal": group.refusal, "curves": documents}


def curve_of(key: str, system_curve: curves.SystemCurve) -> dict[str, Any]:
    peak = system_curve.curve.peak
    names = {
        "key": key,
        "system": system_curve.system.pk,
        "label": system_curve.system.label,
        "unit": system_curve.curve.unit,
    }
    digests = {"protocol_digest": system_curve.curve.protocol_digest, "system_digest": system_curve.curve.system_digest}
    peak_fields = {
        "peak_clients": peak.level.clients,
        "peak_remark": peak.sentence,
        "withheld": system_curve.curve.withheld,
        "is_imported": system_curve.is_imported,
    }
    return {**names, **digests, **peak_fields, "levels": Level(system_curve.curve.levels, many=True).data}
