"""From weekly windows to rows of reserved periods, 60 days ahead; and periods that a person gives once."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfoNotFoundError

from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Q
from django.db.models.functions import Now

from benchhub.analysis.planning.timetable import Period, occurrences, without
from benchhub.bench.models import Experiment, Reservation, Window
from benchhub.catalog.models import Host

logger = logging.getLogger(__name__)

AHEAD = timedelta(days=60)
EXPANDED_ENOUGH = timedelta(days=59)  # so that a window is expanded once a day, and after it was changed
LOCK = 4_846_214_911  # one worker at a time; any number that nothing else locks


def expand() -> int:
    """Write the periods of windows that are due as rows; returns how many. Any worker may do it again."""
    windows = Window.objects.filter(Q(expanded_until=None) | Q(expanded_until__lt=Now() + EXPANDED_ENOUGH))
    if not windows.exists():
        return 0
    with transaction.atomic():
        now = _locked_at()
        return sum(_expand(window, now) for window in windows.order_by("pk")) if now else 0


def _expand_new(experiment: Experiment) -> None:
    """Write the periods of an experiment of the caller's transaction: no other worker sees its windows yet."""
    for window in experiment.windows.annotate(now=Now()).order_by("pk"):
        _expand(window, window.now)


def _locked_at() -> datetime | None:
    """Take the lock until the end of the transaction; returns the database's time, or None if another worker has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s), now()", [LOCK])
        is_ours, now = cursor.fetchone()
    return now if is_ours else None


def _expand(window: Window, now: datetime) -> int:
    """Write the window's periods without the time that other periods of its owner cover already; returns how many."""
    try:
        own_periods = list(
            occurrences(window.weekdays, window.starts_at, window.ends_at, window.zone, now, now + AHEAD)
        )
    except ZoneInfoNotFoundError:  # an update of the system may take old names away; other windows are not to wait
        logger.error("Window %s names the time zone %s, which this machine no longer knows.", window.pk, window.zone)
        return 0
    # The first may have begun before now, and what covered a part of it be over.
    since = min((period.start for period in own_periods), default=now)
    other_periods = periods(_same_owner(window), since)
    rows = [_row(window, period) for period in without(own_periods, other_periods)]
    try:
        with transaction.atomic():
            Reservation.objects.bulk_create(rows)
    except IntegrityError:  # a person gave a period at this moment: the next tick cuts around it
        return 0
    Window.objects.filter(pk=window.pk).update(expanded_until=now + AHEAD)
    return len(rows)


def _row(window: Window, period: Period) -> Reservation:
    return Reservation(
        host_id=window.host_id,
        experiment_id=window.experiment_id,
        window=window,
        period=DateTimeTZRange(period.start, period.end),
        zone=window.zone,
        reason=window.reason,
    )


def _same_owner(entry: Window | Reservation) -> Q:
    return Q(host=entry.host_id) if entry.host_id else Q(experiment=entry.experiment_id)


def periods(owner: Q, since: datetime) -> list[Period]:
    rows: Iterable[DateTimeTZRange] = Reservation.objects.filter(owner, period__endswith__gt=since).values_list(
        "period", flat=True
    )
    return [Period(row.lower, row.upper) for row in rows]


def reserve_once(owner: Host | Experiment, start: datetime, end: datetime, *, zone: str, reason: str) -> Reservation:
    """Block a host, or let an experiment run, from start to end. IntegrityError where one of its periods overlaps."""
    kind = "host" if isinstance(owner, Host) else "experiment"
    with transaction.atomic():
        return Reservation.objects.create(**{kind: owner}, period=DateTimeTZRange(start, end), zone=zone, reason=reason)


@transaction.atomic
def remove(entry: Window | Reservation) -> None:
    """Take a window with all its periods away, or a period that was given once; other windows fill what it covered."""
    entry.delete()
    Window.objects.filter(_same_owner(entry)).update(expanded_until=None)


def confine(experiment: Experiment, window: Window) -> None:
    """Confine an experiment that was just planned to a copy of the window."""
    fields = {name: getattr(window, name) for name in ("weekdays", "starts_at", "ends_at", "zone")}
    Window.objects.create(experiment=experiment, **fields)
    _expand_new(experiment)


def copy_windows(old: Experiment, new: Experiment) -> None:
    """Confine a copy of an experiment to the same windows. Periods given once are not copied: they pass.

    The periods are written at once: those of a plan's turn follow those of the plan without a gap for others.
    """
    Window.objects.bulk_create(
        Window(
            experiment=new,
            weekdays=window.weekdays,
            starts_at=window.starts_at,
            ends_at=window.ends_at,
            zone=window.zone,
            reason=window.reason,
        )
        for window in old.windows.all()
    )
    _expand_new(new)
