"""Machines reached over SSH, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from runners.keys import make_key_pair

from .hardware import Hardware
from .secret_field import SecretField


class InterferenceGroup(models.Model):
    """Hosts that share hardware, so that only one run at a time may take place on any of them."""

    name = models.CharField(max_length=120, unique=True)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Approval:
    """What came of the approval of a host key: the names of the instances whose grant has ended with the old key.

    `waiting_runs` are the keys of the queued runs that were planned with such a grant.
    """

    withdrawn: tuple[str, ...] = ()
    waiting_runs: tuple[int, ...] = ()


class Host(models.Model):
    """A machine reachable over SSH. Its key pair is BenchHub's own; only the public half is ever shown."""

    class Trust(models.TextChoices):
        UNKNOWN = "unknown", "not seen yet"
        OFFERED = "offered", "waiting for approval"
        PINNED = "pinned", "pinned"
        QUARANTINED = "quarantined", "quarantined: its host key changed"
        ELSEWHERE = "elsewhere", "known by imported results"

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
    longest_exclusive_h = models.PositiveSmallIntegerField(
        default=24,
        db_default=24,
        help_text="Hours of any 24, or of 3 more than these, that experiments may have it to themselves.",
    )
    wanted = models.CharField(max_length=8, choices=Wanted, blank=True, editable=False)
    visit_until = models.DateTimeField(null=True, blank=True, editable=False)
    contacted_at = models.DateTimeField(null=True, blank=True, editable=False)
    contact_error = models.TextField(blank=True, editable=False)
    unreachable_since = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="The first of the visits that failed, until one succeeds."
    )
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    pause_reason = models.TextField(blank=True, editable=False, help_text="Empty where a person paused it.")
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

    def has_readable_key(self) -> bool:
        """Tell whether FIELD_KEYS has the key with which BenchHub's own for this host was stored."""
        try:
            return bool(self.private_key)
        except ImproperlyConfigured:
            return False

    @property
    def usable_memory_bytes(self) -> int | None:
        """Return the memory that programs of the account may use, by its control groups; None where nobody knows it."""
        memory_bytes, limit_bytes = self.memory_bytes, self.memory_limit_bytes
        return min(memory_bytes, limit_bytes) if memory_bytes and limit_bytes else memory_bytes

    @property
    def memory_bytes(self) -> int | None:
        """Return the memory of the machine."""
        memory_bytes = self.facts.get("memory_bytes")
        return memory_bytes if isinstance(memory_bytes, int) else None

    @property
    def memory_limit_bytes(self) -> int | None:
        """Return what control groups let the account use; None where nothing limits it, or nobody knows."""
        # Where a host was probed last before limits were read together, its memory's stands alone.
        limits = self.facts.get("limits", {"memory_bytes": self.facts.get("memory_limit_bytes")})
        limit_bytes = limits.get("memory_bytes")
        return limit_bytes if isinstance(limit_bytes, int) else None

    @property
    def server_memory_bytes(self) -> int | None:
        """Return what servers may use: clusters of BenchHub's own run in its account's groups, others in their own."""
        has_clusters = self.instances.filter(cluster__isnull=False, retired_at=None).exists()
        return self.usable_memory_bytes if has_clusters else self.memory_bytes

    def runs_under_way(self) -> list[int]:
        """Return the keys of the runs with an open attempt for which the host is the driver or has the server."""
        keys: set[int] = set()
        for runs in ("system__runs", "instances__system__runs"):
            is_open = {f"{runs}__attempts__number__gte": 1, f"{runs}__attempts__ended_at": None}
            keys |= set(Host.objects.filter(pk=self.pk, **is_open).values_list(f"{runs}__pk", flat=True))
        return sorted(keys)

    @transaction.atomic
    def replace_key_pair(self) -> list[int]:
        """Give the host another key pair, whose public half is to be installed before anybody gets in again.

        Return the runs under way, which nobody could reach meanwhile: then nothing is changed. By a key that BenchHub
        cannot read any more nobody reaches them anyway, and by the new one they are found again.
        """
        Host.lock([self.pk])
        if self.has_readable_key() and (runs := self.runs_under_way()):
            return runs
        self.make_key_pair()
        self.facts_at, self.contact_error = None, "Its new public key is not installed there yet."
        self.save(update_fields=["private_key", "public_key", "facts_at", "contact_error"])
        return []

    @staticmethod
    def lock(keys: Iterable[int]) -> None:
        """Hold the rows until the end of the transaction: a start there, and an edit of where jobs lie, take turns."""
        list(Host.objects.select_for_update().filter(pk__in=keys).order_by("pk").values_list("pk"))

    def ask(self, purpose: str) -> None:
        """Have a worker visit the host soon, for its host key or its facts; the outcome is stored here."""
        Host.objects.filter(pk=self.pk).update(wanted=purpose, visit_until=None, contact_error="")
        self.wanted, self.contact_error = purpose, ""

    @transaction.atomic
    def approve(self, host_key: str) -> Approval | None:
        """Pin the offered key if it is still the one that the person saw; None, and nothing done, if it is not.

        A quarantined host is trusted again. Where another key was pinned before, it may be another machine: what owners
        of its servers have granted ends.
        """
        Host.lock([self.pk])
        offered = Host.objects.filter(pk=self.pk, offered_host_key=host_key).exclude(offered_host_key="")
        is_another = offered.exclude(host_key__in=("", host_key)).exists()
        if not offered.update(host_key=host_key, offered_host_key="", trust=Host.Trust.PINNED):
            return None
        return self._withdraw_grants() if is_another else Approval()

    def _withdraw_grants(self) -> Approval:
        none = self.instances.model.Grant.NONE
        granted = self.instances.exclude(grant=none)
        changing = {"system__runs__state": "queued", "system__runs__spec__server_settings__restart__isnull": False}
        runs = granted.filter(**changing).order_by("system__runs").values_list("system__runs", flat=True)
        approval = Approval(tuple(granted.order_by("name").values_list("name", flat=True)), tuple(runs))
        granted.update(grant=none)
        return approval

    def pause(self, reason: str = "") -> None:
        """Let no further run start on the host; what is under way goes on."""
        Host.objects.filter(pk=self.pk, paused_at=None).update(paused_at=Now(), pause_reason=reason)

    def resume(self) -> None:
        Host.objects.filter(pk=self.pk).update(paused_at=None, pause_reason="")

    @transaction.atomic
    def remember_build(self, facts: dict[str, Any]) -> None:
        """Put a PostgreSQL among those that the host is known to have, as if a probe had found it."""
        Host.lock([self.pk])
        self.forget_build(facts["bin_directory"])
        self.facts = {**self.facts, "builds": [*self.facts["builds"], facts]}
        self.save(update_fields=["facts"])

    @transaction.atomic
    def forget_build(self, bin_directory: str) -> None:
        """Take a PostgreSQL from those that the host is known to have."""
        Host.lock([self.pk])
        self.refresh_from_db(fields=["facts"])
        others = [build for build in self.facts.get("builds", []) if build.get("bin_directory") != bin_directory]
        self.facts = {**self.facts, "builds": others}
        self.save(update_fields=["facts"])

    def build_facts(self, bin_directory: str) -> dict[str, Any]:
        """Return what the last probe found of the PostgreSQL there. Raises LookupError, which says what to do."""
        for build in self.facts.get("builds", []):
            if build["bin_directory"] == bin_directory:
                return dict(build)
        raise LookupError(f"No PostgreSQL was found in {bin_directory} of {self.name}: probe the host with that path.")
