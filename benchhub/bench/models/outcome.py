"""The outcome of an attempt at a run: its files as they were, when they are archived, and what was read out of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from django.apps import apps
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from benchhub import archive
from benchhub.catalog.models import Workload
from runners.telemetry import compact

from .systems import System

# The page of a run has it: a look at the page asks nothing of the archive.
NEVER_ARCHIVED = ("command.sh",)


class ArchiveRuleQuerySet(models.QuerySet["ArchiveRule"]):
    def due(self) -> Self:
        """Return the rule if there is one and it is time for a batch."""
        return self.filter(next_look_at__lte=Now())

    def claim(self) -> ArchiveRule | None:
        """Return the rule if it is due, which it is to nobody else until the batch ends or a minute has passed."""
        return self.first() if self.due().update(next_look_at=Now() + timedelta(minutes=1)) else None

    def set(self, after_days: int) -> None:
        """Set the rule, from which the worker takes it at its next look. What another rule has moved is not of it."""
        of_another = {"last_file": 0, "trouble": "", "moved_at": None, "moved_files": 0}
        rule = {"after_days": after_days, "next_look_at": Now(), **of_another}
        self.update_or_create(pk=1, defaults=rule)


class ArchiveRule(models.Model):
    """The one rule by which files move to the archive; without its row nothing moves by itself."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    after_days = models.PositiveIntegerField(help_text="Days since the attempt that left the file had ended.")
    next_look_at = models.DateTimeField(db_default=Now())
    last_file = models.BigIntegerField(default=0, help_text="The file that the present pass has come to.")
    trouble = models.TextField(blank=True, help_text="Why a file of the present pass could not be moved.")

    moved_at = models.DateTimeField(null=True, help_text="When the worker last moved files.")
    moved_files = models.PositiveBigIntegerField(default=0, help_text="So many since the rule was set.")

    objects = ArchiveRuleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="archive_rule_once"),
            models.CheckConstraint(condition=Q(after_days__gt=0), name="archive_rule_has_days"),
        ]

    def __str__(self) -> str:
        return f"files move to the archive after {self.after_days} days"


class CitedRunQuerySet(models.QuerySet["CitedRun"]):
    def cite(self, runs: Iterable[int]) -> None:
        """Note that a snapshot rests on these runs; those that are not here any more are passed over."""
        keys = apps.get_model("bench", "Run").objects.filter(pk__in=set(runs)).values_list("pk", flat=True)
        self.bulk_create([CitedRun(run_id=key) for key in keys], ignore_conflicts=True)


class CitedRun(models.Model):
    """A run on which a snapshot rests: its files stay in the warehouse."""

    run = models.OneToOneField("Run", models.CASCADE, primary_key=True, related_name="citation")

    objects = CitedRunQuerySet.as_manager()

    def __str__(self) -> str:
        return f"run {self.run_id} is cited"


class EvidenceQuerySet(models.QuerySet["Evidence"]):
    def movable(self, ended_before: datetime) -> Self:
        """Return the files with bytes in the warehouse that may move to the archive, without those bytes."""
        cited = CitedRun.objects.filter(run=OuterRef("attempt__run"))
        here = self.filter(archived_at=None, attempt__ended_at__lt=ended_before).exclude(content=b"")
        return here.exclude(name__in=NEVER_ARCHIVED).exclude(Exists(cited)).defer("content").order_by("pk")

    def archived(self) -> Self:
        return self.filter(archived_at__isnull=False)


