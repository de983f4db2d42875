"""A plan that is queued again by a rule, each time as an experiment of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from benchhub.analysis.planning.recurring import Rule

MOST_SKIPS = 20


class RecurrenceQuerySet(models.QuerySet["Recurrence"]):
    def due(self) -> Self:
        """Return those whose next time has come by the database's clock; each has its time as `now`."""
        return self.filter(next_at__lte=Now(), paused_at=None).annotate(now=Now()).order_by("next_at", "pk")


class Recurrence(models.Model):
    """The rule by which a plan recurs. `next_at` is empty once it has ended; `skips` are its latest omissions."""

    plan = models.OneToOneField("Experiment", models.CASCADE, related_name="recurrence")
    weekdays = ArrayField(models.PositiveSmallIntegerField())
    starts_at = models.TimeField()
    zone = models.CharField(max_length=64)
    until = models.DateField(null=True, blank=True)
    next_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True)
    skips = models.JSONField(default=list, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    now: datetime  # of due()

    objects = RecurrenceQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["next_at"], condition=Q(paused_at=None), name="recurrence_due")]
        constraints = [
            models.CheckConstraint(
                condition=~Q(weekdays=[]) & Q(weekdays__contained_by=list(range(7))), name="recurrence_has_weekdays"
            ),
        ]

    def __str__(self) -> str:
        return self.rule.sentence

    @property
    def rule(self) -> Rule:
        return Rule(self.weekdays, self.starts_at, self.zone, self.until)

    @property
    def state(self) -> str:
        """Tell whether it is active, paused or ended."""
        if self.next_at is None:
            return "ended"
        return "paused" if self.paused_at else "active"

    def skip(self, earlier: models.Model) -> None:
        """Note, unsaved, that its next time passes as an experiment that came before has not ended."""
        at = self.next_at.isoformat() if self.next_at else ""
        self.skips = [{"at": at, "experiment": earlier.pk}, *self.skips][:MOST_SKIPS]

    def pause(self, reason: str) -> None:
        """Queue nothing more until a person resumes it."""
        paused = Recurrence.objects.filter(pk=self.pk, paused_at=None)
        paused.update(paused_at=Now(), pause_reason=reason)

    def resume(self, next_at: datetime | None) -> None:
        """Go on with the time to come; those that passed meanwhile are not made up for."""
        Recurrence.objects.filter(pk=self.pk).update(paused_at=None, pause_reason="", next_at=next_at)

    def end(self) -> None:
        Recurrence.objects.filter(pk=self.pk).update(next_at=None)


class Occasion(models.Model):
    """What an experiment has if a rule has queued it: the rule."""

    occasion_of = models.ForeignKey(Recurrence, models.SET_NULL, null=True, blank=True, related_name="occasions")

    class Meta:
        abstract = True
