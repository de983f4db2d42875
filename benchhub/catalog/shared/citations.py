"""References to a row from anywhere in the warehouse, whichever app they belong to."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet

from benchhub.analysis.words import count
from benchhub.catalog.models import Inspection, SourceBuild


def is_cited(model: type[Model]) -> Any:
    """Return an expression that is true where something in the warehouse refers to the row."""
    return reduce(or_, (Exists(_citing(relation, OuterRef("pk"))) for relation in _relations(model)))


def citations(row: Model) -> list[str]:
    """Count what refers to the row, in words: '2 systems'."""
    numbers = {relation: _citing(relation, row.pk).count() for relation in _relations(type(row))}
    names = {relation: relation.related_model._meta for relation in numbers}
    return [
        count(number, str(names[relation].verbose_name), str(names[relation].verbose_name_plural))
        for relation, number in numbers.items()
        if number
    ]


def _relations(model: type[Model]) -> list[Any]:
    """Return the relations that keep a row; what only notes how it was seen goes with it."""
    return [relation for relation in model._meta.related_objects if relation.related_model is not Inspection]


def _citing(relation: Any, pk: Any) -> QuerySet[Any]:
    rows: QuerySet[Any] = relation.related_model._base_manager.filter(**{relation.field.name: pk})
    # A build of which nothing is on the host goes with it, its log too.
    return rows.filter(state__in=SourceBuild.ON_HOST) if relation.related_model is SourceBuild else rows
