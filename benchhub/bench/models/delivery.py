"""Results that were measured elsewhere, and imported."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Delivery(models.Model):
    """One request that imported results: who, when, and by which token. Each of its runs says from where."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    token = models.CharField(max_length=80, blank=True)
    at = models.DateTimeField(db_default=Now())
    run_count = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return f"delivery {self.pk}"
