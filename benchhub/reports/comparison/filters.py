"""Filters of the list of curves to compare. Each takes one query, and offers only what some curve has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from benchhub.bench.models import Experiment, ExperimentSystem, System
from benchhub.catalog.models import Configuration, Host, PgBuild, Workload
from benchhub.reports.models import Tag
from benchhub.ui.listing import Filter

DAYS = {"7": "the last 7 days", "30": "the last 30 days", "90": "the last 90 days", "365": "the last year"}


def filters() -> tuple[Filter, ...]:
    of_workload = Experiment.objects.filter(workload=OuterRef("pk"))
    systems = System.objects.filter(Exists(ExperimentSystem.objects.filter(system=OuterRef("pk"))))
    configurations = Configuration.objects.filter(pk__in=systems.values("configuration"))
    tags = Tag.objects.values_list("name", flat=True).distinct().order_by("name")
    return (
        _of_rows("workload", "Workload", Workload.objects.filter(Exists(of_workload)), "experiment__workload"),
        _of_rows("host", "Host", Host.objects.filter(pk__in=systems.values("instance__host")), OF_HOST),
        _of_rows("build", "Build", PgBuild.objects.filter(pk__in=systems.values("build")), "system__build"),
        _of_rows("configuration", "Configuration", configurations, "system__configuration"),
        Filter("since", "Planned", _days()),
        Filter("tag", "Tag", {name: (name, Q(experiment__tags__name=name)) for name in tags}),
    )


OF_HOST = "system__instance__host"


def _of_rows(name: str, title: str, rows: Any, field: str) -> Filter:
    narrow = rows.defer("private_key", "facts") if rows.model is Host else rows
    options = sorted(((str(row.pk), str(row)) for row in narrow), key=lambda option: option[1])
    return Filter(name, title, {key: (label, Q(**{field: int(key)})) for key, label in options})


def _days() -> Mapping[str, tuple[str, Q]]:
    now = timezone.now()
    return {
        days: (label, Q(experiment__created_at__gte=now - timedelta(days=int(days)))) for days, label in DAYS.items()
    }
