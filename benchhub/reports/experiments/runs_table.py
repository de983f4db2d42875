"""The table of an experiment's runs: its columns, search, order and filters."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.http import QueryDict

from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.models.states import ACTIVE, FINAL, State
from benchhub.ui.listing import Column, Filter, Listing

COLUMNS = (
    Column("run", "Run", ("position",), is_number=True),
    Column("system", "System", ("system__label", "position")),
    Column("clients", "Clients", ("clients", "position"), is_number=True),
    Column("threads", "Threads", ("threads", "position"), is_number=True),
    Column("repeat", "Repeat", ("repeat", "position"), is_number=True),
    Column("state", "State", ("state", "position")),
    Column("throughput", "Throughput", ("result__throughput", "position"), is_number=True),
    Column("latency", "Latency", ("result__latency_average_ms", "position"), is_number=True),
    Column("started", "Started", ("started_at", "position")),
    Column("remarks", "Remarks"),
)
SEARCH = ("system__label", "state", "reason", "set_aside_reason")
HAS_DOUBTS = Q(result__isnull=False) & ~Q(result__doubts=[])
STATES = Filter(
    "state",
    "State",
    {
        "queued": ("queued", Q(state=State.QUEUED)),
        "active": ("running (reserved to collecting)", Q(state__in=ACTIVE)),
        **{state: (state.label, Q(state=state)) for state in FINAL},
    },
)
DOUBTS = Filter("doubts", "Doubts", {"with": ("with doubts", HAS_DOUBTS), "without": ("without", ~HAS_DOUBTS)})

ASIDE = Filter(
    "aside",
    "Set aside",
    {"only": ("set aside", Q(set_aside_at__isnull=False)), "without": ("that count", Q(set_aside_at=None))},
)


def listing(query: QueryDict, experiment: Experiment, runs: QuerySet[Run], systems: Sequence[System]) -> Listing[Run]:
    labels = {str(system.pk): (system.label, Q(system=system.pk)) for system in systems}
    levels = {str(level): (f"{level:,}", Q(clients=level)) for level in experiment.client_levels}
    filters = (Filter("system", "System", labels), Filter("clients", "Clients", levels), STATES, DOUBTS, ASIDE)
    return Listing(query, runs, COLUMNS, search=SEARCH, filters=filters, default="run")
