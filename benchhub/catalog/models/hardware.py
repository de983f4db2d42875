"""Hardware, licence models, and the dated list prices and exchange rates that are never rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.analysis.pricing.licences import words as rule_words
from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.analysis.pricing.licences.metrics.plain import NONE
from benchhub.analysis.pricing.licences.rules import LicenceRules, RulesError
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.money import trimmed
from benchhub.analysis.pricing.topology import Machine, VirtualMachine

from .revised import Revised, name_constraints

CURRENCY = RegexValidator(r"^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")


# What a price of hardware is of.
PARTS = (
    "sockets", "cores_per_socket", "unlike_cores", "threads_per_core", "clock_ghz", "memory_bytes", "processor",
    "disks",
)  # fmt: skip


class Hardware(Revised):
    """A hardware profile as it was bought. What a probe saw is kept with the host and with each run instead."""

    sockets = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    cores_per_socket = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    # The cores of each socket where they differ; then cores_per_socket is the most of them.
    unlike_cores = ArrayField(models.PositiveIntegerField(validators=[MinValueValidator(1)]), default=list, blank=True)
    threads_per_core = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    clock_ghz = models.DecimalField(max_digits=5, decimal_places=2, null=True, blank=True)
    memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    processor = models.CharField(max_length=80, blank=True)
    disabled_cores_per_socket = models.PositiveIntegerField(default=0)
    vm_vcpus = models.PositiveIntegerField(null=True, blank=True)
    vm_memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    vm_smt = models.BooleanField(default=True)
    disks = models.CharField(max_length=300, blank=True)
    remark = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "hardware"
        constraints = [
            *name_constraints("hardware"),
            models.CheckConstraint(
                condition=Q(sockets__gte=1, cores_per_socket__gte=1, threads_per_core__gte=1),
                name="hardware_has_cores",
            ),
            models.CheckConstraint(
                condition=Q(disabled_cores_per_socket__lt=F("cores_per_socket")), name="hardware_has_enabled_cores"
            ),
            models.CheckConstraint(
                condition=Q(unlike_cores__len=0) | Q(unlike_cores__len=F("sockets")), name="hardware_unlike_cores"
            ),
            models.CheckConstraint(condition=Q(vm_vcpus=None) | Q(vm_vcpus__gte=1), name="hardware_vm_has_vcpus"),
        ]

    def is_same_thing(self, other: Hardware) -> bool:
        """Tell whether a price of one is a price of the other: revisions whose parts agree where both name them.

        What a remark says, which cores are disabled, and what virtual machine runs there change nothing of it.
        """
        pairs = [(getattr(self, part), getattr(other, part)) for part in PARTS]
        return self.name == other.name and all(
            first == second or None in (first, second) or "" in (first, second) for first, second in pairs
        )

    @property
    def cores(self) -> int:
        return sum(self.unlike_cores) or self.sockets * self.cores_per_socket

    @property
    def socket_cores_text(self) -> str:
        """Return the cores per socket: one number, or one for each socket where they differ."""
        return ", ".join(f"{cores:,}" for cores in self.unlike_cores or [self.cores_per_socket])

    @property
    def threads(self) -> int:
        return self.cores * self.threads_per_core

    def machine(self) -> Machine:
        """Return the machine as licences count it; 1 GB of memory is 2^30 bytes."""
        return Machine(
            name=str(self),
            sockets=self.sockets,
            cores_per_socket=self.cores_per_socket,
            threads_per_core=self.threads_per_core,
            memory_gb=_gb(self.memory_bytes),
            processor=self.processor,
            disabled_cores_per_socket=self.disabled_cores_per_socket,
            unlike_cores=tuple(self.unlike_cores),
            vm=VirtualMachine(self.vm_vcpus, _gb(self.vm_memory_bytes), self.vm_smt) if self.vm_vcpus else None,
        )


def _gb(memory_bytes: int | None) -> Decimal | None:
    return None if memory_bytes is None else Decimal(memory_bytes) / 2**30


class LicenceModel(Revised):
    """The rules by which a product's licence is counted and paid; `rules` leaves out what holds its default."""

    # A name in METRICS, which grows without a migration: the column has no choices of its own.
    metric = models.CharField(max_length=40)
    rules = models.JSONField(default=dict, blank=True)
    product = models.CharField(max_length=120, blank=True)
    remark = models.TextField(blank=True)

    class Meta:
        constraints = [
            *name_constraints("licence_model"),
            models.CheckConstraint(condition=~Q(metric=""), name="licence_model_metric"),
        ]

    def licence_rules(self) -> LicenceRules:
        """Return the rules as the engine has them. Raises RulesError where no form or fixture has checked them."""
        return rules_from({**self.rules, "metric": self.metric})

    @property
    def is_licensed(self) -> bool:
        """Tell whether there is anything to license; hardware only needs no price."""
        return self.metric != NONE.name

    @property
    def metric_label(self) -> str:
        return METRICS[self.metric].label if self.metric in METRICS else self.metric

    @property
    def words(self) -> str:
        """Return the rules in plain sentences."""
        try:
            return rule_words.words(self.licence_rules())
        except RulesError as error:
            return str(error)

    @property
    def price_of(self) -> str:
        """Say what an amount in the price list buys: 'one physical core, for a year'."""
        try:
            return rule_words.price_of(self.licence_rules())
        except RulesError:
            return "what its rules do not say"

    def clean(self) -> None:
        if not self.metric:
            return  # said of the field itself
        try:
            self.licence_rules()
        except RulesError as error:
            raise ValidationError(str(error)) from error


