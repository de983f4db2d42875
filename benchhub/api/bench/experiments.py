"""Experiments: planned, queued, watched, cancelled and repeated as on their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.renderers import Csv, Page
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models
from benchhub.bench.plan import form as plan_form
from benchhub.bench.plan import growth, plan, preview, repeats
from benchhub.bench.plan.fields import systems as system_fields
from benchhub.bench.queue import order, permits, queue
from benchhub.bench.queue.forms.policy import PolicyForm
from benchhub.celery import wake
from benchhub.reports.curves import csv as curves_csv
from benchhub.reports.curves import sweeps
from benchhub.reports.experiments import growth as experiments_growth
from benchhub.reports.experiments import page, queries, tags

from .curves import CurveGroup, group_of
from .times import ZONE


class Experiment(RowSerializer):
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
            "occasion_of", "client_build", "client_bin_directory", "client_levels", "thread_rule", "repeats",
            "duration_s", "warmup_s", "rest_s", "vacuum", "checkpoint", "priority", "data_set_policy", "failure_policy",
            "failure_limit", "attempts_if_lost", "is_exclusive", "paused_at", "pause_reason", "created_by",
            "created_at", "run_count", "ended_count", "bad_count", "cancelled_count", "is_over",
        )  # fmt: skip

    def get_is_over(self, row: Any) -> bool:
        return bool(row.run_count == row.ended_count and not row.grows_on)


class GrowthStep(serializers.Serializer):
    runs = serializers.SerializerMethodField(help_text="Of a search one, of a decision a pair; none if not queued yet.")
    before = serializers.JSONField(help_text="What was believed before them, as in `found`.")

    def get_runs(self, step: Any) -> list[int]:
        return [run.pk for run in step.runs]


class Growth(serializers.Serializer):
    """Results so far of an experiment that searches or decides."""

    grows = serializers.CharField(source="experiment.grows", help_text="peak, ceiling or decide.")
    precision = serializers.FloatField(source="experiment.precision", help_text="As a share.")
    ceiling_ms = serializers.FloatField(source="experiment.ceiling_ms", allow_null=True)
    used = serializers.IntegerField(help_text="Measuring runs that were planned so far.")
    budget = serializers.IntegerField(help_text="At most so many.")
    unit = serializers.CharField(allow_blank=True, help_text="Of throughput.")
    is_open = serializers.BooleanField(help_text="Whether more steps may come.")
    stopped = serializers.CharField(source="growth.stopped", default="", help_text="Why no more come; empty if not so.")
    found = serializers.JSONField(
        source="findings",
        help_text="What is believed now. Of a decision: `value`, `low` and `high` of the ratio, and a `sentence`; of a "
        "search: `best` clients (a level that was run), `probability` that they are good enough, `estimate`, `low` and "
        "`high`; `doubts` (rough, noise, drift, stalls, unconfirmed) and their sentences, `reasons`.",
    )
    steps = GrowthStep(source="rows", many=True)


class Preview(serializers.Serializer):
    """A plan before it is queued: its runs, how long they take, and its warnings."""

    run_count = serializers.IntegerField()
    load_count = serializers.IntegerField(help_text="Data sets that have to be loaded first.")
    total_s = serializers.FloatField(help_text="One run after the other, by what such runs took before.")
    ahead = serializers.IntegerField(help_text="Runs on the same hosts that come first.")
    wait_s = serializers.FloatField()
    doubts = serializers.ListField(child=serializers.CharField(), source="warnings")


class Count(serializers.Serializer):
    count = serializers.IntegerField(help_text="How many runs it was done to.")
    experiment = serializers.CharField(help_text="Where to look for what comes of it.")


KEY = drf.IntegerField(min_value=1, max_value=2**63 - 1)


SYSTEM = serializer_of(
    system_fields.SystemForm,
    "SystemRequest",
    instance=KEY,
    configuration=drf.IntegerField(
        required=False,
        allow_null=True,
        help_text="Left out: the instance's own. A cluster of BenchHub's own may have any.",
    ),
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
    window_zone=drf.CharField(required=False, help_text=ZONE),
    systems=SYSTEM(many=True, min_length=1, max_length=system_fields.MOST_SYSTEMS),
)


POLICY = serializer_of(PolicyForm, "PolicyRequest")


REPEATS = serializer_of(repeats.RepeatsForm, "RepeatsRequest")


TAGS = inline_serializer(
    "TagsRequest", {"tags": drf.ListField(child=drf.CharField(max_length=tags.LONGEST), max_length=tags.MOST)}
)


MOVE = inline_serializer("MoveRequest", {"direction": drf.ChoiceField(choices=list(order.DIRECTIONS))})


def draft_of(sent: Mapping[str, Any], user: Any, *, needs_name: bool) -> plan_form.Draft:
    """Return the form of a plan as the page would have sent it."""
    systems = sent.get("systems", [])
    data: dict[str, Any] = {**preview.DEFAULTS, **json_forms.texts({k: v for k, v in sent.items() if k != "systems"})}
    data |= {"systems-TOTAL_FORMS": str(len(systems)), "systems-INITIAL_FORMS": "0"}
    for number, system in enumerate(systems):
        data |= {f"systems-{number}-{name}": text for name, text in json_forms.texts(system).items()}
    return plan_form.Draft(data, needs_name=needs_name, user=user)  # type: ignore[arg-type]  # a mapping is enough


def plan_request_of(draft: plan_form.Draft) -> plan_form.PlanRequest:
    """Return what the draft asks for. Raises a problem that names the fields."""
    if draft.plan_request:
        return draft.plan_request
    faults = problems.of_form(draft.plan)
    for number, form in enumerate(draft.systems):
        faults += problems.of_form(form, f"/systems/{number}")
    raise problems.invalid(faults)


class Experiments(ReadView):
    serializer_class = Experiment
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "name": ["exact", "icontains"], "workload": ["exact"], "systems": ["exact"], "is_demonstration": ["exact"],
        "created_by__username": ["exact"], "created_at": ["gte", "lte"], "paused_at": ["isnull"],
        "design": ["exact"], "occasion_of": ["exact"], "tags__name": ["exact"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name", "created_at", "priority")
    search_fields = ("name", "remark")

    def get_queryset(self) -> QuerySet[models.Experiment]:
        return queries.experiments().select_related("created_by").prefetch_related("systems", "tags")

    @extend_schema(request=PLAN, responses={202: Experiment})
    def create(self, request: Request) -> Response:
        """Plan an experiment and queue its runs."""
        sent = json_forms.checked(PLAN, request.data)
        plan_request = plan_request_of(draft_of(sent, request.user, needs_name=True))
        return self._shown(preview.queue(plan_request, request.user))

    @extend_schema(request=PLAN, responses=Preview)
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Show what would be queued; nothing is saved."""
        sent = json_forms.checked(PLAN, request.data, partial=True)
        plan_request = plan_request_of(draft_of(sent, request.user, needs_name=False))
        return Response(Preview(preview.look(plan_request)).data)

    @extend_schema(request=POLICY, responses=Experiment)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change its priority, and what happens when runs fail."""
        row = self._permitted()
        self.require_unchanged(row)
        sent = json_forms.checked(POLICY, request.data, partial=True)
        current = json_forms.form_values(PolicyForm(instance=row))
        json_forms.save_form(PolicyForm({**current, **json_forms.texts(sent)}, instance=row))
        transaction.on_commit(wake)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None, responses={202: Count})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel what waits, and stop what is under way."""
        row = self._permitted()
        growth.stop(row)
        return self._counted(row, queue.ask_to_cancel(models.Run.objects.filter(experiment=row)))

    @extend_schema(request=None, responses={202: Count})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run those that failed or were lost again, as new attempts."""
        row = self._permitted()
        return self._counted(row, queue.run_again(row.runs.all(), f"To be run again, as {request.user} asked."))

    @extend_schema(request=None, responses={202: Experiment})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Queue the same experiment once more, beside the first."""
        row = self._permitted()
        if refusal := preview.again_refusal([row]):
            raise problems.Problem(409, refusal)
        return self._shown(plan.again(row, request.user))

    @extend_schema(request=REPEATS, responses={202: Count})
    @action(detail=True, methods=["post"])
    def repeats(self, request: Request, pk: str) -> Response:
        """Queue more repeats at these levels: of each system that has runs there."""
        row = self._permitted()
        if retired := preview.retired_instances(row):
            raise problems.Problem(409, f"An instance of it is retired: {', '.join(retired)}.")
        sent = json_forms.checked(REPEATS, request.data)
        blank_form = repeats.RepeatsForm(experiment=row)
        form = repeats.RepeatsForm({**json_forms.form_values(blank_form), **json_forms.texts(sent)}, experiment=row)
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        return self._counted(row, len(repeats.add(row, form.cleaned_data["levels"], form.cleaned_data["repeats"])))

    @extend_schema(request=TAGS)
    @action(detail=True, methods=["put"])
    def tags(self, request: Request, pk: str) -> Response:
        """Replace its tags by these."""
        row, sent = self._permitted(), json_forms.checked(type(TAGS), request.data)
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
        if not order.shift(self._permitted(), order.DIRECTIONS[direction]):
            raise problems.Problem(409, "It stands at the end of the queue, or no longer waits.")
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={(200, "application/json"): CurveGroup(many=True), (200, "text/csv"): str})
    @action(detail=True, renderer_classes=[JSONRenderer, Csv, Page], pagination_class=None, filter_backends=[])
    def curves(self, request: Request, pk: str) -> Response:
        """Return its curves, one group for each protocol; as CSV with Accept: text/csv."""
        row = self.get_object()
        systems = queries.systems(row)
        groups = page.groups(row, queries.curve_runs(row), systems)
        if request.accepted_renderer.format == "csv":
            return Response(curves_csv.experiment_csv(sweeps.sweeps(row, systems), groups))
        return Response([group_of(row.pk, group) for group in groups])

    @extend_schema(responses=Growth)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def growth(self, request: Request, pk: str) -> Response:
        """Return what a search or a decision has found, and what was believed before each of its steps."""
        row = self.get_object()
        growth = experiments_growth.shown(row)
        if growth is None:
            raise problems.Problem(404, "It runs every level as listed: it neither searches nor decides.")
        return Response(Growth(growth).data)

    def _permitted(self) -> models.Experiment:
        row: models.Experiment = self.get_object()
        permits.require_experiment(self.request.user, row)
        return row

    def _shown(self, experiment: models.Experiment) -> Response:
        """Answer with the experiment; where it is the first part of a design, Location names the design."""
        answer = self.accepted_answer(self.get_queryset().get(pk=experiment.pk))
        if experiment.design_id:
            answer.headers["Location"] = self.link("design-detail", experiment.design_id)
        return answer

    def _counted(self, row: models.Experiment, count: int) -> Response:
        transaction.on_commit(wake)
        address = self.link("experiment-detail", row.pk)
        return Response({"count": count, "experiment": address}, status=202, headers={"Location": address})
