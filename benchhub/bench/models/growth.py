"""A plan that grows: its aim, its budget, and what each of its steps was based on."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now


class Grown(models.Model):
    """The aim of an experiment that grows. One that does not grow runs every level as often as it has repeats."""

    class Grows(models.TextChoices):
        NOT = "", "every level as listed"
        PEAK = "peak", "find the level with the highest throughput"
        CEILING = "ceiling", "find the best level under a latency ceiling"
        DECIDE = "decide", "decide between two systems at one level"

    grows = models.CharField(max_length=8, choices=Grows, default=Grows.NOT, blank=True)
    most_runs = models.PositiveIntegerField(default=0, help_text="Its budget of measuring runs.")
    precision = models.FloatField(default=0.01, help_text="As a share.")
    ceiling_ms = models.FloatField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def noisy_runs(self) -> int:
        """Return the budget of a search whose runs scatter widely: twice the usual one. A decision's stays the same."""
        return self.most_runs if self.grows == self.Grows.DECIDE else 2 * self.most_runs


class Growth(models.Model):
    """The growth of an experiment so far.

    `steps` has the findings by which each step was planned, the latest last; `found` has those of now.
    """

    class Stopped(models.TextChoices):
        NOT = "", "goes on"
        KNOWN = "known", "known well enough"
        SPENT = "spent", "the budget is spent"
        REFUSED = "refused", "every level failed twice"
        UNPREPARED = "unprepared", "the data set could not be loaded, or the warm-up failed"
        CANCELLED = "cancelled", "cancelled"

    experiment = models.OneToOneField("bench.Experiment", models.CASCADE, primary_key=True, related_name="growth")
    steps = models.JSONField(default=list, encoder=DjangoJSONEncoder)
    found = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    stopped = models.CharField(max_length=10, choices=Stopped, default=Stopped.NOT, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)
    begun_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"growth of experiment {self.experiment_id}"
