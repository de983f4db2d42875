"""What refers to a row anywhere in the warehouse, whichever app it belongs to."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet


def is_cited(model: type[Model]) -> Any:
    """The expression for: something in the warehouse refers to the row."""
    return reduce(or_, (Exists(_citing(relation, OuterRef("pk"))) for relation in model._meta.related_objects))


def citations(row: Model) -> list[str]:
    """What refers to the row, counted: '2 systems'."""
    counted = [(relation, _citing(relation, row.pk).count()) for relation in row._meta.related_objects]
    return [f"{count} {_name(relation, count)}" for relation, count in counted if count]


def _citing(relation: Any, pk: Any) -> QuerySet[Any]:
    rows: QuerySet[Any] = relation.related_model._base_manager.filter(**{relation.field.name: pk})
    return rows


def _name(relation: Any, count: int) -> str:
    names = relation.related_model._meta
    return str(names.verbose_name if count == 1 else names.verbose_name_plural)
