"""The page of one revision of a workload, for everyone who may see the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from benchhub.catalog.models import Workload
from runners import tools
from runners.tools.kinds import Script


@dataclass(frozen=True)
class WorkloadPage:
    """The page of a workload's revision; `may_revise` tells whether its reader may see the form."""

    row: Workload
    may_revise: bool

    @property
    def title(self) -> str:
        return tools.get(self.row.tool).kind_of(self.row.parameters).title

    @property
    def parameters(self) -> Iterator[tuple[str, str]]:
        """Yield (name, value) of the parameters, with what was left to its default where that decides."""
        for name, value in tools.get(self.row.tool).in_full(self.row.parameters).items():
            if value not in (None, "", {}):
                yield name.replace("_", " "), str(value) if name == "seed" else _words(value)

    @property
    def scripts(self) -> Sequence[Script]:
        return tools.get(self.row.tool).scripts(self.row.parameters)

    @cached_property
    def revisions(self) -> QuerySet[Workload]:
        return Workload.objects.filter(name=self.row.name).exclude(pk=self.row.pk).order_by("revision")


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {part}" for name, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
