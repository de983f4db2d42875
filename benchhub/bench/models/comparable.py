"""A person's word that two protocols may be compared, with the reason: it stands wherever the comparison does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class ComparabilityQuerySet(models.QuerySet["Comparability"]):
    def standing(self) -> Self:
        return self.filter(withdrawn_at=None)

    def among(self, digests: Collection[str]) -> Self:
        """Return the standing declarations between any two of these protocols, the oldest first."""
        return (
            self.standing().filter(first__in=digests, second__in=digests).select_related("declared_by").order_by("pk")
        )


class Comparability(models.Model):
    """Declared of two protocols; a declaration is withdrawn, never edited or deleted."""

    first = models.ForeignKey("Protocol", models.PROTECT, related_name="+", help_text="The one with the lower digest.")
    second = models.ForeignKey("Protocol", models.PROTECT, related_name="+")
    reason = models.TextField()
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    declared_at = models.DateTimeField(db_default=Now())
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)

    objects = ComparabilityQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "comparabilities"
        constraints = [
            models.UniqueConstraint(
                fields=["first", "second"], condition=Q(withdrawn_at=None), name="comparability_declared_once"
            ),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="comparability_in_order"),
            models.CheckConstraint(condition=~Q(reason=""), name="comparability_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id[:12]} and {self.second_id[:12]}: {self.reason}"