class Evidence(models.Model):
    """One file of an attempt, byte for byte, so that a later parser can read it again.

    Its bytes are in `content`, or from `archived_at` on in the archive.
    """

    attempt = models.ForeignKey("Attempt", models.PROTECT, related_name="evidence")
    name = models.CharField(max_length=120)
    content = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    remark = models.TextField(blank=True, help_text="What was left out, where the file was too large.")
    archived_at = models.DateTimeField(null=True, help_text="When its bytes had moved to the archive.")

    objects = EvidenceQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        indexes = [
            models.Index(fields=["id"], condition=Q(archived_at=None), name="evidence_here"),
            models.Index(fields=["id"], condition=Q(archived_at__isnull=False), name="evidence_archived"),
        ]
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="evidence_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        """Return its bytes as text. Raises ArchiveError as `read` does."""
        return self.read().decode("utf-8", errors="replace")

    def read(self) -> bytes:
        """Return its bytes, from wherever they are. Raises ArchiveError if the archive does not have them whole."""
        return archive.get(self.sha256, self.size_bytes) if self.archived_at else bytes(self.content)


class ResultQuerySet(models.QuerySet["Result"]):
    def tps_by_clients(self, system: System, workload: Workload) -> dict[int, float]:
        """Return the best throughput of a closed loop by clients; empty of what is not saved yet."""
        if system._state.adding or workload._state.adding:
            return {}
        rows = self.filter(run__system=system, run__experiment__workload=workload, run__rate_tps=0, run__clients__gt=0)
        return dict(rows.values_list("run__clients").annotate(models.Max("throughput")))


class Result(models.Model):
    """The measurements of a run that ended well. A run without this row is not a point on any curve."""

    run = models.OneToOneField("Run", models.PROTECT, related_name="result")
    attempt = models.ForeignKey("Attempt", models.PROTECT)
    throughput = models.FloatField()
    unit = models.CharField(max_length=12)
    latency_average_ms = models.FloatField(null=True)
    latency_p50_ms = models.FloatField(null=True)
    latency_p95_ms = models.FloatField(null=True)
    latency_p99_ms = models.FloatField(null=True)
    measures = models.JSONField()
    doubts = models.JSONField(default=list)
    remarks = models.JSONField(default=list)
    parser = models.CharField(max_length=40)
    parsed_at = models.DateTimeField(db_default=Now())

    objects = ResultQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["-parsed_at", "-id"], name="result_newest")]
        constraints = [models.CheckConstraint(condition=Q(throughput__gt=0), name="result_has_throughput")]

    def __str__(self) -> str:
        return f"{self.throughput:.0f} {self.unit}"


class Found(models.Model):
    """Facts as found around a run: settings, version, host, differences over the measured part."""

    run = models.OneToOneField("Run", models.PROTECT, related_name="found")
    settings = models.JSONField(default=dict)
    server = models.JSONField(default=dict)
    host = models.JSONField(default=dict)
    pooler = models.JSONField(default=dict, help_text="Version and settings of the pooler, where it said them.")
    deltas = models.JSONField(default=dict)
    differences = models.JSONField(default=list, help_text="Where what was found is not what was asked for.")
    facts_digest = models.CharField(max_length=64)
    limits_digest = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Of what control groups let the accounts on the hosts use; empty where that was not read.",
    )

    def __str__(self) -> str:
        return f"facts of run {self.run_id}"


class Series(models.Model):
    """One metric of a run over time, one compact value."""

    run = models.ForeignKey("Run", models.PROTECT, related_name="series")
    metric = models.CharField(max_length=40)
    unit = models.CharField(max_length=12)
    start_epoch_s = models.FloatField()
    step_s = models.FloatField()
    values = ArrayField(models.FloatField(null=True))

    class Meta:
        verbose_name_plural = "series"
        constraints = [models.UniqueConstraint(fields=["run", "metric"], name="series_once")]

    def __str__(self) -> str:
        return f"{self.metric} of run {self.run_id}"


class RunTelemetry(models.Model):
    """One metric of machine or server, observed beside the load of a run, on one grid of time."""

    run = models.ForeignKey("Run", models.PROTECT, related_name="telemetry")
    metric = models.CharField(max_length=80)
    unit = models.CharField(max_length=12)
    start_epoch_s = models.FloatField()
    step_s = models.FloatField()
    packed = models.BinaryField(help_text="Its values, as runners/telemetry/compact.py packs them.")

    class Meta:
        verbose_name_plural = "telemetry"
        constraints = [models.UniqueConstraint(fields=["run", "metric"], name="telemetry_once")]

    def __str__(self) -> str:
        return f"{self.metric} of run {self.run_id}"

    @property
    def values(self) -> list[float | None]:
        """Return the values in the order of time. Raises ValueError for a row that is damaged."""
        return compact.unpack(bytes(self.packed))


class TelemetryImport(models.Model):
    """The origin of a run's telemetry where sysstat noted it instead of BenchHub; its file is evidence of the run."""

    run = models.OneToOneField("Run", models.PROTECT, related_name="telemetry_import")
    evidence = models.ForeignKey(Evidence, models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    token = models.CharField(max_length=80, blank=True)
    at = models.DateTimeField(db_default=Now())
    host = models.CharField(max_length=100, help_text="The machine as the file names it.")
    kernel = models.CharField(max_length=100, blank=True)
    version = models.CharField(max_length=100, blank=True, help_text="Of sysstat's data, where the file says it.")
    interval_s = models.PositiveIntegerField(help_text="Seconds that a sample covers.")
    first_at = models.DateTimeField(help_text="When the first sample of the file began.")
    last_at = models.DateTimeField(help_text="When the last sample of the file ended.")
    sample_count = models.PositiveIntegerField(help_text="Samples in the file.")
    outside_count = models.PositiveIntegerField(help_text="Samples that lie outside the load, and were left out.")
    doubts = models.JSONField(default=list, help_text="Sentences on why it may be of another machine or time.")

    def __str__(self) -> str:
        return f"telemetry of run {self.run_id} from sysstat"

    @property
    def source_text(self) -> str:
        """Say where the telemetry comes from, in the words that stand beside it everywhere."""
        version = f" (data of version {self.version})" if self.version else ""
        return f"sysstat{version} on {self.host or 'a machine without a name'}"


class LatencyHistogram(models.Model):
    """Latencies of a run's transactions by script, reduced to bins as they streamed."""

    run = models.ForeignKey("Run", models.PROTECT, related_name="histograms")
    name = models.CharField(max_length=120)
    lower_us = ArrayField(models.BigIntegerField())
    upper_us = ArrayField(models.BigIntegerField())
    counts = ArrayField(models.BigIntegerField())
    sum_us = models.BigIntegerField()
    min_us = models.BigIntegerField()
    max_us = models.BigIntegerField()
    sampling_rate = models.FloatField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="histogram_once")]

    def __str__(self) -> str:
        return f"{self.name} of run {self.run_id}"
