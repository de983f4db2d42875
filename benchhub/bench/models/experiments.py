"""Experiments, the systems in them, and their runs."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Avg, Count, F, Func, OuterRef, Q, Subquery, Sum, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Now

from benchhub.catalog.models import PgBuild, Workload
from runners import tools

from .data_sets import NeedsDataSet
from .delivery import Delivery
from .design import Designed, SetAside
from .growth import Grown, Growth
from .levels import ENDED_WELL, LEVEL, MEASURED_AT, LevelQuerySet
from .recurrence import Occasion
from .states import ACTIVE, FINAL, Standing, State
from .systems import Protocol, System

KEYS = ArrayField(models.BigIntegerField())
EACH = "unnest(ARRAY[%(expressions)s])"
# From each experiment with a run in the queue to the next by the index `run_queue`: of thousands of runs few are read.
IN_QUEUE = """
    WITH RECURSIVE waiting AS (
        (SELECT experiment_id FROM bench_run WHERE state = 'queued' ORDER BY experiment_id LIMIT 1)
        UNION ALL
        SELECT later.experiment_id FROM waiting CROSS JOIN LATERAL (
            SELECT run.experiment_id FROM bench_run AS run
            WHERE run.state = 'queued' AND run.experiment_id > waiting.experiment_id ORDER BY run.experiment_id LIMIT 1
        ) AS later
    )
    SELECT experiment_id FROM waiting
