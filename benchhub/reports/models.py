"""Comparisons that people keep, frozen snapshots of them, and the links that share those."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from typing import Self

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Count, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.bench.models import Experiment

TOKEN_BYTES = 32
# The setting is local to the statement's own transaction.
COUNT_VIEW = """
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true))
UPDATE reports_link SET views = views + 1, viewed_at = statement_timestamp() FROM quick WHERE id = %s
"""


class Tag(models.Model):
    """A word that people put to an experiment, to find its curves again."""

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["experiment", "name"], name="tag_once")]

    def __str__(self) -> str:
        return self.name


class Comparison(models.Model):
    """Curves and terms under a title. `query` is the address of the comparison's page: curve=1-2&baseline=1-2&term=3"""

    title = models.CharField(max_length=160)
    remarks = models.TextField(blank=True)
    query = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.title


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def for_list(self) -> Self:
        """Return the newest first, without their contents, each with the number of links that still lead to it."""
        live = Q(links__revoked_at=None) & (Q(links__expires_at=None) | Q(links__expires_at__gt=Now()))
        counted = Count("links", filter=live & Q(links__isnull=False))
        return self.defer("content").select_related("taken_by").annotate(link_count=counted).order_by("-pk")


class Snapshot(models.Model):
    """A comparison or a published report as it was. Append-only: the database refuses to change or delete a row.

    `content` holds the canonical bytes (docs/snapshots.md), `sha256` their digest.
    """

    comparison = models.ForeignKey(Comparison, models.PROTECT, null=True, blank=True, related_name="snapshots")
    published = models.CharField(max_length=80, blank=True, help_text="The published report that this is of.")
    title = models.CharField(max_length=160)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    taken_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    taken_at = models.DateTimeField()

    objects = SnapshotQuerySet.as_manager()

    def __str__(self) -> str:
        return self.title


class Projection(models.Model):
    """A snapshot without what is hidden, made once by the rules that `redaction` counts. Append-only as they are."""

    snapshot = models.ForeignKey(Snapshot, models.PROTECT, related_name="projections")
    hidden = ArrayField(models.CharField(max_length=12), default=list, blank=True)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    # Those that were made before rules were counted are of the first.
    redaction = models.PositiveSmallIntegerField(db_default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "hidden", "redaction"], name="projection_once")]

    def __str__(self) -> str:
        return f"{self.snapshot} without {', '.join(self.hidden) or 'nothing left out'}"


class Printed(models.Model):
    """A projection as PDF, kept because a browser needs seconds for it.

    Each release prints anew, and so does each edition: its digest changes when a list price behind it is taken back.
    """

    projection = models.ForeignKey(Projection, models.CASCADE, related_name="prints")
    name = models.CharField(max_length=10)
    release = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64, db_default="")
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["projection", "name"], name="printed_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.projection}"


class LinkQuerySet(models.QuerySet["Link"]):
    def of_token(self, token: str) -> Self:
        return self.filter(token_sha256=digest(token))

    def for_sharing(self) -> Self:
        """Return links with all that a shared page needs to be revalidated, in one query."""
        return self.select_related("projection").defer("projection__content")


class Link(models.Model):
    """A secret address of one projection. Its token is shown once and never stored; only its SHA-256 is."""

    snapshot = models.ForeignKey(Snapshot, models.PROTECT, related_name="links")
    projection = models.ForeignKey(Projection, models.PROTECT, related_name="links")
    name = models.CharField(max_length=120, help_text="Who it is for. Only people who sign in here see this.")
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    password = models.CharField(max_length=256, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    embedded_by = models.CharField(max_length=600, blank=True)
    # The terms that its readers may choose, names in choices.choice.OPEN.
    choices = ArrayField(models.CharField(max_length=12), default=list, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    views = models.PositiveBigIntegerField(default=0, editable=False)
    viewed_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = LinkQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    def renew_token(self) -> str:
        """Give this link a new token of 256 bits and return it, to be shown once. Save afterwards."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.token_sha256 = digest(token)
        return token

    def set_password(self, password: str) -> None:
        self.password = make_password(password) if password else ""

    def accepts(self, password: str) -> bool:
        return check_password(password, self.password)

    def is_expired(self, now: datetime | None = None) -> bool:
        return self.expires_at is not None and self.expires_at <= (now or timezone.now())

    @property
    def state(self) -> str:
        if self.revoked_at:
            return "revoked"
        if self.is_expired():
            return "expired"
        return "paused" if self.paused_at else "open"

    def count_view(self) -> None:
        """Count a view without waiting for the disk.

        A popular link has one row, and a count that a power cut loses hurts nobody.
        """
        with connection.cursor() as cursor:
            cursor.execute(COUNT_VIEW, [self.pk])


class LinkTry(models.Model):
    """A password that was typed for a link. A right one takes back those before it; all are gone after an hour."""

    link = models.ForeignKey(Link, models.CASCADE, related_name="tries")
    at = models.DateTimeField(db_default=Now())
    # Of somebody whom the link has let in before: the key of their cookie. Only such tries count for them.
    reader = models.CharField(max_length=32, blank=True)
    place = models.CharField(max_length=45)
    area = models.CharField(max_length=45)

    class Meta:
        verbose_name_plural = "link tries"
        indexes = [models.Index(fields=["link", "at"], name="link_try_at")]

    def __str__(self) -> str:
        return f"{self.link} from {self.place} at {self.at:%H:%M:%S}"


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
