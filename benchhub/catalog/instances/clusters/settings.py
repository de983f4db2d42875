"""Clusters of BenchHub's own as their settings are checked, and as a run is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchhub.analysis.protocol import applicable
from benchhub.analysis.protocol.parameters import parameter
from benchhub.analysis.tuning.treatments import Layer
from benchhub.catalog.models import Cluster, ClusterParameters, Configuration, Instance
from runners import contract
from runners.os_settings import names
from runners.os_settings.script import VERSION

NOT_MADE = "BenchHub has not made this cluster yet: its page says how far it is."
OLDEST = 110_000
# What may be asked at any time, as nothing is lost by it that cannot be made again.
PURPOSES = (Cluster.Wanted.MAKE, Cluster.Wanted.LOOK, Cluster.Wanted.STOP, Cluster.Wanted.DISCARD)
CHECKSUMS_BY_DEFAULT = 180_000


def refusals(cluster: Cluster, configuration: Configuration) -> list[str]:
    """Return a sentence for each setting that cannot be applied to the cluster; empty if all can."""
    return [sentence for sentences in refusals_by_layer(cluster, configuration).values() for sentence in sentences]


def refusals_by_layer(cluster: Cluster, configuration: Configuration) -> dict[Layer, list[str]]:
    """Return the sentences as `refusals` does, those of the operating system apart from the server's."""
    server = _server_parameters(cluster)
    if server is None:
        return {"settings": [NOT_MADE]}
    settings = applicable.spelled(configuration.settings, server.parameters)
    sentences = applicable.refusals(settings, _server(cluster, server, server.parameters))
    return {"settings": sentences, "os_settings": _os_refusals(cluster, configuration)}


def _os_refusals(cluster: Cluster, configuration: Configuration) -> list[str]:
    """Return why settings of the operating system are not applied on the cluster's host; empty if none is asked for."""
    host = cluster.instance.host
    if not configuration.os_settings or host is None:
        return []
    absent = host.facts.get("os_settings_absent", ())
    sentences = names.refusals(configuration.os_settings, host.facts.get("memory_bytes"), absent)
    if sentences or host.facts.get("os_settings") == VERSION:
        return sentences
    why = " with the helper of another release of BenchHub" if host.facts.get("os_settings") else ""
    return [
        f"{host.username} may not change settings of the operating system on {host}, as its last probe found{why}: the "
        "page of the host says what an administrator installs there. Then probe it again."
    ]


def need_restart(cluster: Cluster, configuration: Configuration) -> list[str]:
    """Return the names of the settings that take effect at a start alone, as each run begins with one."""
    server = _server_parameters(cluster)
    if server is None:
        return []
    settings = applicable.spelled(configuration.settings, server.parameters)
    return applicable.need_restart(settings, _server(cluster, server, settings))


def asked_cluster(cluster: Cluster, configuration: Configuration) -> contract.Cluster:
    """Return what a run on the cluster is told of it. Raises ValueError, with all reasons, if it is refused."""
    if sentences := refusals(cluster, configuration):
        raise ValueError(" ".join(sentences))
    row = _server_parameters(cluster)
    settings = applicable.spelled(configuration.settings, row.parameters if row else ())
    server = _server(cluster, row, settings) if row else None
    return contract.Cluster(
        folder=cluster.folder,
        mark=cluster.mark,
        bin_directory=cluster.instance.bin_directory,
        database=cluster.instance.database,
        initdb_options=initdb_options(cluster),
        settings=settings,
        settings_in_force=applicable.applied(settings, server) if server else {},
        os_settings=names.applied(configuration.os_settings),
    )


def initdb_options(cluster: Cluster) -> tuple[str, ...]:
    """Return words for initdb. Whoever is logged in as its account may connect, and nobody else."""
    is_new = cluster.instance.build.version_num >= CHECKSUMS_BY_DEFAULT
    checksums = ["--data-checksums"] if cluster.has_checksums else ["--no-data-checksums"] if is_new else []
    return (
        f"--username={cluster.instance.username}",
        "--auth-local=peer",
        "--auth-host=reject",
        f"--encoding={cluster.encoding}",
        f"--locale={cluster.locale}",
        f"--wal-segsize={cluster.wal_segment_mib}",
        *checksums,
    )


def unfinished_runs(instance: Instance, most: int) -> list[int]:
    """Return the keys of runs of the instance that wait or are under way, at most so many."""
    rows = Instance.objects.filter(pk=instance.pk, system__runs__pk__gt=0, system__runs__ended_at=None)
    return list(rows.order_by("system__runs").values_list("system__runs", flat=True)[:most])


def _server_parameters(cluster: Cluster) -> ClusterParameters | None:
    return getattr(cluster, "server_parameters", None)


def _server(cluster: Cluster, server: ClusterParameters, names: Iterable[str]) -> applicable.Server:
    """Return the server with what it knows of these settings, and of those that contradictions are found by."""
    rows: Mapping[str, Any] = server.parameters
    wanted_names = {*names, *applicable.CONTRADICTING}
    host = cluster.instance.host
    return applicable.Server(
        version=cluster.instance.build.version,
        parameters={name: parameter(name, rows[name]) for name in wanted_names if name in rows},
        libraries=server.libraries,
        memory_bytes=host.usable_memory_bytes if host else None,
        wal_segment_mib=cluster.wal_segment_mib,
    )