"""


def _subtotal(counts: models.QuerySet[Any]) -> Coalesce:
    """Return the `number` of a subquery of one row at most, 0 for none."""
    return Coalesce(Subquery(counts.values("number")), 0, output_field=models.BigIntegerField())


class ExperimentQuerySet(models.QuerySet["Experiment"]):
    def with_host_keys(self) -> Self:
        """Add to each experiment the `host_keys` of all drivers and servers that its runs need."""
        # From the few systems of an experiment to their hosts: the other way round each host has all its experiments.
        rows = ExperimentSystem.objects.filter(experiment=OuterRef("pk")).order_by()
        hosts = Func("system__driver", "system__instance__host", template=EACH, output_field=models.BigIntegerField())
        keys = ArraySubquery(rows.annotate(host=hosts).values("host").distinct().order_by("host"))
        return self.annotate(host_keys=Func(keys, Value(None), function="array_remove", output_field=KEYS))

    def waiting(self) -> Self:
        """Return the experiments with runs in the queue, the next one first.

        One that grows and was paused between two steps waits as well, though it has no run just then.
        """
        held, values = Experiment.objects.growing().filter(paused_at__isnull=False).values("pk").query.sql_with_params()
        age = Coalesce("place", "pk", output_field=models.BigIntegerField())
        # As keys of both: with a condition or the other the database would go through all experiments.
        keys = RawSQL(f"{IN_QUEUE} UNION {held}", values)  # nosec B611  # a constant, and Django's own
        return self.filter(pk__in=keys).order_by("-priority", age, "pk")

    def next_runs(self, most: int) -> models.QuerySet[Experiment, tuple[int, list[int]]]:
        """Return the key of each experiment with those of its next runs in the queue, `most` at most."""
        queued = Run.objects.queued().filter(experiment=OuterRef("pk")).order_by("position")
        return self.values_list("pk", ArraySubquery(queued.values("pk")[:most]))

    def queue_rows(self, keys: Sequence[int]) -> list[Experiment]:
        """Return the given experiments in this order, with counts and seconds of their runs in the queue."""
        queued = Run.objects.queued().filter(experiment__in=keys).in_numbers()
        rows = self.with_host_keys().select_related("workload").in_bulk(keys)
        for key, row in rows.items():
            numbers = queued.get(key, InQueue())
            row.queued_count, row.queued_loads, row.queued_s = numbers  # type: ignore[attr-defined]  # for pages, no column
            row.queued_runs = numbers.runs - numbers.loads  # type: ignore[attr-defined]  # as above
        return [rows[key] for key in keys if key in rows]

    def growing(self) -> Self:
        """Return the experiments that grow and have not stopped, whether a run of them is left or not."""
        goes_on = Q(growth=None) | Q(growth__stopped=Growth.Stopped.NOT)
        return self.filter(goes_on).exclude(grows=Experiment.Grows.NOT)

    def left(self) -> Self:
        """Return the experiments that have not ended: with runs left, or with more to come."""
        unfinished = Run.objects.unfinished().order_by().values("experiment")
        return self.filter(Q(pk__in=unfinished) | Q(pk__in=Experiment.objects.growing().values("pk")))

    def exclusive(self) -> Self:
        """Return the experiments that are to have their hosts to themselves, and have not ended or recur."""
        recurs = Q(recurrence__next_at__isnull=False, recurrence__paused_at=None)
        return self.filter(Q(pk__in=self.model.objects.left().values("pk")) | recurs, is_exclusive=True)

    def tripped(self) -> Self:
        """Return the experiments with so many failures, since they were last resumed, that their policy stops them."""
        is_recent = Q(experiment__resumed_at=None) | Q(ended_at__gt=F("experiment__resumed_at"))
        failed = Run.objects.filter(is_recent, experiment=OuterRef("pk"), state__in=[State.FAILED, State.LOST])
        counts = failed.order_by().values("experiment").annotate(number=Count("pk"))
        return (
            self.exclude(failure_policy=Experiment.FailurePolicy.CONTINUE)
            .filter(pk__in=Run.objects.queued().order_by().values("experiment"), paused_at=None)
            .annotate(failures=_subtotal(counts))
            .filter(failures__gte=F("failure_limit"))
        )


# What a copy of an experiment has of its own.
NOT_COPIED = (
    *("id", "created_at", "created_by_id", "design_id", "occasion_of_id"),
    *("place", "paused_at", "pause_reason", "resumed_at"),
)


class Experiment(NeedsDataSet, Designed, Grown, Occasion):
    """Systems x load levels x repeats of one workload under one protocol."""

    class FailurePolicy(models.TextChoices):
        CONTINUE = "continue", "go on with the others"
        PAUSE = "pause", "pause the experiment"
        CANCEL = "cancel", "cancel what still waits"

    name = models.CharField(max_length=160)
    remark = models.TextField(blank=True)
    is_demonstration = models.BooleanField(default=False)
    is_brought_in = models.BooleanField(default=False, help_text="Its runs were measured elsewhere.")
    workload = models.ForeignKey(Workload, models.PROTECT)
    systems = models.ManyToManyField(System, through="ExperimentSystem", related_name="experiments")
    client_build = models.ForeignKey(PgBuild, models.PROTECT, help_text="One pgbench serves every system.")
    client_bin_directory = models.CharField(max_length=300)
    client_levels = ArrayField(models.PositiveIntegerField())
    thread_rule = models.CharField(max_length=20, default="clients")
    repeats = models.PositiveIntegerField(default=1)
    duration_s = models.PositiveIntegerField()
    warmup_s = models.PositiveIntegerField(default=0)
    rest_s = models.PositiveIntegerField(default=0)
    vacuum = models.BooleanField(default=False)
    checkpoint = models.BooleanField(default=False)
    priority = models.SmallIntegerField(default=0, help_text="Higher goes first; of the same, the older.")
    place = models.BigIntegerField(null=True, blank=True, help_text="Its age in the queue, where a person moved it.")
    failure_policy = models.CharField(max_length=10, choices=FailurePolicy, default=FailurePolicy.CONTINUE)
    failure_limit = models.PositiveIntegerField(default=1)
    attempts_if_lost = models.PositiveIntegerField(default=1, help_text="A lost run is run again up to so many times.")
    is_exclusive = models.BooleanField(
        default=False, db_default=False, help_text="In its periods no run of another experiment begins on its hosts."
    )
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True)
    resumed_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="experiment_newest"),
            models.Index(fields=["name", "id"], name="experiment_name"),
            models.Index(fields=["priority", "id"], name="experiment_priority"),
            models.Index(fields=["id"], condition=Q(is_exclusive=True), name="experiment_exclusive"),
            # Few of all that there ever were: those that grow, and those that stand still.
            models.Index(fields=["id"], condition=~Q(grows=""), name="experiment_growing"),
            models.Index(fields=["paused_at"], condition=Q(paused_at__isnull=False), name="experiment_paused"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(duration_s__gte=1, repeats__gte=1), name="experiment_has_load"),
            models.CheckConstraint(condition=~Q(client_levels=[]), name="experiment_has_levels"),
            models.CheckConstraint(
                condition=Q(failure_policy__in=["continue", "pause", "cancel"], failure_limit__gte=1),
                name="experiment_failure_policy",
            ),
            models.CheckConstraint(condition=Q(attempts_if_lost__gte=1), name="experiment_has_attempts"),
            models.CheckConstraint(condition=Q(grows="") | Q(most_runs__gte=1), name="experiment_grows_in_budget"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def client(self) -> str:
        """Return the load generator's program with its version, in the words of the protocol."""
        return tools.get(self.workload.tool).client(self.client_build.version)


