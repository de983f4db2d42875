"""Tables of the queue beside the runs: holds, watches, live logs, windows, reservations, and who works on it."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Now

from benchhub.catalog.models.hosts import Host
from benchhub.catalog.models.moments import SLACK

from .states import State

KEPT_FOR, FAILED_KEPT_FOR, FORGOTTEN_AT_ONCE = timedelta(days=1), timedelta(days=60), 1000
# Pages ask every 20 s whether anybody works (base.html): within two leases of 60 s they all say that nobody does.
ALIVE_WITHIN = timedelta(seconds=1.5 * settings.LEASE_SECONDS)
OF_ONE_OWNER = Q(host=None, experiment__isnull=False) | Q(host__isnull=False, experiment=None)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

STEP_TEXTS = {
    "verify": "checks the data set",
    "pilot": "tries the load for a second",
    "vacuum": "vacuums",
    "checkpoint": "writes a checkpoint",
    "restart": "restarts the server",
    "drop_caches": "drops the caches",
    "settle": "waits for a quiet host",
    "pause": "waits for a quiet host",
    "warmup": "warms up",
    "before": "reads counters",
    "after": "reads counters",
    "watch": "watches the idle host",
    "load": "loads the data set",
    "fingerprint": "counts the data set",
    "measure": "under load",
    "reduce": "counts the log up",
}
# Steps before the load itself; nobody can tell how long the first runs take for them.
PREPARING = {"cluster", "settings", "os_settings", "pooler", "verify", "pilot", "vacuum", "checkpoint", "restart"}
PREPARING |= {"drop_caches", "settle", "pause", "watch", "warmup", "before"}


class Hold(models.Model):
    """One active run per resource: a host, or a group of hosts that share hardware. The primary key is the lock.

    A build of PostgreSQL holds its host in the same way; `free_at` is then when it ends at the latest.
    """

    resource = models.CharField(max_length=80, primary_key=True)
    run = models.ForeignKey("Run", models.PROTECT, null=True, related_name="holds")
    build = models.ForeignKey("catalog.SourceBuild", models.CASCADE, null=True, related_name="holds")
    free_at = models.DateTimeField(null=True, help_text="The rest between runs lasts until then.")
    rest_s = models.PositiveIntegerField(db_default=0)

    def __str__(self) -> str:
        return self.resource


class Promise(models.Model):
    """A resource that goes to this queued run next: what comes later in the queue starts on it only if it ends before.

    Who needs several things that are never free together would otherwise be overtaken for ever.
    """

    resource = models.CharField(max_length=80)
    run = models.ForeignKey("Run", models.CASCADE, related_name="promises")
    starts_at = models.DateTimeField(help_text="When the run is expected to start.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["resource", "run"], name="promised_once")]

    def __str__(self) -> str:
        return f"{self.resource} for run {self.run_id}"


class WatchQuerySet(models.QuerySet["Watch"]):
    def forget(self) -> int:
        """Delete those of runs that ended for good a day ago or more, and return how many.

        What failed or was lost keeps its watch for two months: a new attempt goes on with its fence, which no worker
        remembers any more by then. Failures of that time are looked through by each call.
        """
        is_over = Q(run__state__in=[State.SUCCEEDED, State.CANCELLED])
        has_failed = Q(run__state__in=[State.FAILED, State.LOST], next_look_at__lt=Now() - FAILED_KEPT_FOR)
        old = self.filter(is_over | has_failed, next_look_at__lt=Now() - KEPT_FOR)
        keys = list(old.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
        return self.filter(pk__in=keys).delete()[0]


class Watch(models.Model):
    """The facts that change at every look at an active run; apart, so that the run's own row stays still."""

    run = models.OneToOneField("Run", models.CASCADE, primary_key=True)
    next_look_at = models.DateTimeField(db_default=Now(), db_index=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveBigIntegerField(default=0)
    last_contact_at = models.DateTimeField(null=True)
    contact_error = models.TextField(blank=True)
    unreachable_since = models.DateTimeField(null=True)
    step = models.CharField(max_length=40, blank=True)
    progress_offset = models.PositiveBigIntegerField(default=0)
    out_offset = models.PositiveBigIntegerField(default=0)
    live_tps = models.FloatField(null=True)

    objects = WatchQuerySet.as_manager()

    def __str__(self) -> str:
        return f"watch of run {self.run_id}"

    @property
    def step_text(self) -> str:
        """Say what the host is doing; a step without words of its own goes by its name."""
        return STEP_TEXTS.get(self.step, self.step)

    @property
    def is_preparing(self) -> bool:
        """Tell whether the host prepares the load, so that all of it is still to come."""
        return self.step in PREPARING


class LiveLog(models.Model):
    """The last part of a log of an attempt, as the looks at it brought it; gone when its evidence is here."""

    class Stream(models.TextChoices):
        OUT = "out", "out.log"
        ERR = "err", "err.log"

    attempt = models.ForeignKey("Attempt", models.CASCADE, related_name="live_logs")
    stream = models.CharField(max_length=3, choices=Stream)
    content = models.BinaryField()
    end_offset = models.PositiveBigIntegerField(help_text="Bytes from the start of the log to the end of `content`.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "stream"], name="live_log_once")]

    def __str__(self) -> str:
        return f"{self.get_stream_display()} of {self.attempt}"


class Window(models.Model):
    """A period of every week, by the clock on the wall of a zone: a host is blocked then, or an experiment may run.

    `weekdays` (0 is Monday) are those on which it starts; an end that is not after the start is that of the next day.
    """

    host = models.ForeignKey(Host, models.CASCADE, null=True, blank=True, related_name="windows")
    experiment = models.ForeignKey("Experiment", models.CASCADE, null=True, blank=True, related_name="windows")
    weekdays = ArrayField(models.PositiveSmallIntegerField())
    starts_at = models.TimeField()
    ends_at = models.TimeField()
    zone = models.CharField(max_length=64)
    reason = models.CharField(max_length=200, blank=True)
    expanded_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=OF_ONE_OWNER, name="window_of_host_or_experiment"),
            models.CheckConstraint(
                condition=~Q(weekdays=[]) & Q(weekdays__contained_by=list(range(7))), name="window_has_weekdays"
            ),
        ]

    def __str__(self) -> str:
        days = ", ".join(WEEKDAYS[day] for day in sorted(self.weekdays))
        return f"{days} {self.starts_at:%H:%M} to {self.ends_at:%H:%M}, {self.zone}"


