"""Retiring what is not used any more, showing it again, and deleting what nothing cites: after a question each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Model

from benchhub.catalog.models import Configuration, Hardware, Host, Instance, LicenceModel, PriceSheet, Workload
from benchhub.catalog.models.revised import CurrentQuerySet
from benchhub.ui.pages import Crumb


@dataclass(frozen=True, slots=True)
class Kind:
    """`back` names the address of the list. `retired` and `deleted` say what comes of it; empty: it cannot be done."""

    model: type[Model]
    back: str
    title: str
    retired: str = ""
    deleted: str = ""

    @property
    def rows(self) -> CurrentQuerySet:
        return cast(CurrentQuerySet, self.model._default_manager.all())

    @property
    def crumb(self) -> Crumb:
        return Crumb.to(self.back, self.title)


KINDS: Mapping[str, Kind] = {
    "hardware": Kind(
        Hardware,
        "hardware-list",
        "Hardware",
        "No form offers it any more. Its prices and what was measured on it stay.",
    ),
    "licence-model": Kind(
        LicenceModel,
        "licence-models",
        "Licence models",
        "No form offers it any more, and no page shows prices under it. Its list prices stay.",
    ),
    "price-sheet": Kind(
        PriceSheet,
        "price-sheets",
        "Price sheets",
        "It does not count as the sheet of a day any more. Its lines, discounts and older revisions stay.",
    ),
    "configuration": Kind(
        Configuration,
        "configurations",
        "Configurations",
        "No form offers it any more. What was measured with it stays.",
    ),
    "workload": Kind(
        Workload,
        "workloads",
        "Workloads",
        "No form offers it any more. What was measured with it stays, and runs that are queued take place.",
    ),
    "instance": Kind(
        Instance,
        "instances",
        "Instances",
        "It is not offered for planning any more. What was measured on it stays, and runs that are queued take place.",
        "Nothing was measured on it and nothing is planned, so nothing else goes with it. The server itself and its "
        "data are left as they are.",
    ),
    "host": Kind(
        Host,
        "hosts",
        "Hosts",
        deleted="Its key pair is forgotten and nothing can log in with it any more. Remove the line that ends in its "
        "name from ~/.ssh/authorized_keys there; what BenchHub left in its work directory stays.",
    ),
}


def users_of(row: Any) -> list[str]:
    """Return the names of what uses the row now, and keeps it from being retired."""
    if isinstance(row, Hardware):
        poolers = Instance.objects.current().filter(pooler_hardware=row).exclude(pooler="")
        return [
            *Host.objects.filter(hardware=row).order_by("name").values_list("name", flat=True),
            *poolers.order_by("name").values_list("name", flat=True),
        ]
    if isinstance(row, Configuration):
        using = Instance.objects.current().filter(configuration=row)
        return list(using.order_by("name").values_list("name", flat=True))
    return []
