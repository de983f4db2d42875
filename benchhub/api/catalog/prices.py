"""List prices and exchange rates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.pricing.money import trimmed
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import AddView, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.hardware.prices.forms import PriceForm, RateForm
from benchhub.catalog.hardware.prices.taking_back import ALREADY, TakeBackForm
from benchhub.ui.acts import explain

TAKE_BACK = serializer_of(TakeBackForm, "PriceTakeBack")


class Money(serializers.DecimalField):
    """Cents, and further decimals only where they say something."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=20, decimal_places=8, read_only=True, **options)

    def to_representation(self, value: Decimal) -> str:
        return f"{trimmed(value):f}"


class Price(RowSerializer):
    amount = Money()
    price_import = serializers.IntegerField(
        source="price_import_id", read_only=True, allow_null=True, help_text="The import that it came with."
    )
    taken_back_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it was taken back; no price is computed from it any more."
    )
    taken_back_by = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = models.ListPrice
        fields = (
            "id", "url", "hardware", "licence_model", "description", "part_number", "amount", "currency", "priced_on",
            "source", "remark", "created_at", "price_import", "taken_back_at", "taken_back_by",
        )  # fmt: skip


class Rate(RowSerializer):
    class Meta:
        model = models.ExchangeRate
        fields = ("id", "url", "base", "quoted", "value", "priced_on", "source", "created_at")


class Prices(AddView):
    """List prices are added and never changed; a wrong one is taken back."""

    queryset = models.ListPrice.objects.select_related("taken_back_by").order_by("pk")
    serializer_class = Price
    form_class = PriceForm
    takes = serializer_of(PriceForm, "PriceRequest")
    filterset_fields: ClassVar[Any] = {
        "hardware": ["exact"], "licence_model": ["exact"], "currency": ["exact"], "priced_on": ["exact", "gte", "lte"],
        "price_import": ["exact"], "taken_back_at": ["isnull"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "priced_on", "amount")
    search_fields = ("description", "source", "part_number")

    @extend_schema(request=TAKE_BACK)
    @action(detail=True, methods=["post"], url_path="take-back")
    def take_back(self, request: Request, pk: str) -> Response:
        """Take it back, or with scope import all prices of its import, for good: they stay, and price nothing more."""
        price = self.get_object()
        sent = json_forms.checked(TAKE_BACK, request.data)
        form = TakeBackForm(
            {**json_forms.form_values(TakeBackForm(price=price)), **json_forms.texts(sent)}, price=price
        )
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        if not (number := form.take_back(request.user)):
            raise problems.Problem(409, ALREADY)
        explain(request, form.text(number))
        return Response(self.get_serializer(self.get_object()).data)


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
