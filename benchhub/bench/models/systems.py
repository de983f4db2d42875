"""Systems under test, the protocols they are measured by, and which of these may be compared all the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from benchhub.analysis.protocol import digest as digests
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild


class System(models.Model):
    """A system under test: server, hardware, build, configuration, and from where and how it is driven."""

    class Path(models.TextChoices):
        SOCKET = "socket", "Unix socket"
        LOOPBACK = "loopback", "loopback"
        NETWORK = "network", "network"
        TLS = "tls", "network with TLS"

    label = models.CharField(max_length=160)
    instance = models.ForeignKey(Instance, models.PROTECT)
    driver = models.ForeignKey(Host, models.PROTECT)
    hardware = models.ForeignKey(Hardware, models.PROTECT)
    build = models.ForeignKey(PgBuild, models.PROTECT)
    configuration = models.ForeignKey(Configuration, models.PROTECT)
    path = models.CharField(max_length=10, choices=Path)
    pooler_hardware = models.ForeignKey(
        Hardware, models.PROTECT, null=True, related_name="pooler_systems", help_text="Bought for the pooler alone."
    )
    description = models.JSONField()
    digest = models.CharField(max_length=64, unique=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(path__in=["socket", "loopback", "network", "tls"]), name="system_path_known"
            )
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def driven_locally(self) -> bool:
        return self.instance.host_id == self.driver_id

    @property
    def machines(self) -> list[Hardware]:
        """Return the hardware that is bought for it: the server's, and the pooler's where that has a machine."""
        return [self.hardware, *([self.pooler_hardware] if self.pooler_hardware else [])]

    @property
    def machines_text(self) -> str:
        """Name the machines: that of the server, and that of the pooler where it has one."""
        return f"{self.hardware}, pooler on {self.pooler_hardware}" if self.pooler_hardware else str(self.hardware)

    @property
    def host_keys(self) -> set[int | None]:
        """Return the keys of the driver and of the server; None for a managed server."""
        return {self.driver_id, self.instance.host_id}


class Protocol(models.Model):
    """The conditions that two curves must share to be compared, in canonical form; the key is the form's digest."""

    digest = models.CharField(max_length=64, primary_key=True)
    form = models.JSONField()

    def __str__(self) -> str:
        return self.digest

    @classmethod
    def stored(cls, form: Mapping[str, Any]) -> Protocol:
        return cls.objects.get_or_create(digest=digests.digest(form), defaults={"form": form})[0]


class ComparabilityQuerySet(models.QuerySet["Comparability"]):
    def standing(self) -> Self:
        return self.filter(withdrawn_at=None)

    def among(self, digests: Collection[str]) -> Self:
        """Return the standing declarations between any two of these protocols, the oldest first."""
        return (
            self.standing().filter(first__in=digests, second__in=digests).select_related("declared_by").order_by("pk")
        )


class Comparability(models.Model):
    """A person's word that two protocols may be compared, with the reason: it stands wherever the comparison does.

    It is withdrawn, never edited or deleted.
    """

    first = models.ForeignKey(Protocol, models.PROTECT, related_name="+", help_text="The one with the lower digest.")
    second = models.ForeignKey(Protocol, models.PROTECT, related_name="+")
    reason = models.TextField()
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    declared_at = models.DateTimeField(db_default=Now())
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)

    objects = ComparabilityQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "comparabilities"
        constraints = [
            models.UniqueConstraint(
                fields=["first", "second"], condition=Q(withdrawn_at=None), name="comparability_declared_once"
            ),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="comparability_in_order"),
            models.CheckConstraint(condition=~Q(reason=""), name="comparability_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id[:12]} and {self.second_id[:12]}: {self.reason}"
