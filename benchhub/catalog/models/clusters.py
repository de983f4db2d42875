"""Clusters of BenchHub's own as tables, and the copies of data sets beside them."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models.functions import Now

from benchhub.analysis.planning.copies import Times

from .instances import Instance


def new_mark() -> str:
    return secrets.token_hex(16)


class Cluster(models.Model):
    """What BenchHub itself makes, starts, stops and removes of an instance: a cluster in a folder with its mark.

    `wanted` is what a worker is to do there next; `facts` are what it saw at `seen_at`.
    """

    class Wanted(models.TextChoices):
        MAKE = "make", "to be made"
        LOOK = "look", "to be looked at"
        STOP = "stop", "to be stopped"
        DISCARD = "discard", "to be freed of its copies"
        REMOVE = "remove", "to be removed"

    class Encoding(models.TextChoices):
        UTF8 = "UTF8", "UTF-8"
        SQL_ASCII = "SQL_ASCII", "SQL_ASCII: bytes as they come"
        LATIN1 = "LATIN1", "Latin-1"

    class Locale(models.TextChoices):
        C = "C", "C: by byte values"
        C_UTF8 = "C.UTF-8", "C.UTF-8"
        EN_US = "en_US.UTF-8", "en_US.UTF-8"

    WAL_SEGMENTS = ((1, "1 MB"), (4, "4 MB"), (16, "16 MB"), (64, "64 MB"), (256, "256 MB"), (1024, "1 GB"))

    instance = models.OneToOneField(Instance, models.CASCADE, related_name="cluster")
    folder = models.CharField(max_length=300)
    mark = models.CharField(max_length=32, default=new_mark, editable=False)
    has_checksums = models.BooleanField(default=True)
    wal_segment_mib = models.PositiveSmallIntegerField(default=16, choices=WAL_SEGMENTS)
    encoding = models.CharField(max_length=12, choices=Encoding, default=Encoding.UTF8)
    locale = models.CharField(max_length=16, choices=Locale, default=Locale.C)
    wanted = models.CharField(max_length=8, choices=Wanted, blank=True, default=Wanted.MAKE, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    made_at = models.DateTimeField(null=True, blank=True, editable=False)
    removed_at = models.DateTimeField(null=True, blank=True, editable=False)
    facts = models.JSONField(default=dict, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"cluster of {self.instance}"

    @property
    def data_directory(self) -> str:
        return f"{self.folder}/data"

    def ask(self, purpose: str) -> None:
        """Have a worker visit it soon, to make, look at, stop or remove it; the outcome is stored here."""
        Cluster.objects.filter(pk=self.pk).update(wanted=purpose, visit_until=None, contact_error="")
        self.wanted, self.contact_error = purpose, ""


class ClusterParameters(models.Model):
    """The settings that a cluster knows, by name, as its pg_settings described them when it was made; and libraries.

    Each cluster has its own: what one host says of a build is not believed of another host.
    """

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="server_parameters")
    parameters = models.JSONField(default=dict)
    libraries = models.JSONField(default=list, blank=True, help_text="Those that may be preloaded.")

    class Meta:
        verbose_name_plural = "cluster parameters"

    def __str__(self) -> str:
        return f"settings of {self.cluster}"


class DataCopy(models.Model):
    """A copy of the files of a cluster's data set, as they were after its load; its times were measured on its host."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="copies")
    key = models.CharField(max_length=32)
    recipe = models.JSONField()
    size_bytes = models.PositiveBigIntegerField()
    loaded_s = models.FloatField()
    copied_s = models.FloatField()
    restored_s = models.FloatField(null=True, blank=True)
    shares_blocks = models.BooleanField(default=False)
    is_there = models.BooleanField(default=True)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "data copies"
        constraints = [models.UniqueConstraint(fields=["cluster", "key"], name="data_copy_once")]

    def __str__(self) -> str:
        return f"copy of the {self.recipe.get('tool')} data set of {self.cluster.instance}"

    @property
    def recipe_text(self) -> str:
        """Name the data as its load generator does: tool, size, and what else is not the default."""
        return ", ".join(f"{name} {value}" if name != "tool" else str(value) for name, value in self.recipe.items())

    @property
    def times(self) -> Times:
        """Return what a load and a copy take: that from the copy, where it was used, else that to it."""
        return Times(self.loaded_s, self.copied_s if self.restored_s is None else self.restored_s, is_measured=True)
