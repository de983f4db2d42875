"""Licence models and price sheets, which have tables in their forms."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.catalog import forms_licences, forms_sheets, models, row_cells, sheet_texts
from benchhub.catalog.licence_fields import LABELS
from benchhub.catalog.row_set import RowSet
from benchhub.catalog.sheet_texts import DISCOUNT, LINE, SHEET_NAMES, SheetTexts

from . import json_forms, json_rows, problems, serializers
from .catalogue import BY_REVISION, Revised
from .json_forms import serializer_of

Values = dict[str, Any]


def _rule(name: str) -> drf.Field:
    label, help_text = LABELS[name]
    words = ". ".join(filter(None, (label, help_text)))
    return drf.CharField(required=False, allow_blank=True, max_length=200, help_text=words)


LICENCE_TABLES = {
    name: json_rows.serializer_of(fields, f"Licence{name.capitalize()}")(many=True, required=False)
    for name, fields in forms_licences.TABLES.items()
}


class LicenceModels(Revised):
    queryset = models.LicenceModel.objects.order_by("pk")
    serializer_class = serializers.LicenceModel
    filterset_fields: ClassVar[Any] = {**BY_REVISION, "metric": ["exact"]}
    takes = serializer_of(
        forms_licences.LicenceModelForm,
        "LicenceModelRequest",
        **{name: _rule(name) for name in LABELS},
        **LICENCE_TABLES,
    )

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        return self.added(self.save({**self._shown(None), **sent}))

    def changed_values(self, row: models.LicenceModel, request: Request) -> Values:
        return {**self._shown(row), **json_forms.checked(self.takes, request.data, partial=True)}

    @staticmethod
    def _shown(of: models.LicenceModel | None) -> Values:
        draft = forms_licences.LicenceDraft(None, of)
        rows = {name: [dict(row.texts) for row in table.rows] for name, table in draft.tables.items()}
        return {**json_forms.present(draft.form), **rows}

    def save(self, values: Values, instance: Any = None) -> Any:
        tables = {name: RowSet(name, name, fields, json_rows.texts(values.get(name, ())))
                  for name, fields in forms_licences.TABLES.items()}  # fmt: skip
        data = json_forms.texts({name: value for name, value in values.items() if name not in tables})
        form = forms_licences.LicenceModelForm(data, instance=instance, tables=tables)
        wrong = [one for table in tables.values() for one in json_rows.problems_of(table)]
        if not form.is_valid() or wrong:
            raise problems.invalid([*problems.of_form(form), *wrong])
        return json_forms.saved(form)


class Sheets(Revised):
    queryset = models.PriceSheet.objects.whole().order_by("pk")
    serializer_class = serializers.Sheet
    filterset_fields: ClassVar[Any] = {
        **BY_REVISION, "hardware": ["exact"], "currency": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    takes = serializer_of(
        forms_sheets.SheetForm,
        "PriceSheetRequest",
        usual=sheet_texts.NEW,
        lines=json_rows.serializer_of(LINE, "PriceSheetLineRequest")(many=True),
        discounts=json_rows.serializer_of(DISCOUNT, "PriceSheetDiscountRequest")(many=True, required=False),
    )

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        return self.added(self.save({**sheet_texts.NEW, **sent}))

    def changed_values(self, row: models.PriceSheet, request: Request) -> Values:
        """Lines and discounts that are sent take the place of all there are."""
        shown = sheet_texts.of(row)
        sent = json_forms.checked(self.takes, request.data, partial=True)
        return {**shown.sheet, "lines": shown.lines, "discounts": shown.discounts, **sent}

    def save(self, values: Values, instance: Any = None) -> Any:
        draft = forms_sheets.SheetDraft(_texts(values), instance, is_final=True)
        saved = draft.save()
        if saved is None:
            raise problems.invalid(_problems(draft))
        return saved


def _texts(values: Values) -> SheetTexts:
    sheet = {name: row_cells.written(values.get(name)) for name in SHEET_NAMES}
    sheet["is_large_quantity"] = sheet["is_large_quantity"] or "no"
    return SheetTexts(sheet, list(json_rows.texts(values["lines"])), list(json_rows.texts(values.get("discounts", ()))))


def _problems(draft: forms_sheets.SheetDraft) -> list[dict[str, str]]:
    tables = [one for table in (draft.lines, draft.discounts) for one in json_rows.problems_of(table)]
    whole = [{"pointer": "", "detail": draft.error}] if draft.error else []
    return [*problems.of_form(draft.form), *tables, *whole]
