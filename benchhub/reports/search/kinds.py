"""What the search looks through: a line per kind, each with its one query and the page to which its hits lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.db.models import Model, Q, QuerySet
from django.urls import reverse

from benchhub.bench.models import Experiment, Run, Webhook
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, LicenceModel, PriceSheet, Workload
from benchhub.reports.models import Comparison, Snapshot, Tag
from benchhub.ui.listing import row_number

Rows = QuerySet[Any]


def _nothing(_row: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """Things of one kind: the rows, the lookups that each word may match, and the line under a hit.

    `page` is the name of a row's own page, or of the list that shows the row by its name if `is_listed`.
    """

    title: str
    page: str
    rows: Callable[[], Rows]
    fields: tuple[str, ...]
    under: Callable[[Any], str] = _nothing
    is_listed: bool = False

    def matches(self, words: Sequence[str]) -> Rows:
        """Return the rows in which each word stands somewhere."""
        rows = self.rows()
        for word in words:
            rows = rows.filter(self.condition(word))
        return rows

    def condition(self, word: str) -> Q:
        return reduce(or_, (Q(**{f"{field}__icontains": word}) for field in self.fields))

    def address(self, row: Model) -> str:
        if self.is_listed:
            return f"{reverse(self.page)}?{urlencode({'q': getattr(row, 'name', str(row))})}"
        return reverse(self.page, args=[row.pk])


@dataclass(frozen=True, slots=True)
class Tagged(Kind):
    """Experiments, whose tags count as words of their own."""

    def condition(self, word: str) -> Q:
        tags = Tag.objects.filter(name__icontains=word).values("experiment")
        return Kind.condition(self, word) | Q(pk__in=tags)


@dataclass(frozen=True, slots=True)
class Numbered(Kind):
    """Things that people call by their number."""

    def matches(self, words: Sequence[str]) -> Rows:
        """Return the row of the number, which may be written #12; none for any other text."""
        number = row_number(words[0].removeprefix("#")) if len(words) == 1 else None
        return self.rows().filter(pk=number) if number else self.rows().none()


def _hosts() -> Rows:
    return Host.objects.defer("facts", "private_key").select_related("hardware").order_by("name")


def _runs() -> Rows:
    return Run.objects.select_related("experiment", "system").defer("spec", "system__description")


def _experiments() -> Rows:
    return Experiment.objects.select_related("workload").order_by("-created_at", "-pk")


def _instances() -> Rows:
    return Instance.objects.current().select_related("build", "configuration").order_by("name")


def _snapshots() -> Rows:
    return Snapshot.objects.defer("content").order_by("-pk")


def _users() -> Rows:
    return get_user_model().objects.order_by("username")


KINDS = (
    Numbered("Runs", "run", _runs, (), lambda run: f"run {run.pk} of {run.experiment}"),
    Numbered("Experiments by number", "experiment", _experiments, (), lambda row: f"experiment {row.pk}"),
    Kind("Hosts", "host", _hosts, ("name", "address", "hardware__name"), lambda host: host.address),
    Tagged("Experiments", "experiment", _experiments, ("name", "remark", "workload__name"),
           lambda row: str(row.workload)),
    Kind("Comparisons", "comparison", lambda: Comparison.objects.order_by("-changed_at", "-pk"), ("title", "remarks")),
    Kind("Published comparisons", "snapshot", _snapshots, ("title",), lambda row: f"{row.taken_at:%Y-%m-%d}"),
    Kind("Instances", "instances", _instances, ("name", "build__version", "configuration__name"),
         lambda row: f"{row.build}, {row.configuration}", is_listed=True),
    Kind("Licences", "licence-models", lambda: LicenceModel.objects.current().order_by("name"), ("name", "product"),
         lambda row: row.product, is_listed=True),
    Kind("Price sheets", "price-sheet", lambda: PriceSheet.objects.current().order_by("name"), ("name", "source"),
         lambda row: row.source),
    Kind("Hardware", "hardware-list", lambda: Hardware.objects.current().order_by("name"), ("name",),
         is_listed=True),
    Kind("Workloads", "workload", lambda: Workload.objects.current().order_by("name"), ("name", "remark"),
         lambda row: row.remark),
    Kind("Configurations", "configurations", lambda: Configuration.objects.current().order_by("name"),
         ("name", "remark"), lambda row: row.remark, is_listed=True),
    Kind("Users", "user-edit", _users, ("username",)),
    Kind("Webhooks", "webhook", lambda: Webhook.objects.order_by("name"), ("name", "url")),
)  # fmt: skip
