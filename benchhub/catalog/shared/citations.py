"""References to a row from anywhere in the warehouse, whichever app they belong to."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet

from benchhub.analysis.words import count


def is_cited(model: type[Model]) -> Any:
    """Return an expression that is true where something in the warehouse refers to the row."""
    return reduce(or_, (Exists(_citing(relation, OuterRef("pk"))) for relation in model._meta.related_objects))


def citations(row: Model) -> list[str]:
    """Count what refers to the row, in words: '2 systems'."""
    numbers = {relation: _citing(relation, row.pk).count() for relation in row._meta.related_objects}
    names = {relation: relation.related_model._meta for relation in numbers}
    return [
        count(number, str(names[relation].verbose_name), str(names[relation].verbose_name_plural))
        for relation, number in numbers.items()
        if number
    ]


def _citing(relation: Any, pk: Any) -> QuerySet[Any]:
    rows: QuerySet[Any] = relation.related_model._base_manager.filter(**{relation.field.name: pk})
    return rows
