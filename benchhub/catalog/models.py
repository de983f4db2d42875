"""What is tested, on what, at what price. Words: docs/words.md. What is bought has modules of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runners.keys import make_key_pair
from runners.tools.pgbench_parameters import scripts_digest
from runners.tools.tatp_parameters import TRANSACTIONS

from .models_priced import ExchangeRate, Hardware, LicenceModel, ListPrice
from .models_sheets import PriceSheet, PriceSheetDiscount, PriceSheetLine
from .revised import CurrentQuerySet, Revised, name_constraints
from .secret_field import SecretField

__all__ = [
    "Configuration",
    "DataSet",
    "ExchangeRate",
    "Hardware",
    "Host",
    "Instance",
    "InterferenceGroup",
    "LicenceModel",
    "ListPrice",
    "PgBuild",
    "PriceSheet",
    "PriceSheetDiscount",
    "PriceSheetLine",
    "Revised",
    "Workload",
]


class PgBuild(models.Model):
    """A PostgreSQL as built: two builds are the same when their binaries are."""

    version = models.CharField(max_length=40)
    version_num = models.PositiveIntegerField()
    configure_options = models.TextField(blank=True)
    binary_digest = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["version_num"]

    def __str__(self) -> str:
        return f"PostgreSQL {self.version}"

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> PgBuild:
        """The row for a build as a probe found it (runners.probe); made when it is the first of its kind."""
        build, _ = cls.objects.get_or_create(
            binary_digest=facts["postgres_sha256"],
            defaults={
                "version": facts["version"],
                "version_num": facts["version_num"],
                "configure_options": shlex.join(facts.get("configure", [])),
            },
        )
        return build


class Configuration(Revised):
    """A named set of server and operating-system settings, as asked for."""

    settings = models.JSONField(default=dict, blank=True)
    os_settings = models.JSONField(default=dict, blank=True)
    volatile_storage = models.BooleanField(default=False, help_text="The data directory lies on a RAM disk.")
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("configuration")


class Workload(Revised):
    """A load generator with its parameters, the scale of its data set among them."""

    tool = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict)
    remark = models.TextField(blank=True)

    class Meta:
        constraints = name_constraints("workload")
        permissions = [("write_scripts", "Can write custom scripts")]

    @property
    def script_or_mix(self) -> str:
        return str(self.parameters.get("script") or self.parameters.get("mix") or "")

    @property
    def peculiarities(self) -> str:
        """What tells workloads of one load generator, script or mix and size apart, where it is not the default."""
        asked = self.parameters
        weighed = asked.get("weights") or {}
        weights = "/".join(str(weighed.get(name, 0)) for name in TRANSACTIONS)
        distribution = asked.get("rand_type", "special")
        told = {
            weights: bool(weighed),
            "uniform keys": asked.get("keys") == "uniform",
            "forwardings last 1 to 24 hours": asked.get("population") == "original-tool",
            f"seed {asked.get('seed')}": "seed" in asked,
            f"rows drawn {distribution}": distribution != "special",
        }
        return "; ".join(words for words, is_told in told.items() if is_told)

    @property
    def size(self) -> str:
        """How much data, in the load generator's own measure; empty where it has none."""
        if "subscribers" in self.parameters:
            return f"{self.parameters['subscribers']:,} subscribers"
        if "table_size" in self.parameters:
            return f"{self.parameters.get('tables', 1):,} x {self.parameters['table_size']:,} rows"
        return f"scale {self.parameters['scale']:,}" if "scale" in self.parameters else ""

    @property
    def scripts_digest(self) -> str:
        """SHA-256 of what custom scripts send; empty for other workloads."""
        return scripts_digest(self.parameters) if self.tool == "pgbench" else ""


class InterferenceGroup(models.Model):
    """Hosts that share hardware, so that only one run at a time may take place on any of them."""

    name = models.CharField(max_length=120, unique=True)

    def __str__(self) -> str:
        return self.name


