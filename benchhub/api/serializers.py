"""The rows of the catalogue as JSON. What is secret (private keys, passwords) has no field here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from benchhub.analysis.pricing.money import PricingError, trimmed
from benchhub.catalog import models
from benchhub.catalog.hosts import page as hosts_page

from .core.views import Shown

REVISED = ("id", "url", "name", "revision", "retired_at")


class Host(Shown):
    interference_group = serializers.CharField(
        source="interference_group.name", default=None, read_only=True, allow_null=True
    )
    wanted = serializers.CharField(
        read_only=True, help_text="What a worker is asked to look for: key, facts or nothing."
    )
    fingerprint = serializers.SerializerMethodField(help_text="Of the approved key, as ssh-keygen -l prints it.")
    offered_fingerprint = serializers.SerializerMethodField(help_text="Of the key that waits for approval.")
    install_line = serializers.SerializerMethodField(help_text="Shell that lets BenchHub log in there.")

    class Meta:
        model = models.Host
        fields = (
            "id", "url", "name", "address", "port", "username", "hardware", "interference_group", "work_directory",
            "bin_directories", "trust", "host_key", "fingerprint", "offered_host_key", "offered_fingerprint",
            "public_key", "install_line", "wanted", "contacted_at", "contact_error", "unreachable_since", "paused_at",
            "facts_at", "facts",
        )  # fmt: skip

    def get_fingerprint(self, row: models.Host) -> str:
        return hosts_page.fingerprint(row.host_key)

    def get_offered_fingerprint(self, row: models.Host) -> str:
        return hosts_page.fingerprint(row.offered_host_key)

    def get_install_line(self, row: models.Host) -> str:
        return hosts_page.install_line(row)


class Build(Shown):
    class Meta:
        model = models.PgBuild
        fields = ("id", "url", "version", "version_num", "configure_options", "binary_digest")


class Instance(Shown):
    class Meta:
        model = models.Instance
        fields = (
            "id", "url", "name", "host", "build", "configuration", "address", "port", "database", "username",
            "data_directory", "bin_directory", "retired_at",
        )  # fmt: skip


class Hardware(Shown):
    class Meta:
        model = models.Hardware
        fields = (
            *REVISED, "processor", "sockets", "cores_per_socket", "threads_per_core", "disabled_cores_per_socket",
            "clock_ghz", "memory_bytes", "disks", "vm_vcpus", "vm_memory_bytes", "vm_smt", "remark",
        )  # fmt: skip


class Configuration(Shown):
    class Meta:
        model = models.Configuration
        fields = (*REVISED, "settings", "os_settings", "volatile_storage", "remark")


class Workload(Shown):
    scripts_digest = serializers.CharField(
        read_only=True,
        help_text="SHA-256 of the custom scripts with their weights, variables and init script; empty without scripts.",
    )

    class Meta:
        model = models.Workload
        fields = (*REVISED, "tool", "parameters", "scripts_digest", "remark")


class LicenceModel(Shown):
    words = serializers.CharField(read_only=True, help_text="The rules in plain sentences.")
    price_of = serializers.CharField(read_only=True, help_text="What an amount in the price list buys.")

    class Meta:
        model = models.LicenceModel
        fields = (*REVISED, "metric", "rules", "words", "price_of", "product", "remark")


class Money(serializers.DecimalField):
    """Cents, and further decimals only where they say something."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=20, decimal_places=8, read_only=True, **options)

    def to_representation(self, value: Decimal) -> str:
        return f"{trimmed(value):f}"


class Price(Shown):
    amount = Money()

    class Meta:
        model = models.ListPrice
        fields = (
            "id", "url", "hardware", "licence_model", "description", "part_number", "amount", "currency", "priced_on",
            "source", "remark", "created_at",
        )  # fmt: skip


class Rate(Shown):
    class Meta:
        model = models.ExchangeRate
        fields = ("id", "url", "base", "quoted", "value", "priced_on", "source", "created_at")


class Line(serializers.ModelSerializer):
    unit_price = Money()
    contracted_price = Money(allow_null=True)

    class Meta:
        model = models.PriceSheetLine
        exclude = ("id", "of_sheet")


class Discount(serializers.ModelSerializer):
    class Meta:
        model = models.PriceSheetDiscount
        exclude = ("id", "of_sheet")


class Sheet(Shown):
    lines = Line(many=True, read_only=True)
    discounts = Discount(many=True, read_only=True)
    total = serializers.SerializerMethodField(help_text="What it comes to over its term; null where it has a fault.")

    class Meta:
        model = models.PriceSheet
        fields = (
            *REVISED, "hardware", "currency", "priced_on", "source", "term_months", "places", "rounded_per", "rounding",
            "total_places", "is_large_quantity", "remark", "created_at", "total", "lines", "discounts",
        )  # fmt: skip

    def get_total(self, row: models.PriceSheet) -> str | None:
        try:
            return f"{row.priced().total:f}"
        except PricingError:
            return None
