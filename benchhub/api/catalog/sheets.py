"""Price sheets."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.pricing.money import PricingError
from benchhub.api.core import json_forms, json_rows, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import FILE, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.sheets.csv import download
from benchhub.catalog.sheets.forms import SheetDraft, SheetForm
from benchhub.catalog.sheets.texts import DISCOUNT, LINE, NEW, SHEET_NAMES, SheetTexts, texts_of
from benchhub.ui import row_cells

from .licences import Values
from .prices import Money
from .rows import BY_REVISION, REVISED, ReviseView


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


class Sheet(RowSerializer):
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


PRICED = serializer_of(
    SheetForm,
    "PriceSheetRequest",
    usual=NEW,
    lines=json_rows.serializer_of(LINE, "PriceSheetLineRequest")(many=True),
    discounts=json_rows.serializer_of(DISCOUNT, "PriceSheetDiscountRequest")(many=True, required=False),
)


AMOUNTS = ("total", "price", "maintenance", "listed", "discounts")


class SheetPreview(drf.Serializer):
    total = drf.CharField()
    price = drf.CharField()
    maintenance = drf.CharField()
    listed = drf.CharField(help_text="Before contracts and discounts.")
    discounts = drf.CharField()
    flags = drf.ListField(child=drf.CharField())
    steps = drf.ListField(child=drf.CharField(), help_text="How it came about.")


class Sheets(ReviseView):
    queryset = models.PriceSheet.objects.with_rows().order_by("pk")
    serializer_class = Sheet
    filterset_fields: ClassVar[Any] = {
        **BY_REVISION, "hardware": ["exact"], "currency": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    takes = PRICED

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        return self.created_answer(self.save({**NEW, **sent}))

    @extend_schema(request=PRICED(partial=True), responses=SheetPreview)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """Show what a sheet comes to; nothing is saved."""
        sent = json_forms.checked(self.takes, request.data, partial=True)
        draft = SheetDraft(_texts({**NEW, "lines": [], **sent}))
        if (total := draft.total) is None:
            raise problems.invalid(_problems(draft))
        amounts = {name: f"{getattr(total, name):f}" for name in AMOUNTS}
        return Response({**amounts, "flags": list(total.flags), "steps": [str(step) for step in total.steps]})

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    @action(detail=True, **FILE)
    def csv(self, request: Request, pk: str) -> HttpResponse:  # named by the address
        """Return it as CSV with the name of its hardware, as the page reads it in again (docs/price-sheets.md)."""
        return download(self.get_object())

    def changed_values(self, row: models.PriceSheet, request: Request) -> Values:
        """Return the sheet's values; lines and discounts that are sent take the place of all there are."""
        texts = texts_of(row)
        sent = json_forms.checked(self.takes, request.data, partial=True)
        return {**texts.sheet, "lines": texts.lines, "discounts": texts.discounts, **sent}

    def save(self, values: Values, instance: Any = None) -> Any:
        draft = SheetDraft(_texts(values), instance, is_final=True)
        saved = draft.save()
        if saved is None:
            raise problems.invalid(_problems(draft))
        return saved


def _texts(values: Values) -> SheetTexts:
    sheet = {name: row_cells.written(values.get(name)) for name in SHEET_NAMES}
    sheet["is_large_quantity"] = sheet["is_large_quantity"] or "no"
    return SheetTexts(sheet, list(json_rows.texts(values["lines"])), list(json_rows.texts(values.get("discounts", ()))))


def _problems(draft: SheetDraft) -> list[dict[str, str]]:
    tables = [problem for table in (draft.lines, draft.discounts) for problem in json_rows.problems_of(table)]
    general = [{"pointer": "", "detail": draft.error}] if draft.error else []
    return [*problems.of_form(draft.form), *tables, *general]
