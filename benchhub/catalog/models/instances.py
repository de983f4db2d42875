"""PostgreSQL servers as tables: their builds, and the data sets that were loaded into them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from .hardware import Hardware
from .hosts import Host
from .revised import CurrentQuerySet
from .secret_field import SecretField
from .workloads import Configuration

if TYPE_CHECKING:
    from .clusters import Cluster


class PgBuild(models.Model):
    """A PostgreSQL as built: two builds are the same when their binaries are, and their versions too.

    The digest is what a host says: one that lies about it is not believed to have another host's version as well.
    """

    version = models.CharField(max_length=40)
    version_num = models.PositiveIntegerField()
    configure_options = models.TextField(blank=True)
    binary_digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["version_num"]
        constraints = [models.UniqueConstraint(fields=["binary_digest", "version"], name="build_once")]

    def __str__(self) -> str:
        return f"PostgreSQL {self.version}"

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> PgBuild:
        """Return the build that a probe found (runners.probe); create it when it is the first of its kind."""
        build, _ = cls.objects.get_or_create(
            binary_digest=facts["postgres_sha256"],
            version=facts["version"],
            defaults={
                "version_num": facts["version_num"],
                "configure_options": shlex.join(facts.get("configure", [])),
            },
        )
        return build


class Instance(models.Model):
    """A PostgreSQL server to be tested; without a host it is known by its connection only (a managed database)."""

    class Grant(models.TextChoices):
        NONE = "none", "no: they stay as they are"
        RELOAD = "reload", "yes, by a reload"
        RESTART = "restart", "yes, by a restart"

    class Pooler(models.TextChoices):
        NONE = "", "none: loads go to the server"
        PGBOUNCER = "PgBouncer", "PgBouncer"

    class PoolerTls(models.TextChoices):
        USUAL = "", "as to the server; none if it is on the driver"
        DISABLE = "disable", "none"
        REQUIRE = "require", "required"

    name = models.CharField(max_length=120, unique=True)
    host = models.ForeignKey(Host, models.PROTECT, null=True, blank=True, related_name="instances")
    build = models.ForeignKey(PgBuild, models.PROTECT)
    configuration = models.ForeignKey(Configuration, models.PROTECT)
    address = models.CharField(max_length=253, help_text="As the driver reaches it; a directory for a socket.")
    port = models.PositiveIntegerField(default=5432)
    database = models.CharField(max_length=63)
    username = models.CharField(max_length=63)
    password = SecretField(blank=True)
    data_directory = models.CharField(max_length=300, blank=True)
    bin_directory = models.CharField(max_length=300, blank=True)
    grant = models.CharField(max_length=8, choices=Grant, default=Grant.NONE)
    restart_command = models.CharField(max_length=300, blank=True)
    pooler = models.CharField(max_length=12, choices=Pooler, blank=True)
    pooler_address = models.CharField(max_length=253, blank=True, help_text="As the driver reaches it, as above.")
    pooler_port = models.PositiveIntegerField(default=6432)
    pooler_tls = models.CharField(max_length=8, choices=PoolerTls, blank=True)
    pooler_hardware = models.ForeignKey(
        Hardware,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="pooler_instances",
        help_text="Bought for it alone.",
    )
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = CurrentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def own_cluster(self) -> Cluster | None:
        """Return the cluster of BenchHub's own that it is; None for a server that somebody else runs."""
        return getattr(self, "cluster", None)

    @property
    def usable_memory_bytes(self) -> int | None:
        """Return the memory that the server may use; None where nobody knows it.

        The limits of BenchHub's account hold for a cluster of its own, which it starts; others have their own.
        """
        if not self.host:
            return None
        return self.host.usable_memory_bytes if self.own_cluster else self.host.memory_bytes

    @property
    def is_configurable(self) -> bool:
        """Tell whether runs may have configurations of their own there."""
        return self.own_cluster is not None or self.grant != Instance.Grant.NONE

    @property
    def restart_words(self) -> tuple[str, ...]:
        """Return the owner's command that restarts the server, in words; empty where runs may not restart it."""
        return tuple(self.restart_command.split()) if self.grant == Instance.Grant.RESTART else ()

    def has_password(self) -> bool:
        """Tell whether a password is stored, without opening it."""
        return Instance.objects.filter(pk=self.pk).exclude(password="").exists()


class DataSet(models.Model):
    """The data that was loaded into an instance: the recipe, the build that loaded it, its size, checksum and age."""

    instance = models.ForeignKey(Instance, models.PROTECT, related_name="data_sets")
    build = models.ForeignKey(PgBuild, models.PROTECT)
    recipe = models.JSONField()
    recipe_digest = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    checksum = models.CharField(max_length=64)
    loaded_at = models.DateTimeField(db_default=Now())
    age_write_transactions = models.PositiveBigIntegerField(default=0)
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instance"], condition=Q(replaced_at=None), name="data_set_one_current_per_instance"
            )
        ]

    def __str__(self) -> str:
        return f"{self.recipe.get('tool')} data set of {self.instance}"
