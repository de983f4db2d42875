"""Between JSON and the forms of the pages: the API takes what a form takes, checked by the same form."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, cast

from django import forms
from rest_framework import serializers

from benchhub.catalog.workloads.configuration_form import SettingsField
from benchhub.catalog.workloads.setting_lines import write_settings

from . import problems

MOST_NAMES, LONGEST_NAME = 20, 80
MOST_ADJUSTED = 18  # the exponent of the first digit: what a Decimal of Python's usual 28 digits can round


class Strict(serializers.Serializer):
    """Refuses fields that it does not know: a misspelt one would otherwise do nothing, in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := [name for name in data if name not in self.fields]):
            names = ", ".join(self.fields)
            errors = {
                str(name)[:LONGEST_NAME]: [f"There is no such field: use {names}."] for name in unknown[:MOST_NAMES]
            }
            raise serializers.ValidationError(errors)
        return super().to_internal_value(data)


def serializer_of(form: Any, name: str, *, usual: Container[str] = (), **more: Any) -> Any:
    """Make a serializer of the fields that a form declares; `more` adds those that it gets when it is made.

    What has a value to begin with, in the form or among the `usual` ones, can be left out.
    """
    fields = {field_name: json_field(field, field_name in usual) for field_name, field in form.base_fields.items()}
    return type(name, (Strict,), {**fields, **more, "__module__": __name__})


def help_of(field: forms.Field) -> str:
    return field.json_help if isinstance(field, SettingsField) else str(field.help_text)


def json_field(field: forms.Field, is_usual: bool = False) -> serializers.Field:
    is_required = field.required and field.initial is None and not is_usual
    options: dict[str, Any] = {"required": is_required, "help_text": help_of(field) or None}
    if isinstance(field, SettingsField):
        return serializers.DictField(child=serializers.CharField(allow_blank=True), **options)
    if isinstance(field, forms.ModelMultipleChoiceField):
        return serializers.ListField(child=serializers.IntegerField(min_value=1), **options)
    if isinstance(field, forms.MultipleChoiceField):
        return serializers.ListField(child=serializers.ChoiceField(choices=_choices(field)), **options)
    if isinstance(field, forms.BooleanField):
        return serializers.BooleanField(**{**options, "required": False})
    options["allow_null"] = not field.required
    if isinstance(field, forms.ModelChoiceField):
        return serializers.IntegerField(min_value=1, max_value=2**63 - 1, **options)
    return _plain(field, options)


class Number(serializers.DecimalField):
    """A decimal number of at most 10^19: written out, one of a few characters may have millions of digits."""

    def validate_precision(self, value: Decimal) -> Decimal:
        if abs(value.adjusted()) > MOST_ADJUSTED:
            self.fail("invalid")
        amount: Decimal = super().validate_precision(value)
        return amount


def _plain(field: forms.Field, options: dict[str, Any]) -> serializers.Field:
    if isinstance(field, forms.DecimalField):
        return Number(max_digits=field.max_digits, decimal_places=field.decimal_places, **options)
    if isinstance(field, forms.IntegerField):
        words = {
            code: field.error_messages[code] for code in ("min_value", "max_value") if code in field.error_messages
        }
        return serializers.IntegerField(
            min_value=field.min_value, max_value=field.max_value, error_messages=words, **options
        )
    if isinstance(field, forms.DateField):
        return serializers.DateField(**options)
    if isinstance(field, forms.TimeField):
        return serializers.TimeField(format="%H:%M", **options)
    if isinstance(field, forms.ChoiceField) and (choices := _choices(field)):
        return serializers.ChoiceField(choices=choices, allow_blank=not field.required, **options)
    limit = getattr(field, "max_length", None)
    return serializers.CharField(max_length=limit, allow_blank=not field.required, trim_whitespace=False, **options)


def _choices(field: Any) -> list[Any]:
    return [] if callable(field.choices) else [(value, str(label)) for value, label in field.choices if value != ""]


def checked(serializer: type[serializers.Serializer], data: Any, *, partial: bool = False) -> dict[str, Any]:
    """Return what was sent, of the right types. Raises ValidationError."""
    reader = serializer(data=data, partial=partial)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as a browser would send them."""
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return write_settings(dict(value))
    if isinstance(value, list | tuple):
        return [_text(part) for part in value]
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)


def form_values(form: forms.BaseForm) -> dict[str, Any]:
    """Return what an unbound form shows: the values that a change leaves as they are."""
    values = {name: form[name].value() for name in form.fields}
    return {name: _form_value(form.fields[name], value) for name, value in values.items()}


def _form_value(field: forms.Field, value: Any) -> Any:
    if isinstance(field, forms.ModelMultipleChoiceField):
        return [str(getattr(part, "pk", part)) for part in value or ()]
    if isinstance(field, forms.MultipleChoiceField):
        return [str(part) for part in value or ()]
    choices = cast("Iterable[Any]", field.choices) if isinstance(field, forms.ChoiceField) else ()
    if value is None and (first := next(iter(choices), None)):
        return str(first[0])  # a browser sends the first
    return value if isinstance(value, str | bool) else _text(value)


def save_form(form: Any) -> Any:
    """Save a form and return its row. Raises a problem with what the form refuses."""
    if not form.is_valid() or (row := form.saved()) is None:
        raise problems.invalid(problems.of_form(form))
    return row
