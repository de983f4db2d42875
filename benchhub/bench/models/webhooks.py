"""Addresses that are told when runs and experiments end, and what each was told."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest, Now, Power

from benchhub.analysis.words import listing
from benchhub.catalog.models.moments import has_passed, interval
from benchhub.catalog.models.secret_field import SecretField

LEASE = timedelta(minutes=5)  # of one attempt
FIRST_WAIT = timedelta(seconds=30)  # three times as long after each later attempt


class Webhook(models.Model):
    """An address outside. What is sent to it is signed with its secret."""

    class On(models.TextChoices):
        RUN = "run.ended", "a run has ended"
        EXPERIMENT = "experiment.ended", "all runs of an experiment have ended"

    name = models.CharField(max_length=120, unique=True)
    url = models.CharField(max_length=500)
    events = ArrayField(models.CharField(max_length=20, choices=On))
    secret = SecretField(editable=False)
    is_active = models.BooleanField(default=True)
    origin = models.CharField(
        max_length=300, blank=True, editable=False, help_text="Where whoever saved it had BenchHub open."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(events=[]), name="webhook_has_events")]

    def __str__(self) -> str:
        return self.name

    @property
    def events_text(self) -> str:
        """Say when it is told: a run has ended or all runs of an experiment have ended."""
        return listing((self.On(event).label for event in self.events), "or")


class NoticeQuerySet(models.QuerySet["Notice"]):
    def due(self) -> Self:
        wait_s = FIRST_WAIT.total_seconds() * Power(3.0, F("attempts") - 1.0)
        longest = interval(Greatest(LEASE.total_seconds(), wait_s))
        return self.filter(has_passed("next_at", longest), state=Notice.State.DUE)


class Notice(models.Model):
    """One thing that a webhook is told: what, when it is tried next, and what came of it."""

    class State(models.TextChoices):
        WAITS = "waits", "waits for the end"
        DUE = "due", "to be sent"
        SENT = "sent", "delivered"
        GIVEN_UP = "given up", "given up"

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="notices")
    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    event = models.CharField(max_length=20)
    experiment = models.ForeignKey("bench.Experiment", models.CASCADE, related_name="+")
    run = models.ForeignKey("bench.Run", models.CASCADE, null=True, related_name="+")
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State, default=State.DUE)
    created_at = models.DateTimeField(db_default=Now())
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, db_default=Now())
    sent_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True, help_text="What the address answered last.")
    error = models.TextField(blank=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["next_at"], condition=Q(state="due"), name="notice_due")]
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "experiment"], condition=Q(state="waits"), name="notice_waits_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"

    @property
    def event_text(self) -> str:
        return str(Webhook.On(self.event).label)
