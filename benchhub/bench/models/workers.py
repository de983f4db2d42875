"""The reports of worker processes about themselves, for operators."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

# Pages ask every 20 s whether anybody works (base.html): within two leases of 60 s they all say that nobody does.
ALIVE_WITHIN = timedelta(seconds=1.5 * settings.LEASE_SECONDS)


class WorkerQuerySet(models.QuerySet["Worker"]):
    def alive(self) -> Self:
        """Return the workers that have done lately what the ticker asked for."""
        return self.filter(ticked_at__gt=Now() - ALIVE_WITHIN)


class Worker(models.Model):
    """A worker process as it last told of itself, at a tick that the ticker had sent."""

    name = models.CharField(max_length=160, primary_key=True, help_text="Machine and process number.")
    release = models.CharField(max_length=60)
    started_at = models.DateTimeField(db_default=Now())
    ticked_at = models.DateTimeField(db_default=Now(), db_index=True)
    clock_ahead_s = models.FloatField(help_text="Its clock minus the warehouse's.")
    loop_silent_s = models.FloatField(default=0, help_text="For how long its event loop of all SSH had not turned.")
    ssh_errors = models.PositiveBigIntegerField(default=0, help_text="Since it started.")

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
