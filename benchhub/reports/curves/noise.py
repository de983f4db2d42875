"""Repeats of the same measurement on one host, whatever experiment they were run in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BigIntegerField, F, Func, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from benchhub.bench.models import Run, System

# Of 250 repeats the scatter is known within a tenth; older ones are of another state of the host.
MOST_RUNS_OF_SYSTEM, MOST_RUNS_OF_HOST = 250, 2_000


def repeats(hosts: Sequence[int], protocol_digests: Iterable[str]) -> dict[int, list[list[list[float]]]]:
    """Return throughputs of the newest runs by host.

    A host has groups of one system, protocol and level; a group has a list for each experiment.
    """
    rows = (
        Run.objects.filter(pk__in=_newest(hosts, list(protocol_digests)))
        .alias(newness=Window(RowNumber(), partition_by=F("system__instance__host"), order_by="-pk"))
        .filter(newness__lte=MOST_RUNS_OF_HOST)
        .order_by("-pk")
        .values_list(
            "system__instance__host", "system_id", "protocol_id", "clients", "experiment_id", "result__throughput"
        )
    )
    values: dict[int, dict[tuple[int, str, int], dict[int, list[float]]]] = {}
    for host, system, protocol, clients, experiment, throughput in rows:
        group = values.setdefault(host, {}).setdefault((system, protocol, clients), {})
        group.setdefault(experiment, []).append(throughput)
    return {host: [list(blocks.values()) for blocks in groups.values()] for host, groups in values.items()}


def _newest(hosts: Sequence[int], protocol_digests: Sequence[str]) -> QuerySet[System, Any]:
    """Return the keys of the newest runs of each system, which an index finds; a host may have years of older ones."""
    measured = Run.objects.measured().filter(system=OuterRef("pk"), protocol__in=protocol_digests)
    newest = ArraySubquery(measured.order_by("-pk").values("pk")[:MOST_RUNS_OF_SYSTEM])
    systems = System.objects.filter(instance__host__in=hosts)
    return systems.annotate(run=Func(newest, function="unnest", output_field=BigIntegerField())).values("run")
