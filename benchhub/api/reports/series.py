"""Tuning series: planned, queued and read with their effects as on their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.curves.ratio import VERDICTS
from benchhub.analysis.tuning import treatments
from benchhub.api.bench.experiments import Preview
from benchhub.api.bench.times import ZONE
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models
from benchhub.bench.tuning import draft as series_draft
from benchhub.bench.tuning import form as series_form
from benchhub.bench.tuning.page import NewSeriesPage
from benchhub.bench.tuning.queue import queue
from benchhub.reports.tuning import answer, exports, queries
from benchhub.reports.tuning.series import Interaction, Series, Step, Treatment

from .tuning import Effect

HIGHEST_KEY = 2**63 - 1
SERIES_STEP = serializer_of(series_form.StepForm, "SeriesStepRequest")
SERIES = serializer_of(
    series_form.SeriesForm,
    "TuningSeriesRequest",
    usual=series_form.DEFAULTS,
    instance=drf.IntegerField(min_value=1, max_value=HIGHEST_KEY),
    baseline=drf.IntegerField(required=False, allow_null=True, help_text="Left out: the cluster's own configuration."),
    size=drf.IntegerField(
        required=False, allow_null=True, help_text="Of a factorial: 4, 8, 16 or 32. Left out: the usual one."
    ),
    workload=drf.IntegerField(min_value=1, max_value=HIGHEST_KEY),
    client=drf.CharField(required=False, allow_blank=True, help_text="Its folder; left out: the newest on the host."),
    window_zone=drf.CharField(required=False, help_text=ZONE),
    steps=SERIES_STEP(many=True, min_length=1, max_length=treatments.MOST_STEPS),
)


class SeriesStep(drf.ModelSerializer):
    class Meta:
        model = models.TuningStep
        fields = ("number", "name", "settings", "os_settings")


class StepSeries(RowSerializer):
    steps = SeriesStep(many=True, read_only=True)
    created_by = drf.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)
    planned_count = drf.IntegerField(read_only=True, help_text="Measuring runs.")
    ended_count = drf.IntegerField(read_only=True)

    class Meta:
        model = models.TuningSeries
        fields = (
            "id", "url", "name", "remark", "kind", "instance", "baseline", "experiment", "steps", "planned_count",
            "ended_count", "created_by", "created_at",
        )  # fmt: skip


class SeriesPreview(Preview):
    """A series before it is queued."""

    configurations = drf.ListField(child=drf.CharField(), help_text="In the order of the first repeat.")
    design = drf.CharField(allow_blank=True, help_text="Of a factorial: 2^(5-1), resolution V.")
    mixed = drf.ListField(child=drf.CharField(), help_text="What a factorial cannot tell apart.")


class StepEffect(drf.Serializer):
    steps = drf.ListField(child=drf.IntegerField(), help_text="The number of a step, or those of two that interact.")
    name = drf.CharField()
    changed = drf.CharField(allow_blank=True)
    effect = Effect(allow_null=True, help_text="None until its runs have ended.")
    verdict = drf.ChoiceField(choices=VERDICTS, allow_null=True)
    text = drf.CharField(help_text="+12% (8 to 17%), or that no effect is shown or tested.")
    not_told_from = drf.CharField(allow_blank=True, help_text="Effects that the same runs cannot tell from it.")


class SeriesPrice(drf.Serializer):
    licence = drf.CharField()
    amount = drf.DecimalField(max_digits=None, decimal_places=None)
    currency = drf.CharField()


class SeriesSystem(drf.Serializer):
    place = drf.IntegerField()
    label = drf.CharField()
    steps = drf.ListField(child=drf.IntegerField())
    system = drf.IntegerField()
    configuration = drf.IntegerField()
    throughput = drf.FloatField(allow_null=True)
    unit = drf.CharField()
    over_baseline = Effect(allow_null=True)
    less_durable = drf.CharField(allow_blank=True, help_text="The settings by which it is no candidate for the best.")
    prices = SeriesPrice(many=True, help_text="Per unit of throughput.")


class SettingsFile(drf.Serializer):
    name = drf.CharField()
    text = drf.CharField(allow_blank=True)
    refusal = drf.CharField(allow_blank=True, help_text="Why there is no text.")


class SeriesEffects(drf.Serializer):
    """What each step gained, and the best configuration."""

    sentence = drf.CharField(help_text="The answer.")
    remarks = drf.ListField(child=drf.CharField())
    best = drf.IntegerField(allow_null=True, help_text="Its place among the systems; none while nothing is measured.")
    levels = drf.ListField(child=drf.IntegerField(), help_text="Clients.")
    is_whole = drf.BooleanField(help_text="Whether every system has results.")
    steps = StepEffect(many=True)
    interactions = StepEffect(many=True)
    total = Effect(allow_null=True, help_text="Of cumulative steps: all of them together.")
    systems = SeriesSystem(many=True)
    files = SettingsFile(many=True, help_text="The settings of the best configuration.")


class TuningSeriesView(ReadView):
    serializer_class = StepSeries
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "name": ["exact", "icontains"], "kind": ["exact"], "instance": ["exact"], "experiment": ["exact"],
        "created_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name", "created_at")

    def get_queryset(self) -> QuerySet[models.TuningSeries]:
        return queries.series().prefetch_related("steps")

    @extend_schema(request=SERIES, responses={202: StepSeries})
    def create(self, request: Request) -> Response:
        """Plan a series and queue its runs: the baseline and each step in turns, on one cluster of BenchHub's own."""
        draft = _draft(json_forms.checked(SERIES, request.data), request.user, needs_name=True)
        row = queue(_request(draft), request.user)
        return self.accepted_answer(self.get_queryset().get(pk=row.pk))

    @extend_schema(request=SERIES, responses=SeriesPreview)
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Show what would be queued, and what a factorial could not tell apart; nothing is saved."""
        draft = _draft(json_forms.checked(SERIES, request.data, partial=True), request.user, needs_name=False)
        _request(draft)
        page = NewSeriesPage(draft)
        own = {"configurations": page.configurations, "design": page.design_title, "mixed": page.mixed}
        return Response({**Preview(page.preview).data, "doubts": page.warnings, **own})

    @extend_schema(responses=SeriesEffects)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def effects(self, request: Request, pk: str) -> Response:
        """Return the effects with their intervals, the systems with their prices, and the best settings as files."""
        series = Series.load(self.get_object())
        best = series.best
        return Response(
            SeriesEffects(
                {
                    "sentence": answer.verdict(series),
                    "remarks": answer.sentences(series),
                    "best": best.place if best else None,
                    "levels": series.effects.levels,
                    "is_whole": series.is_whole,
                    "steps": [_step(step) for step in series.steps],
                    "interactions": [_interaction(row) for row in series.interactions],
                    "total": series.effects.total,
                    "systems": [_system(row) for row in series.treatments],
                    "files": exports.exports_of(best, series.row.name) if best else [],
                }
            ).data
        )


def _draft(sent: Mapping[str, Any], user: Any, *, needs_name: bool) -> series_draft.SeriesDraft:
    """Return the form of a series as the page would have sent it."""
    steps, prefix = sent.get("steps", []), series_draft.PREFIX
    own = {name: value for name, value in sent.items() if name != "steps"}
    data: dict[str, Any] = {**series_form.DEFAULTS, **json_forms.texts(own)}
    data |= {f"{prefix}-TOTAL_FORMS": str(len(steps)), f"{prefix}-INITIAL_FORMS": "0"}
    for number, step in enumerate(steps):
        data |= {f"{prefix}-{number}-{name}": text for name, text in json_forms.texts(step).items()}
    return series_draft.SeriesDraft(data, needs_name=needs_name, user=user)  # type: ignore[arg-type]  # a mapping is enough


def _request(draft: series_draft.SeriesDraft) -> series_draft.SeriesRequest:
    """Return what the draft asks for. Raises a problem that names the fields."""
    if draft.request:
        return draft.request
    faults = problems.of_form(draft.series)
    for number, form in enumerate(draft.steps):
        faults += problems.of_form(form, f"/steps/{number}")
    if not faults:
        faults = [{"pointer": "/steps", "detail": " ".join(map(str, draft.steps.non_form_errors()))}]
    raise problems.invalid(faults)


def _step(step: Step) -> dict[str, Any]:
    return {
        "steps": [step.number], "name": step.name, "changed": step.changes_text, "effect": step.effect.ratio,
        "verdict": step.effect.ratio and step.effect.ratio.verdict, "text": step.text,
        "not_told_from": step.alias_text,
    }  # fmt: skip


def _interaction(row: Interaction) -> dict[str, Any]:
    return {
        "steps": row.effect.steps, "name": row.name, "changed": "", "effect": row.effect.ratio,
        "verdict": row.effect.ratio and row.effect.ratio.verdict, "text": row.text,
        "not_told_from": row.alias_text,
    }  # fmt: skip


def _system(row: Treatment) -> dict[str, Any]:
    return {
        "place": row.place, "label": row.label, "steps": row.row.step_numbers, "system": row.row.system_id,
        "configuration": row.configuration.pk, "throughput": row.measured.throughput if row.measured else None,
        "unit": row.unit, "over_baseline": row.ratio, "less_durable": row.relaxed_text,
        "prices": [price for price in row.prices if price],
    }  # fmt: skip