def _no_overlap(owner: str) -> ExclusionConstraint:
    """Forbid two periods of one owner to overlap. A range of one key stands for the key: so no extension is needed."""
    key = Func(F(f"{owner}_id"), F(f"{owner}_id"), Value("[]"), function="int8range")
    return ExclusionConstraint(
        name=f"reservation_of_{owner}_once",
        expressions=[(key, "&&"), (F("period"), "&&")],
        condition=Q(**{f"{owner}__isnull": False}),
    )


class Reservation(models.Model):
    """One period: the host is blocked in it, or the experiment may run in it. Given once, or out of a window."""

    host = models.ForeignKey(Host, models.CASCADE, null=True, blank=True, related_name="reservations")
    experiment = models.ForeignKey("Experiment", models.CASCADE, null=True, blank=True, related_name="reservations")
    period = DateTimeRangeField()
    window = models.ForeignKey(Window, models.CASCADE, null=True, blank=True, related_name="reservations")
    zone = models.CharField(max_length=64, default="UTC", help_text="In which it was written.")
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=OF_ONE_OWNER, name="reservation_of_host_or_experiment"),
            models.CheckConstraint(
                condition=Q(period__isempty=False, period__lower_inf=False, period__upper_inf=False),
                name="reservation_has_two_ends",
            ),
            _no_overlap("host"),
            _no_overlap("experiment"),
        ]

    def __str__(self) -> str:
        return f"{self.period.lower:%Y-%m-%d %H:%M} to {self.period.upper:%Y-%m-%d %H:%M} UTC"


class WorkerQuerySet(models.QuerySet["Worker"]):
    def alive(self) -> Self:
        """Return the workers that have done lately what the ticker asked for.

        A time that is still to come was written before a clock was set back: it tells nothing.
        """
        return self.filter(ticked_at__gt=Now() - ALIVE_WITHIN, ticked_at__lte=Now() + SLACK)


class Worker(models.Model):
    """A worker process as it last told of itself, at a tick that the ticker had sent."""

    name = models.CharField(max_length=160, primary_key=True, help_text="Machine and process number.")
    release = models.CharField(max_length=60)
    started_at = models.DateTimeField(db_default=Now())
    ticked_at = models.DateTimeField(db_default=Now(), db_index=True)
    clock_ahead_s = models.FloatField(help_text="Its clock minus the warehouse's.")
    loop_silent_s = models.FloatField(default=0, help_text="For how long its event loop of all SSH had not turned.")
    ssh_errors = models.PositiveBigIntegerField(default=0, help_text="Since it started.")

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