class ExperimentSystem(models.Model):
    experiment = models.ForeignKey(Experiment, models.CASCADE)
    system = models.ForeignKey(System, models.PROTECT)
    position = models.PositiveIntegerField()
    # Kept by triggers of the database, in the transaction that changes it: lists must not count all runs.
    result_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["position"]
        indexes = [
            models.Index(fields=["experiment", "system"], condition=Q(result_count__gt=0), name="curve_exists"),
            models.Index(fields=["result_count", "id"], condition=Q(result_count__gt=0), name="curve_results"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "system"], name="experiment_system_once"),
        ]

    def __str__(self) -> str:
        return f"{self.system} in {self.experiment}"


QUEUE_ORDER = (
    F("experiment__priority").desc(),
    Coalesce("experiment__place", "experiment_id", output_field=models.BigIntegerField()),
    F("experiment_id"),
    F("position"),
)


OTHER_ENDS = [str(state) for state in (State.FAILED, State.CANCELLED, State.LOST)]


class InQueue(NamedTuple):
    """The runs of an experiment that wait: all of them, the loads among them, and the seconds that they take."""

    runs: int = 0
    loads: int = 0
    seconds: int = 0


class RunQuerySet(LevelQuerySet["Run"]):
    def active(self) -> Self:
        return self.filter(state__in=ACTIVE)

    def queued(self) -> Self:
        return self.filter(state=State.QUEUED)

    def unfinished(self) -> Self:
        return self.exclude(state__in=FINAL)

    def in_numbers(self) -> dict[int, InQueue]:
        """Return how many of the runs each experiment has, how many of them are loads, and the seconds they take."""
        loads = Count("pk", filter=Q(kind=Run.Kind.LOAD))
        rows = self.order_by().values_list("experiment").annotate(Count("pk"), loads=loads, seconds=Sum("expected_s"))
        return {experiment: InQueue(*numbers) for experiment, *numbers in rows}

    def by_kind(self) -> dict[str, int]:
        """Return the number of runs of each kind."""
        return dict(self.order_by().values_list("kind").annotate(count=Count("pk")))

    def extras_s(self, experiments: Collection[int]) -> dict[tuple[int, str], float]:
        """Return how many seconds longer than their loads runs that ended well took, by experiment and kind.

        It is the mean, and 0 where they took less. An experiment of which none has ended has no entry.
        """
        rows = self.filter(experiment__in=experiments, state=State.SUCCEEDED, started_at__isnull=False)
        means = rows.order_by().values("experiment", "kind").annotate(
            taken=Avg(F("ended_at") - F("started_at")), load_s=Avg("expected_s")
        )  # fmt: skip
        return {
            (row["experiment"], row["kind"]): max(0.0, row["taken"].total_seconds() - row["load_s"])
            for row in means
            if row["taken"] is not None
        }

    def next_first(self) -> Self:
        """Sort the runs as the queue does: by priority, then age, then the order of the plan."""
        return self.order_by(*QUEUE_ORDER)

    def for_table(self) -> Self:
        """Return the runs in the order of the plan, with what an experiment's page shows of each, in one query."""
        return self.select_related("system__hardware", "system__build", "result", "watch").order_by("position")


