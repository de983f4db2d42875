"""PostgreSQL that BenchHub builds on a host from a source, as tables."""

from __future__ import annotations

from typing import cast

from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from runners.builds.recipe import Kind, Recipe

from .clusters import new_mark
from .hosts import Host
from .instances import Instance
from .moments import may_visit

GIVEN_UP = "It was given up while its host did not answer: what is left of it there is ended when it does."


class SourceBuildQuerySet(models.QuerySet["SourceBuild"]):
    def for_table(self) -> SourceBuildQuerySet:
        """Return the builds with their hosts, the newest first, without what is large."""
        return self.select_related("host").defer("log_tail", "host__facts", "host__private_key").order_by("-pk")

    def under_way(self) -> SourceBuildQuerySet:
        """Return those of which something is on the host, or is to be removed there."""
        return self.filter(state__in=[SourceBuild.State.BUILDING, SourceBuild.State.REMOVING])

    def to_visit(self) -> SourceBuildQuerySet:
        """Return those for which a worker has something to do on the host now."""
        return (self.under_way() | self.filter(is_tidy=False)).filter(may_visit()).select_related("host")


class SourceBuild(models.Model):
    """A PostgreSQL that is built on a host: its recipe, how far it is, and what it came to.

    waiting -> building -> built, failed or cancelled; built -> removing -> removed. What has ended may wait again,
    under the next `number`. While it builds it holds its host in the queue.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waits for its host"
        BUILDING = "building", "is being built"
        BUILT = "built", "built"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"
        REMOVING = "removing", "is being removed"
        REMOVED = "removed", "removed"

    class Source(models.TextChoices):
        RELEASE = "release", "a release"
        GIT = "git", "a git repository"
        TARBALL = "tarball", "a tarball on the host"

    UNDER_WAY = (State.WAITING, State.BUILDING, State.REMOVING)
    MAY_BE_BUILT = (State.FAILED, State.CANCELLED, State.REMOVED)
    # What is on the host, or is to be: its row stays as long as that.
    ON_HOST = (*UNDER_WAY, State.BUILT)
    DEADLINE_S = 7200

    host = models.ForeignKey(Host, models.CASCADE, related_name="source_builds")
    kind = models.CharField(max_length=8, choices=Source)
    revision = models.CharField(max_length=80)
    place = models.CharField(max_length=520, blank=True)
    options = models.JSONField(default=list, blank=True)
    jobs = models.PositiveSmallIntegerField(default=0, help_text="Of make at a time; 0 is as many as there are CPUs.")
    digest = models.CharField(max_length=64, editable=False)
    key = models.CharField(max_length=32, default=new_mark, editable=False)
    number = models.PositiveIntegerField(default=1, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING, editable=False)
    is_cancel_asked = models.BooleanField(default=False, editable=False)
    is_suspected = models.BooleanField(default=False, editable=False)
    is_tidy = models.BooleanField(default=True, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    error = models.TextField(blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    step = models.CharField(max_length=40, blank=True, editable=False)
    log_tail = models.TextField(blank=True, editable=False)
    log_offset = models.PositiveBigIntegerField(default=0, editable=False)
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    facts = models.JSONField(default=dict, blank=True, editable=False)
    source_facts = models.JSONField(default=dict, blank=True, editable=False)

    objects = SourceBuildQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "digest"], name="source_build_once")]

    def __str__(self) -> str:
        return f"build of {self.source_text} on {self.host}"

    @property
    def recipe(self) -> Recipe:
        return Recipe(cast(Kind, str(self.kind)), self.revision, self.place, tuple(self.options))

    @property
    def source_text(self) -> str:
        """Name the source as people do: a tag by its name, with the commit that it was of."""
        tag, text = self.source_facts.get("tag"), self.recipe.source_text
        return f"git {tag} ({self.revision[:12]})" if tag else text

    @property
    def bin_directory(self) -> str:
        return str(self.facts.get("bin_directory", ""))

    @property
    def is_under_way(self) -> bool:
        return self.state in self.UNDER_WAY

    def ask(self) -> bool:
        """Have it built; False, and nothing done, where it is built or under way."""
        rows = SourceBuild.objects.filter(pk=self.pk, state__in=self.MAY_BE_BUILT)
        anew = {"state": self.State.WAITING, "number": models.F("number") + 1, "asked_at": Now(), "visit_until": None}
        blank = {"error": "", "contact_error": "", "step": "", "log_tail": "", "log_offset": 0, "is_suspected": False}
        ends = {"started_at": None, "ended_at": None, "is_cancel_asked": False, "is_tidy": True}
        return bool(rows.update(**anew, **blank, **ends))

    def cancel(self) -> bool:
        """End it: at once where it waits, else when a worker has stopped it on the host.

        Asked again after a worker could not, it is given up: what goes on there is ended when the host answers again.
        """
        rows = SourceBuild.objects.filter(pk=self.pk)
        ended = {"state": self.State.CANCELLED, "ended_at": Now(), "error": "Cancelled before it began."}
        if rows.filter(state=self.State.WAITING).update(**ended, contact_error="") or self._give_up():
            return True
        request = {"is_cancel_asked": True, "visit_until": None, "contact_error": ""}
        return bool(rows.filter(state=self.State.BUILDING).update(**request))

    @transaction.atomic
    def _give_up(self) -> bool:
        """End it without its host, which is free for others at once; True if it was to be ended and could not."""
        rows = SourceBuild.objects.filter(pk=self.pk, state=self.State.BUILDING, is_cancel_asked=True)
        ended = {"state": self.State.CANCELLED, "ended_at": Now(), "error": GIVEN_UP, "step": ""}
        left = {"is_tidy": False, "is_cancel_asked": False, "visit_until": None}
        if not rows.exclude(contact_error="").update(**ended, **left):
            return False
        self.holds.all().delete()
        return True

    @transaction.atomic
    def ask_to_remove(self) -> bool:
        """Have it removed, and offer its programs to nobody from now on; False where it is not built."""
        rows = SourceBuild.objects.filter(pk=self.pk, state=self.State.BUILT)
        if not rows.update(state=self.State.REMOVING, visit_until=None, contact_error=""):
            return False
        self.host.forget_build(self.bin_directory)
        return True

    def users(self) -> models.QuerySet[Instance]:
        """Return the instances that need its programs: those that plans offer, and clusters that are still there."""
        is_there = Q(retired_at=None) | Q(cluster__isnull=False, cluster__removed_at=None)
        rows = Instance.objects.filter(is_there, host=self.host_id, bin_directory=self.bin_directory)
        return rows.defer("password").order_by("name")


class SourceBuildLog(models.Model):
    """What a build printed, as it came; of a very long one without its middle. `whole_` is of all of it."""

    build = models.ForeignKey(SourceBuild, models.CASCADE, related_name="logs")
    number = models.PositiveIntegerField()
    content = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    whole_bytes = models.PositiveBigIntegerField()
    whole_sha256 = models.CharField(max_length=64)
    stored_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["build", "number"], name="source_build_log_once")]

    def __str__(self) -> str:
        return f"log {self.number} of {self.build}"
