"""The gate of exclusive periods: in them no run of another experiment begins on the hosts of an experiment.

A period is in force while its experiment is neither paused nor over, has a run that fits into the period or is under
way, and a system of which no host is paused or awaits approval of its key. Of a plan that recurs the next turn's
counts. Hosts may be put into one hardware group after two experiments have got them: the older one goes first then.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    BooleanField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
)
from django.db.models.functions import Cast, JSONObject, Now

from benchhub.analysis.planning.exclusive import local_text, span_text
from benchhub.analysis.planning.timetable import Period
from benchhub.bench.models import Experiment, Reservation, Run, System
from benchhub.bench.models.states import State
from benchhub.catalog.models import Host
from benchhub.catalog.models.moments import interval

from .needs import DRIVER, MARGIN_S, SERVER, needed_period, truth

NEXT_TURN = timedelta(days=1)  # the periods of a plan's next turn begin so soon after it is queued, or are open then
SYSTEM = "experiment__systems"
HOLDERS = (f"{SYSTEM}__driver", f"{SYSTEM}__instance__host")


def in_force() -> QuerySet[Reservation]:
    """Return the periods, past ones too, in which experiments that go on and can have their hosts to themselves."""
    next_at = F("experiment__recurrence__next_at")
    goes_on = Q(experiment__paused_at=None, experiment__in=Experiment.objects.left().values("pk"))
    fits = Q(needed_time__lte=OuterRef("length"))
    unfinished = _own_runs().unfinished()
    goes_on &= Q(Exists(unfinished.filter(fits | ~Q(state=State.QUEUED)))) | ~Q(Exists(unfinished))
    recurs = Q(experiment__recurrence__paused_at=None, period__endswith__gt=next_at)
    recurs &= Q(period__startswith__lt=next_at + NEXT_TURN)
    recurs &= Q(Exists(_own_runs().filter(fits)))  # the next turn's are as long as those that have ended
    length = ExpressionWrapper(F("period__endswith") - F("period__startswith"), output_field=DurationField())
    holders = Experiment.objects.exclusive().values("pk")
    rows = Reservation.objects.alias(length=length).filter(goes_on | recurs, experiment__in=holders)
    return rows.filter(Exists(_usable_systems().filter(experiments=OuterRef("experiment"))))


def _own_runs() -> Any:
    """Return the runs of the period's experiment, each with the time that it needs."""
    runs = Run.objects.filter(experiment=OuterRef("experiment"))
    return runs.alias(needed_time=interval(F("expected_s") + MARGIN_S))


def _usable_systems() -> QuerySet[System]:
    """Return the systems of which no host is paused or awaits approval of its key: others start no run anyway."""
    fit = Host.objects.filter(paused_at=None, trust=Host.Trust.PINNED).values("pk")
    return System.objects.filter(Q(instance__host=None) | Q(instance__host__in=fit), driver__in=fit)


def _is_relative() -> Q:
    """Tell whether the period is of the run's own experiment, its design, or the plan that it is a turn of."""
    return (
        Q(experiment=OuterRef("experiment"))
        | Q(experiment__design=OuterRef("experiment__design"))
        | Q(experiment__occasion_of=OuterRef("experiment__occasion_of"))
        | Q(experiment__recurrence=OuterRef("experiment__occasion_of"))
        | Q(experiment__occasion_of__plan=OuterRef("experiment"))
    )


def _comes_after() -> Q:
    """Tell whether the run is in an exclusive period of its own experiment, which is older than that of the period."""
    own = Reservation.objects.filter(experiment=OuterRef(OuterRef("experiment")), experiment__is_exclusive=True)
    return Q(experiment__gt=OuterRef("experiment")) & Q(Exists(own.filter(period__contains=Now())))


def _needs_the_same() -> Q:
    """Tell whether the experiment of the period has a host, shared hardware or the instance that the run needs."""
    same = Q(**{f"{SYSTEM}__instance": OuterRef("system__instance")})
    for key in (DRIVER, SERVER):
        for holder in HOLDERS:
            same |= Q(**{holder: OuterRef(key)})
            same |= Q(**{f"{holder}__interference_group": OuterRef(f"{key}__interference_group")})
    return same


def _in_its_way() -> QuerySet[Reservation]:
    """Return the exclusive periods of others that the run would begin in, or reach into."""
    # As an array they are looked up once for all runs: years of periods that are over are not read run by run.
    coming = ArraySubquery(in_force().filter(period__endswith__gt=Now()).values("pk"))
    is_coming = Func(F("pk"), coming, template="(%(expressions)s))", arg_joiner=" = ANY (", output_field=BooleanField())
    rows = Reservation.objects.filter(is_coming, _needs_the_same())
    overlapping = rows.filter(period__overlap=needed_period(OuterRef("expected_s")))
    lets_in = truth(_is_relative() | _comes_after())
    return overlapping.annotate(lets_in=lets_in).filter(lets_in=False)


def is_reserved() -> Q:
    # The first is asked once for all runs, and mostly false: only then the database need not look run by run.
    return Q(Exists(Experiment.objects.exclusive())) & Q(Exists(_in_its_way()))


def has_time_to_itself() -> Exists:
    """Tell whether the run's experiment is in an exclusive period of its own now."""
    own = Reservation.objects.filter(experiment=OuterRef("experiment"), experiment__is_exclusive=True)
    return Exists(own.filter(period__contains=Now()))


def reserver() -> Subquery:
    """Return the earliest exclusive period in the run's way, as JSON in a text."""
    begun = ExpressionWrapper(Q(period__startswith__lte=Now()), output_field=BooleanField())
    fields = {"start": "period__startswith", "end": "period__endswith", "zone": "zone", "name": "experiment__name"}
    text = Cast(JSONObject(has_begun=begun, **fields), TextField())
    return Subquery(_in_its_way().order_by("period", "pk").annotate(text=text).values("text")[:1])


def reserved_sentence(run: Run) -> str:
    text = getattr(run, "reserver", None)
    if not text:
        return "Another experiment has its hosts to itself, or will have before the run ends."
    row = json.loads(text)
    period = Period(datetime.fromisoformat(row["start"]), datetime.fromisoformat(row["end"]))
    if row["has_begun"]:
        end = local_text(period.end, row["zone"])
        return f"{row['name']} has its hosts to itself until {end}, or until that ends or is paused."
    span = span_text(period, row["zone"])
    return f"{row['name']} has its hosts to itself from {span}, and the run would not end before."