class Run(SetAside, Standing):
    """One execution at one load level (or the load of a data set). This table is the queue of record."""

    class Kind(models.TextChoices):
        LOAD = "load", "loads the data set"
        WARMUP = "warmup", "warms up"
        MEASURE = "measure", "measures"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    experiment = models.ForeignKey(Experiment, models.PROTECT, related_name="runs")
    system = models.ForeignKey(System, models.PROTECT, related_name="runs", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.MEASURE)
    position = models.PositiveIntegerField()
    clients = models.PositiveIntegerField()
    threads = models.PositiveIntegerField()
    repeat = models.PositiveIntegerField()
    rate_tps = models.PositiveIntegerField(default=0, help_text="Offered, in an open loop; 0 in a closed one.")
    is_canary = models.BooleanField(default=False)
    spec = models.JSONField(help_text="The frozen RunSpec.")
    protocol = models.ForeignKey(Protocol, models.PROTECT, db_column="protocol_digest")
    expected_s = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    reason = models.TextField(blank=True)
    cancel_asked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    delivery = models.ForeignKey(Delivery, models.PROTECT, null=True, blank=True, related_name="runs")
    source = models.CharField(max_length=300, blank=True, help_text="Where an imported run comes from.")

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["experiment", "position"], condition=Q(state="queued"), name="run_queue"),
            # What the queue asks of all that waits, however much that is: gates.ALIKE, and what waits for whom.
            models.Index(
                fields=["system", "experiment", "kind", "is_canary", "expected_s", "position", "id"],
                condition=Q(state="queued"),
                name="run_next",
            ),
            models.Index(
                *(F(name) for name in LEVEL),
                MEASURED_AT.desc(),
                F("position").desc(),
                condition=ENDED_WELL,
                name="run_level",
            ),
            models.Index(fields=["state"], condition=Q(state__in=list(map(str, ACTIVE))), name="run_active"),
            models.Index(fields=["experiment"], condition=~Q(state__in=list(map(str, FINAL))), name="run_unfinished"),
            models.Index(fields=["experiment"], condition=Q(state__in=["failed", "lost"]), name="run_failed"),
            models.Index(fields=["-created_at", "-id"], name="run_newest"),
            models.Index(fields=["clients", "id"], name="run_clients"),
            models.Index(fields=["position", "id"], name="run_position"),
            models.Index(fields=["system", "id"], name="run_of_system"),
            # Of what most runs are the API's lists have some on each page anyway; of what few are it has to look for.
            models.Index(fields=["state", "id"], condition=Q(state__in=OTHER_ENDS), name="run_other_end"),
            models.Index(fields=["kind", "id"], condition=~Q(kind="measure"), name="run_other_kind"),
            models.Index(fields=["repeat", "id"], name="run_repeat"),
            models.Index(fields=["ended_at", "id"], name="run_ended_at"),
            models.Index(fields=["set_aside_at", "id"], condition=Q(set_aside_at__isnull=False), name="run_set_aside"),
        ]
        constraints = [
            models.UniqueConstraint(
                # A curve's runs are asked for with their rate, which is 0 for most: so it comes before clients.
                fields=["experiment", "system", "kind", "rate_tps", "clients", "repeat"],
                name="run_planned_once",
            ),
            models.UniqueConstraint(fields=["experiment", "position"], name="run_position_once"),
            models.CheckConstraint(condition=Q(state__in=list(State.values)), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(kind="load") | Q(clients__gte=1, threads__gte=1, threads__lte=F("clients"), repeat__gte=1),
                name="run_measures_with_clients",
            ),
        ]

    def __str__(self) -> str:
        if self.kind == self.Kind.LOAD:
            return f"Data set of {self.system}"
        if self.kind == self.Kind.WARMUP:
            return f"Warm-up of {self.system}"
        clients = "1 client" if self.clients == 1 else f"{self.clients} clients"
        rate = f", {self.rate_tps:,} TPS offered" if self.rate_tps else ""
        return f"{self.system}, {clients}{rate}, repeat {self.repeat}"

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_out_of_sight(self) -> bool:
        """Tell whether the run is under way on a host that is not reached, so that nobody knows how far it is."""
        return self.is_active and hasattr(self, "watch") and self.watch.unreachable_since is not None

    @property
    def provenance_text(self) -> str:
        """Say who imported a run and from where; empty for a run of BenchHub's own."""
        if self.delivery is None:
            return ""
        return f"Imported by {self.delivery.by} from {self.source}: BenchHub did not see the run."
