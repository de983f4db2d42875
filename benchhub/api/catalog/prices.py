"""List prices and exchange rates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from rest_framework import serializers

from benchhub.analysis.pricing.money import trimmed
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import AddView, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.hardware.forms import PriceForm, RateForm


class Money(serializers.DecimalField):
    """Cents, and further decimals only where they say something."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=20, decimal_places=8, read_only=True, **options)

    def to_representation(self, value: Decimal) -> str:
        return f"{trimmed(value):f}"


class Price(RowSerializer):
    amount = Money()

    class Meta:
        model = models.ListPrice
        fields = (
            "id", "url", "hardware", "licence_model", "description", "part_number", "amount", "currency", "priced_on",
            "source", "remark", "created_at",
        )  # fmt: skip


class Rate(RowSerializer):
    class Meta:
        model = models.ExchangeRate
        fields = ("id", "url", "base", "quoted", "value", "priced_on", "source", "created_at")


class Prices(AddView):
    """List prices are added and never changed."""

    queryset = models.ListPrice.objects.order_by("pk")
    serializer_class = Price
    form_class = PriceForm
    takes = serializer_of(PriceForm, "PriceRequest")
    filterset_fields: ClassVar[Any] = {
        "hardware": ["exact"], "licence_model": ["exact"], "currency": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "priced_on", "amount")
    search_fields = ("description", "source", "part_number")


class Rates(AddView):
    """Exchange rates are added and never changed."""

    queryset = models.ExchangeRate.objects.order_by("pk")
    serializer_class = Rate
    form_class = RateForm
    takes = serializer_of(RateForm, "RateRequest")
    filterset_fields: ClassVar[Any] = {
        "base": ["exact"], "quoted": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "priced_on")