class ListPriceQuerySet(models.QuerySet["ListPrice"]):
    def newest_first(self) -> Self:
        return self.order_by("-priced_on", "-pk")

    def by(self, day: date) -> Self:
        return self.filter(priced_on__lte=day)

    def in_force(self) -> Self:
        """Leave out what was taken back."""
        return self.filter(taken_back_at=None)

    def of_licences(self, models: Iterable[LicenceModel]) -> Self:
        """Return prices in force of these licence models and their other revisions; `counts_for` tells which count."""
        rows = self.in_force().filter(licence_model__name__in=[model.name for model in models])
        return rows.select_related("licence_model")

    def of_hardware(self, hardware: Iterable[Hardware]) -> Self:
        """Return prices in force of this hardware and its other revisions; `counts_for` tells which count."""
        rows = self.in_force().filter(hardware__name__in=[profile.name for profile in hardware])
        return rows.select_related("hardware")

    def take_back(self, user: Any) -> int:
        """Take back those that are in force, for good, and return how many."""
        return self.in_force().update(taken_back_at=Now(), taken_back_by=user)


class PriceImport(models.Model):
    """One import of list prices, so that they can be taken back together."""

    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    made_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"import by {self.made_by} on {timezone.localtime(self.made_at).date()}"


class ListPrice(models.Model):
    """One dated, sourced price. The database refuses to change or delete a row; it can be taken back once, for good.

    What was taken back stays as evidence of what was priced by it; no price is computed from it any more.
    """

    NATURAL_KEY = ("hardware_id", "licence_model_id", "description", "source", "priced_on")

    hardware = models.ForeignKey(Hardware, models.PROTECT, null=True, blank=True, related_name="prices")
    licence_model = models.ForeignKey(LicenceModel, models.PROTECT, null=True, blank=True, related_name="prices")
    description = models.CharField(max_length=200)
    part_number = models.CharField(max_length=80, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=8)  # a thousandth of a cent an hour is a price too
    currency = models.CharField(max_length=3, validators=[CURRENCY])
    priced_on = models.DateField()
    source = models.CharField(max_length=300)
    remark = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    price_import = models.ForeignKey(
        PriceImport, models.PROTECT, null=True, blank=True, editable=False, related_name="prices"
    )
    taken_back_at = models.DateTimeField(null=True, blank=True, editable=False)
    taken_back_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )

    objects = ListPriceQuerySet.as_manager()

    class Meta:
        ordering = ["-priced_on", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["hardware", "licence_model", "description", "source", "priced_on"],
                condition=Q(taken_back_at=None),
                name="list_price_natural_key",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(taken_back_at=None, taken_back_by=None)
                | Q(taken_back_at__isnull=False, taken_back_by__isnull=False),
                name="list_price_taken_back_by_somebody",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="list_price_not_negative"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="list_price_currency"),
            models.CheckConstraint(
                condition=Q(hardware=None, licence_model__isnull=False) | Q(hardware__isnull=False, licence_model=None),
                name="list_price_of_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.description}: {trimmed(self.amount):,f} {self.currency} ({self.priced_on})"

    def counts_for(self, item: Hardware | LicenceModel) -> bool:
        """Tell whether it is a price of the item: of the same parts, or for the same unit and time, in any revision."""
        if isinstance(item, Hardware):
            return self.hardware is not None and (self.hardware_id == item.pk or self.hardware.is_same_thing(item))
        own = self.licence_model
        if own is None or own.name != item.name:
            return False
        return own.pk == item.pk or own.price_of == item.price_of


class ExchangeRate(models.Model):
    """The price of one unit of `base` in `quoted` on a day. Append-only, as prices are."""

    base = models.CharField(max_length=3, validators=[CURRENCY])
    quoted = models.CharField(max_length=3, validators=[CURRENCY])
    value = models.DecimalField(max_digits=18, decimal_places=8)
    priced_on = models.DateField()
    source = models.CharField(max_length=300)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-priced_on", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["base", "quoted", "priced_on", "source"], name="exchange_rate_natural_key"),
            models.CheckConstraint(condition=Q(value__gt=0), name="exchange_rate_positive"),
            models.CheckConstraint(condition=~Q(base=F("quoted")), name="exchange_rate_of_two_currencies"),
            models.CheckConstraint(
                condition=Q(base__regex=r"^[A-Z]{3}$", quoted__regex=r"^[A-Z]{3}$"), name="exchange_rate_currencies"
            ),
        ]

    def __str__(self) -> str:
        return f"1 {self.base} = {self.value.normalize():f} {self.quoted} ({self.priced_on})"
