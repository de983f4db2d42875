"""The page of periods in which a host is blocked or an experiment may run, and its words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from benchhub.analysis.planning.exclusive import Exclusive
from benchhub.bench.models import Experiment, Reservation, Window
from benchhub.catalog.models import Host
from benchhub.ui.pages import Crumb

from . import gates
from .exclusive import in_force, lent

MOST_PERIODS, MOST_EXCLUSIVE = 50, 7


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the pages for one kind of owner; `{}` stands for its name."""

    title: str
    intro: str
    none: str
    once: str
    weekly: str


KINDS = {
    "host": Words(
        "When {} is blocked",
        "In these periods no run starts on the host, nor one that would reach into them. A run under way goes on.",
        "The host is never blocked.",
        "Block {} once",
        "Block {} every week",
    ),
    "experiment": Words(
        "When {} may run",
        "A run of it starts only where its expected end lies in one of these periods. Other experiments may use the "
        "hosts meanwhile: what comes first is a matter of priority.",
        "It may run at any time.",
        "Let {} run once",
        "Let {} run every week",
    ),
}
EXCLUSIVE = replace(
    KINDS["experiment"],
    intro="A run of it starts only where its expected end lies in one of these periods, and no run of another "
    "experiment begins on its hosts then, until it ends or is paused. What is under way there goes on. A pooler, a "
    "standby or storage on a machine that is no host of its systems may be used by others all the same.",
    none="It has no period yet: so it may run at any time, and keeps nobody out.",
)


@dataclass(frozen=True)
class TimesPage:
    """The weekly windows and coming periods of a host or an experiment; `kind` names which of them it is."""

    kind: str
    owner: Host | Experiment

    @property
    def words(self) -> Words:
        return EXCLUSIVE if getattr(self.owner, "is_exclusive", False) else KINDS[self.kind]

    @property
    def title(self) -> str:
        return self.words.title.format(self.owner.name)

    @property
    def crumb(self) -> Crumb:
        return Crumb.to(self.kind, self.owner.name, self.owner.pk)

    @property
    def host_keys(self) -> set[int]:
        return getattr(self.owner, "host_keys", {self.owner.pk})

    @cached_property
    def windows(self) -> QuerySet[Window]:
        return self.owner.windows.order_by("pk")

    @cached_property
    def coming(self) -> QuerySet[Reservation]:
        rows = self.owner.reservations.filter(period__endswith__gt=Now()).select_related("window")
        return rows.order_by("period")[:MOST_PERIODS]

    @cached_property
    def is_confined(self) -> bool:
        """Tell whether there are windows or periods at all, be they over."""
        return self.owner.windows.exists() or self.owner.reservations.exists()

    @cached_property
    def exclusive(self) -> list[Exclusive]:
        """Return the next periods in which experiments have the host to themselves."""
        if not isinstance(self.owner, Host):
            return []
        needed = gates.host_resources([self.owner])
        return [row for row in in_force(timezone.now()) if row.keeps_out((), needed)][:MOST_EXCLUSIVE]

    @property
    def lent(self) -> str:
        return lent(self.owner) if isinstance(self.owner, Host) else ""

    @property
    def once_address(self) -> str:
        return reverse(f"{self.kind}-times-once", args=[self.owner.pk])

    @property
    def weekly_address(self) -> str:
        return reverse(f"{self.kind}-times-weekly", args=[self.owner.pk])
