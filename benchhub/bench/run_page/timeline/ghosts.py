"""The earlier repeats of a run, drawn thin behind it: the same system, level and offered rate of its experiment."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import QuerySet

from benchhub.bench.models import Run, Series

from .panels import Source, ghost

MOST_GHOSTS = 4


def earlier_repeats(run: Run) -> QuerySet[Run]:
    """Return the runs that came before this one at its level, and count; the newest first."""
    alike = Run.objects.counted().filter(
        experiment=run.experiment_id, system=run.system_id, clients=run.clients, rate_tps=run.rate_tps,
        protocol=run.protocol_id, repeat__lt=run.repeat,
    )  # fmt: skip
    return alike.order_by("-repeat")


def ghosts_of(run: Run) -> list[Source]:
    """Return throughput and latency of the newest earlier repeats, in one query; their seconds are of their loads."""
    newest = earlier_repeats(run).values("pk")[:MOST_GHOSTS]
    rows: dict[tuple[int, int], list[Series]] = defaultdict(list)
    for series in Series.objects.filter(run__in=newest).select_related("run").order_by("run__repeat", "metric"):
        rows[series.run.repeat, series.run_id].append(series)
    return [source for (repeat, _), series in rows.items() for source in ghost(f"repeat {repeat}", series)]
