"""The page of an instance's test: what the last look saw, from which driver, and a button that looks again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import QuerySet

from benchhub.accounts import rights
from benchhub.analysis.words import count
from benchhub.catalog.instances.inspection import looked_at
from benchhub.catalog.models import Host, Inspection, Instance
from benchhub.catalog.shared.forms import offer_rows
from benchhub.ui.findings import Finding, Level, worst

VERDICTS = {
    "ok": "Runs can use it.",
    "warn": "Runs can use it. {things} may mislead.",
    "bad": "Runs would fail: {things} to mend.",
}


class DriverForm(forms.Form):
    """Which host logs in: the instance's own, unless another drives it; of those on which the user may run."""

    driver = forms.ModelChoiceField(
        Host.objects.none(),
        empty_label=None,
        help_text="The host whose load generator will use it. It logs in once, and changes nothing.",
        error_messages={"invalid_choice": "Choose a host of the list.", "required": "Choose a host of the list."},
    )

    def __init__(self, data: Any = None, *, instance: Instance, user: Any) -> None:
        super().__init__(data, initial={"driver": instance.host_id}, label_suffix="")
        hosts = Host.objects.filter(trust=Host.Trust.PINNED).defer("private_key", "facts").order_by("name")
        denied = rights.denied_hosts(user, hosts.values_list("pk", flat=True))
        offer_rows(self, "driver", hosts.exclude(pk__in=denied))


@dataclass(frozen=True)
class InspectionPage:
    """The page of an instance that comes out of `testable()`."""

    instance: Instance
    form: DriverForm

    @property
    def inspection(self) -> Inspection | None:
        return getattr(self.instance, "inspection", None)

    @cached_property
    def findings(self) -> list[Finding]:
        return looked_at(self.inspection) if self.inspection and not self.inspection.is_wanted else []

    @property
    def level(self) -> Level:
        return worst(self.findings)

    @property
    def verdict(self) -> str:
        number = sum(finding.level == self.level for finding in self.findings)
        return VERDICTS[self.level].format(things=count(number, "thing"))


def testable() -> QuerySet[Instance]:
    """Return the servers that somebody else runs: a cluster of BenchHub's own is started for its runs alone."""
    rows = Instance.objects.filter(cluster=None).select_related("host", "build", "inspection__driver")
    hidden = (f"{path}{name}" for path in ("host__", "inspection__driver__") for name in ("private_key", "facts"))
    return rows.defer("password", *hidden)
