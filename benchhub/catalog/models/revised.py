"""Named things that results cite: an edit makes a revision, and what is not used any more is retired."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date
from typing import Any, Self, TypeVar, cast

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now


class CurrentQuerySet(models.QuerySet[Any]):
    def current(self) -> Self:
        return self.filter(retired_at=None)

    def retire(self) -> int:
        return self.current().update(retired_at=Now())

    def show_again(self) -> int:
        return self.update(retired_at=None)


class RevisedQuerySet(CurrentQuerySet):
    def marked(self) -> Self:
        """Mark rows that have a newer revision with `is_replaced`; a person retired the other retired ones."""
        newer = self.model._default_manager.filter(name=OuterRef("name"), revision__gt=OuterRef("revision"))
        return self.annotate(is_replaced=Exists(newer))

    def show_again(self) -> int:
        """Offer rows again unless they have a newer revision, and return how many."""
        current = self.marked().filter(is_replaced=False).values("pk")
        return type(self)(self.model).filter(pk__in=current).update(retired_at=None)


class Revised(models.Model):
    """A named thing that results cite: it is never edited in place (the database refuses); an edit makes a revision."""

    name = models.CharField(max_length=120)
    revision = models.PositiveIntegerField(default=1)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = RevisedQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name if self.revision == 1 else f"{self.name} (revision {self.revision})"

    @transaction.atomic
    def revise(self, **changes: Any) -> Self:
        """Retire this revision and return the next one, with `changes` applied."""
        values = {f.attname: getattr(self, f.attname) for f in self._meta.concrete_fields if not f.primary_key}
        values.update(changes, revision=self.revision + 1, retired_at=None)
        type(self)._default_manager.filter(pk=self.pk).update(retired_at=Now())
        return cast(Self, type(self)._default_manager.create(**values))


Row = TypeVar("Row", bound=Revised)


def counting_on(day: date, rows: Iterable[Row]) -> list[Row]:
    """Return of each name the revision that counted at the end of a day (UTC), unless it was retired by then.

    The first revision counts for all days before it: what was sold then was counted somehow, and nobody said how else.
    """
    first: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.revision):
        if row.retired_at is None or row.retired_at.astimezone(UTC).date() > day:
            first.setdefault(row.name, row)
    return sorted(first.values(), key=lambda row: row.pk)


def name_constraints(table: str) -> list[models.BaseConstraint]:
    return [
        models.UniqueConstraint(fields=["name", "revision"], name=f"{table}_name_revision"),
        models.UniqueConstraint(fields=["name"], condition=Q(retired_at=None), name=f"{table}_one_current"),
    ]
