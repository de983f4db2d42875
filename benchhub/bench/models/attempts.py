"""The attempts at a run, and every move it made."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from .experiments import Run


class Attempt(models.Model):
    """One try at a run on a target; kept whatever became of it."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    started_at = models.DateTimeField(db_default=Now())
    work_directory = models.CharField(
        max_length=300, blank=True, db_default="", help_text="Of its driver when it began: where it lies for good."
    )
    boot_id = models.CharField(max_length=40, blank=True)
    host_before = models.JSONField(null=True, blank=True)
    returncode = models.IntegerField(null=True)
    ended_at = models.DateTimeField(null=True)
    hidden_at = models.DateTimeField(
        null=True, help_text="When its load was last seen at work in a folder that was not where it should be."
    )
    waits = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Looks at which it waited for what may never come; no clock counts them."
    )
    outcome = models.CharField(max_length=12, blank=True)
    reason = models.TextField(blank=True)
    acknowledged_at = models.DateTimeField(null=True, help_text="The target knows that it may clean up.")

    class Meta:
        indexes = [models.Index(fields=["ended_at"], condition=Q(acknowledged_at=None), name="attempt_untidied")]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="attempt_number_once"),
            models.UniqueConstraint(fields=["run"], condition=Q(ended_at=None), name="attempt_one_open_per_run"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of run {self.run_id}"


class Event(models.Model):
    """Every move of a run, with when, why, and under which fence."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    old_state = models.CharField(max_length=12)
    new_state = models.CharField(max_length=12)
    reason = models.TextField(blank=True)
    fence = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.old_state} -> {self.new_state}"
