"""Permits to run on hosts, API tokens, the audit log, and answers that are given again."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.catalog.models.secret_field import SecretField


class Permit(models.Model):
    """The hosts on which a runner may run. An administrator needs none, and a viewer has no use for one."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="permit")
    is_on_all_hosts = models.BooleanField(default=False)
    # Hidden from the host, so that a permit never keeps one from being deleted.
    hosts: models.ManyToManyField[Any, Any] = models.ManyToManyField("catalog.Host", blank=True, related_name="+")

    def __str__(self) -> str:
        return f"permit of {self.user}"


class Token(models.Model):
    """A key to the API. Only its digest is kept; it opens what its scopes and its owner's role both allow."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=10))
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(scopes=[]), name="token_has_scopes")]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "valid"


class SecondFactor(models.Model):
    """What a user's authenticator shares with BenchHub: without a code of it the password signs nobody in."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="second_factor")
    secret = SecretField(editable=False)
    last_step = models.BigIntegerField(default=0, help_text="Codes of this time, and of earlier ones, are used up.")
    recovery_digests = ArrayField(models.CharField(max_length=64), default=list)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class Entry(models.Model):
    """One line of the audit log: who did, or tried to do, what. Append-only."""

    class Way(models.TextChoices):
        WEB = "web", "pages"
        API = "api", "API"
        COMMAND = "cmd", "commands, workers"

    at = models.DateTimeField(db_default=Now(), db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    username = models.CharField(max_length=150, help_text="As typed, where nobody could be signed in.")
    token = models.CharField(max_length=80, blank=True)
    way = models.CharField(max_length=3, choices=Way)
    action = models.CharField(max_length=80)
    address = models.CharField(max_length=300)
    status = models.PositiveSmallIntegerField()
    origin = models.GenericIPAddressField(null=True, help_text="The network address that it came from.")
    device = models.CharField(
        max_length=32, blank=True, db_default="", help_text="The browser of a sign-in, if it was seen before."
    )

    detail = models.TextField(blank=True, db_default="", help_text="What was changed, without secrets.")

    class Meta:
        verbose_name_plural = "entries"
        indexes = [models.Index(fields=["action", "at"], name="entry_action_at")]

    def __str__(self) -> str:
        return f"{self.username}: {self.action}"

    @property
    def outcome(self) -> str:
        if self.status < 400:
            return "done"
        return {401: "refused", 403: "refused", 429: "refused"}.get(self.status, "not done")


class Failure(models.Model):
    """A sign-in that failed, to throttle those that follow. Kept for minutes, and of all together the newest alone."""

    at = models.DateTimeField(db_default=Now(), db_index=True)
    name_digest = models.CharField(max_length=64, db_index=True)
    place = models.CharField(max_length=45, db_index=True)
    device = models.CharField(max_length=32, blank=True)

    def __str__(self) -> str:
        return f"{self.place} at {self.at:%H:%M:%S}"


class Answer(models.Model):
    """The answer to a request with an idempotency key: the same request is never carried out twice."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    body = models.BinaryField(default=b"")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="answer_key_once")]

    def __str__(self) -> str:
        return self.key
