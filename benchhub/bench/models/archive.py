"""When files of runs move to the archive, and which never do."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class ArchiveRuleQuerySet(models.QuerySet["ArchiveRule"]):
    def due(self) -> Self:
        """Return the rule if there is one and it is time for a batch."""
        return self.filter(next_look_at__lte=Now())

    def claim(self) -> ArchiveRule | None:
        """Return the rule if it is due, which it is to nobody else until the batch ends or a minute has passed."""
        return self.first() if self.due().update(next_look_at=Now() + timedelta(minutes=1)) else None


class ArchiveRule(models.Model):
    """The one rule by which files move to the archive; without its row nothing moves by itself."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    after_days = models.PositiveIntegerField(help_text="Days since the attempt that left the file had ended.")
    next_look_at = models.DateTimeField(db_default=Now())
    last_file = models.BigIntegerField(default=0, help_text="The file that the present pass has come to.")
    trouble = models.TextField(blank=True, help_text="Why a file of the present pass could not be moved.")

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
        from .experiments import Run

        keys = Run.objects.filter(pk__in=set(runs)).values_list("pk", flat=True)
        self.bulk_create([CitedRun(run_id=key) for key in keys], ignore_conflicts=True)


class CitedRun(models.Model):
    """A run on which a snapshot rests: its files stay in the warehouse."""

    run = models.OneToOneField("Run", models.CASCADE, primary_key=True, related_name="citation")

    objects = CitedRunQuerySet.as_manager()

    def __str__(self) -> str:
        return f"run {self.run_id} is cited"
