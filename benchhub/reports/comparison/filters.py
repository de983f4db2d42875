"""Filters of the list of curves to compare. Each takes one query, and offers only what some curve has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from benchhub.catalog.models import Configuration, Host, PgBuild, Workload
from benchhub.reports.models import Tag
from benchhub.ui.listing import Filter

DAYS = {"7": "the last 7 days", "30": "the last 30 days", "90": "the last 90 days", "365": "the last year"}


def filters() -> tuple[Filter, ...]:
    tested = {"system__experiments__isnull": False}
    tags = Tag.objects.values_list("name", flat=True).distinct().order_by("name")
    return (
        _of_rows("workload", "Workload", Workload.objects.filter(experiment__isnull=False), "experiment__workload"),
        _of_rows("host", "Host", Host.objects.filter(instances__system__experiments__isnull=False), OF_HOST),
        _of_rows("build", "Build", PgBuild.objects.filter(**tested), "system__build"),
        _of_rows("configuration", "Configuration", Configuration.objects.filter(**tested), "system__configuration"),
        Filter("since", "Planned", _days()),
        Filter("tag", "Tag", {name: (name, Q(experiment__tags__name=name)) for name in tags}),
    )


OF_HOST = "system__instance__host"


def _of_rows(name: str, title: str, rows: Any, field: str) -> Filter:
    options = sorted(((str(row.pk), str(row)) for row in rows.distinct()), key=lambda option: option[1])
    return Filter(name, title, {key: (label, Q(**{field: int(key)})) for key, label in options})


def _days() -> Mapping[str, tuple[str, Q]]:
    now = timezone.now()
    return {
        days: (label, Q(experiment__created_at__gte=now - timedelta(days=int(days)))) for days, label in DAYS.items()
    }
