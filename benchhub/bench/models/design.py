"""The design of an experiment: its place in a matrix or a tuning series, the order of its runs, and what is before."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Count, Q
from django.db.models.functions import Now

from benchhub.analysis.planning import design
from benchhub.analysis.tuning import treatments
from benchhub.catalog.models import Configuration, Instance

from .states import FINAL

LONGEST_SERIES_NAME = 50  # so that 'series / step' fits the name of a configuration


class Design(models.Model):
    """A matrix of workloads, scales and thread rules, planned at once: each of its parts is an experiment."""

    name = models.CharField(max_length=160)
    remark = models.TextField(blank=True)
    preset = models.CharField(max_length=40, blank=True, help_text="The published method that it carries out.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name


class Designed(models.Model):
    """The fields that its design adds to an experiment. Defaults are what experiments did before they had one."""

    class Order(models.TextChoices):
        BLOCKED = design.BLOCKED, "repeat by repeat, levels as listed, systems in turn"
        SHUFFLED = design.SHUFFLED, "repeat by repeat, at random in each"
        RANDOM = design.RANDOM, "all at random"
        LISTED = design.LISTED, "as listed: system by system, level by level"

    class Loading(models.TextChoices):
        ONCE = "once", "once, where it is missing"
        EACH = "each", "anew before each run"

    class Canary(models.TextChoices):
        NONE = "", "no canary"
        WAITS = "waits", "its canary comes first"
        PASSED = "passed", "its canary passed"
        FAILED = "failed", "its canary failed"
        WAIVED = "waived", "its canary failed and a person went on"

    design = models.ForeignKey(Design, models.PROTECT, null=True, blank=True, related_name="experiments")
    order = models.CharField(max_length=10, choices=Order, default=Order.BLOCKED)
    order_seed = models.PositiveBigIntegerField(default=0, help_text="The same seed gives the same order again.")
    kept_only = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    left_out = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    loading = models.CharField(max_length=4, choices=Loading, default=Loading.ONCE)
    warmup_run_s = models.PositiveIntegerField(default=0, help_text="A run of its own before the first of a system.")
    warmup_run_clients = models.PositiveIntegerField(default=1)
    settle_s = models.PositiveIntegerField(default=0, help_text="Idle between the preparation of a run and its load.")
    restart = models.BooleanField(default=False)
    drop_caches = models.BooleanField(default=False)
    no_copies = models.BooleanField(default=False, help_text="Data sets are loaded, and never restored by a copy.")
    telemetry = models.BooleanField(default=False, help_text="Machine and server are observed beside the load.")
    rates_tps = ArrayField(models.PositiveIntegerField(), default=list, blank=True)
    latency_limit_us = models.PositiveIntegerField(default=0, help_text="Of a sweep of rates.")
    canary = models.CharField(max_length=6, choices=Canary, default=Canary.NONE, blank=True)

    class Meta:
        abstract = True

    @property
    def levels(self) -> list[int]:
        """Return the levels of its runs: offered rates in TPS of an open loop, else numbers of clients."""
        return self.rates_tps or self.client_levels  # type: ignore[attr-defined]  # the experiment has them

    @property
    def latency_limit_ms(self) -> float:
        return self.latency_limit_us / 1000


class SetAside(models.Model):
    """A run that a person set aside: it stays, and leaves every figure. Put back, it counts again."""

    set_aside_at = models.DateTimeField(null=True, blank=True)
    set_aside_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    set_aside_reason = models.TextField(blank=True)

    class Meta:
        abstract = True


class TuningSeriesQuerySet(models.QuerySet["TuningSeries"]):
    def with_progress(self) -> Self:
        """Add to each series how many measuring runs it has, how many of them ended, and its number of steps."""
        measuring = Q(experiment__runs__kind="measure")
        ended = measuring & Q(experiment__runs__state__in=FINAL)
        return self.annotate(
            planned_count=Count("experiment__runs", filter=measuring, distinct=True),
            ended_count=Count("experiment__runs", filter=ended, distinct=True),
            step_count=Count("steps", distinct=True),
        )


class TuningSeries(models.Model):
    """A series of steps that one experiment measures on one instance, beside their baseline."""

    class Kind(models.TextChoices):
        CUMULATIVE = treatments.CUMULATIVE, treatments.KINDS[treatments.CUMULATIVE]
        ALONE = treatments.ALONE, treatments.KINDS[treatments.ALONE]
        FACTORIAL = treatments.FACTORIAL, treatments.KINDS[treatments.FACTORIAL]

    name = models.CharField(max_length=LONGEST_SERIES_NAME, unique=True)
    remark = models.TextField(blank=True)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.CUMULATIVE)
    baseline = models.ForeignKey(Configuration, models.PROTECT, related_name="+")
    instance = models.ForeignKey(Instance, models.PROTECT, related_name="+")
    experiment = models.OneToOneField("bench.Experiment", models.PROTECT, related_name="tuning_series")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = TuningSeriesQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "tuning series"

    def __str__(self) -> str:
        return self.name


class TuningStep(models.Model):
    """A step of a series: what it sets, in the server and in the operating system. Its number counts from 1."""

    series = models.ForeignKey(TuningSeries, models.CASCADE, related_name="steps")
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=treatments.LONGEST_NAME)
    settings = models.JSONField(default=dict)
    os_settings = models.JSONField(default=dict)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["series", "number"], name="tuning_step_once")]

    def __str__(self) -> str:
        return f"{self.number}. {self.name}"

    @property
    def step(self) -> treatments.Step:
        return treatments.Step(self.name, treatments.environment(self.settings, self.os_settings))


class TuningTreatment(models.Model):
    """A system of a series with the numbers of the steps that it has; that in place 0 is the baseline."""

    series = models.ForeignKey(TuningSeries, models.CASCADE, related_name="treatments")
    place = models.PositiveSmallIntegerField()
    step_numbers = ArrayField(models.PositiveSmallIntegerField(), default=list, blank=True)
    system = models.ForeignKey("bench.System", models.PROTECT, related_name="+")

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["series", "place"], name="tuning_treatment_once"),
            models.UniqueConstraint(fields=["series", "system"], name="tuning_system_once"),
        ]

    def __str__(self) -> str:
        return f"{self.system} in {self.series}"
