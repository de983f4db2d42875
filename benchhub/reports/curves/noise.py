"""Repeats of the same measurement on one host, whatever experiment they were run in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchhub.bench.models import Run

MOST_RUNS = 5_000


def repeats(hosts: Sequence[int], protocol_digests: Iterable[str]) -> dict[int, list[list[list[float]]]]:
    """Return throughputs of the newest runs by host.

    A host has groups of one system, protocol and level; a group has a list for each experiment.
    """
    rows = (
        Run.objects.measured()
        .filter(system__instance__host__in=hosts, protocol__in=list(protocol_digests))
        .order_by("-pk")
        .values_list(
            "system__instance__host", "system_id", "protocol_id", "clients", "experiment_id", "result__throughput"
        )[:MOST_RUNS]
    )
    values: dict[int, dict[tuple[int, str, int], dict[int, list[float]]]] = {}
    for host, system, protocol, clients, experiment, throughput in rows:
        group = values.setdefault(host, {}).setdefault((system, protocol, clients), {})
        group.setdefault(experiment, []).append(throughput)
    return {host: [list(blocks.values()) for blocks in groups.values()] for host, groups in values.items()}