class Host(models.Model):
    """A machine reachable over SSH. Its key pair is BenchHub's own; only the public half is ever shown."""

    class Trust(models.TextChoices):
        UNKNOWN = "unknown", "not seen yet"
        OFFERED = "offered", "waiting for approval"
        PINNED = "pinned", "pinned"
        QUARANTINED = "quarantined", "quarantined: its host key changed"
        ELSEWHERE = "elsewhere", "known by results that were brought in"

    class Wanted(models.TextChoices):
        KEY = "key", "its host key"
        FACTS = "facts", "its facts"

    name = models.CharField(max_length=120, unique=True)
    address = models.CharField(max_length=253)
    port = models.PositiveIntegerField(default=22)
    username = models.CharField(max_length=64)
    host_key = models.TextField(blank=True, help_text="The public host key that a person approved.")
    offered_host_key = models.TextField(blank=True)
    trust = models.CharField(max_length=12, choices=Trust, default=Trust.UNKNOWN)
    public_key = models.TextField(editable=False)
    private_key = SecretField(editable=False)
    work_directory = models.CharField(max_length=300, default=".benchhub")
    bin_directories = models.CharField(
        max_length=600,
        blank=True,
        help_text="Where PostgreSQL lies, if a probe would not look there; several by spaces.",
    )
    interference_group = models.ForeignKey(InterferenceGroup, models.PROTECT, null=True, blank=True)
    hardware = models.ForeignKey(Hardware, models.PROTECT, null=True, blank=True)
    wanted = models.CharField(max_length=8, choices=Wanted, blank=True, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    contacted_at = models.DateTimeField(null=True, blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    unreachable_since = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="The first of the visits that failed, until one succeeds."
    )
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    facts = models.JSONField(default=dict, blank=True, editable=False)
    facts_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["address", "port", "username"], name="host_address"),
            models.CheckConstraint(condition=Q(port__gte=1, port__lte=65535), name="host_port_range"),
            models.CheckConstraint(condition=~Q(trust="pinned", host_key=""), name="host_pinned_has_key"),
        ]

    def __str__(self) -> str:
        return self.name

    def make_key_pair(self) -> None:
        """Give the host a key pair of its own; the old one, if any, is forgotten. Save afterwards."""
        pair = make_key_pair(f"benchhub {self.name}")
        self.private_key, self.public_key = pair.private_key, pair.public_key

    def ask(self, wanted: str) -> None:
        """Have a worker visit the host soon, for its host key or its facts; what came of it is stored here."""
        Host.objects.filter(pk=self.pk).update(wanted=wanted, visit_until=None, contact_error="")
        self.wanted, self.contact_error = wanted, ""

    def approve(self, host_key: str) -> bool:
        """Pin the offered key, if it is still the one that the person saw; a quarantined host is trusted again."""
        seen = Host.objects.filter(pk=self.pk, offered_host_key=host_key).exclude(offered_host_key="")
        return bool(seen.update(host_key=host_key, offered_host_key="", trust=Host.Trust.PINNED))

    def pause(self) -> None:
        """Let no further run start on the host; what is under way goes on."""
        Host.objects.filter(pk=self.pk, paused_at=None).update(paused_at=Now())

    def resume(self) -> None:
        Host.objects.filter(pk=self.pk).update(paused_at=None)

    def build_facts(self, bin_directory: str) -> dict[str, Any]:
        """What the last probe found of the PostgreSQL there; LookupError says what to do when it found none."""
        for build in self.facts.get("builds", []):
            if build["bin_directory"] == bin_directory:
                return dict(build)
        raise LookupError(f"No PostgreSQL was found in {bin_directory} of {self.name}: probe the host with that path.")


class Instance(models.Model):
    """A PostgreSQL server to be tested; without a host it is known by its connection only (a managed database)."""

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
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = CurrentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class DataSet(models.Model):
    """What was loaded into an instance: the recipe, the build that loaded it, its size, checksum and age."""

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
