"""The page of a cluster of BenchHub's own: its state, what is in force, and which configurations it can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Prefetch, QuerySet

from benchhub.analysis.protocol.settings import readable
from benchhub.catalog.models import Cluster, Configuration, DataCopy, Instance
from benchhub.ui.facts import Fact

from .settings import need_restart, refusals

MOST_CONFIGURATIONS = 100


@dataclass(frozen=True, slots=True)
class Applicable:
    """A configuration beside what speaks against it on the cluster, as sentences."""

    configuration: Configuration
    refusals: list[str]
    restarts: list[str]


@dataclass(frozen=True)
class ClusterPage:
    """The page of a cluster that comes out of `clusters()`."""

    cluster: Cluster

    @property
    def instance(self) -> Instance:
        return self.cluster.instance

    @property
    def state(self) -> str:
        if self.cluster.removed_at and not self.cluster.made_at:
            return "removed"
        if not self.cluster.made_at:
            return "not made yet"
        if not self._saw("is_there"):
            return "not there: the next run makes it anew"
        return "running" if self._saw("is_running") else "stopped"

    @property
    def facts(self) -> list[Fact]:
        cluster, instance = self.cluster, self.instance
        rows = [
            Fact("Build", str(instance.build)),
            Fact("Folder", cluster.folder),
            Fact("Size", cluster.facts.get("size_bytes"), "bytes"),
            Fact("Own configuration", str(instance.configuration)),
            Fact("Data checksums", "on" if cluster.has_checksums else "off"),
            Fact("WAL segment", cluster.get_wal_segment_mib_display()),
            Fact("Encoding and locale", f"{cluster.encoding}, {cluster.locale}"),
            Fact("Reached by", f"its socket alone, as {instance.username}, database {instance.database}"),
        ]
        return [fact for fact in rows if fact.value is not None]

    @property
    def settings(self) -> list[Fact]:
        """Return what is in force and not the server's default; empty where it does not run."""
        return [
            Fact(str(row.get("name")), readable(str(row.get("setting")), str(row.get("unit") or "")))
            for row in self.cluster.facts.get("settings", [])
            if isinstance(row, Mapping)
        ]

    @property
    def last_start(self) -> str:
        return str(self.cluster.facts.get("last_start", ""))

    @cached_property
    def configurations(self) -> list[Applicable]:
        if not self.cluster.made_at:
            return []
        rows = Configuration.objects.current().order_by("name")[:MOST_CONFIGURATIONS]
        return [Applicable(row, refusals(self.cluster, row), need_restart(self.cluster, row)) for row in rows]

    def _saw(self, name: str) -> bool:
        return bool(self.cluster.facts.get(name))


def clusters() -> QuerySet[Any]:
    copies = Prefetch("copies", DataCopy.objects.filter(is_there=True).order_by("pk"), to_attr="current_copies")
    names = ("host", "configuration", "build")
    rows = Cluster.objects.select_related("server_parameters", *(f"instance__{name}" for name in names))
    return rows.prefetch_related(copies).defer("instance__password", "instance__host__private_key")
