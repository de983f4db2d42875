"""Form fields, made of those that load generators describe (runners/tools/kinds.py)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from django import forms

from runners.tools import kinds

from .configuration_form import SettingsField

LONGEST_QUOTED = 24
WEIGHT = re.compile(r"[0-9]{1,9}")


def whole_number(field: kinds.WholeNumber) -> forms.IntegerField:
    """Return a field that says with its unit what the number may be at least and at most."""
    messages = {"min_value": f"At least {field.lowest:,} {field.unit}."}
    messages |= {"max_value": f"At most {field.highest:,} {field.unit}."} if field.highest is not None else {}
    return forms.IntegerField(
        min_value=field.lowest,
        max_value=field.highest,
        initial=field.default,
        required=field.is_required,
        error_messages=messages,
        **_words(field),
    )


class WeightsField(forms.CharField):
    """Whole numbers, one for each transaction, kept as a mapping by transaction."""

    def __init__(self, weights: kinds.Weights, **options: Any) -> None:
        self.weights = weights
        super().__init__(required=False, **options)

    def clean(self, value: Any) -> dict[str, int]:
        words = super().clean(value).replace(",", " ").split()
        if not words:
            return {}
        names, highest = self.weights.transactions, self.weights.highest
        wrong = next((word for word in words if not WEIGHT.fullmatch(word) or int(word) > highest), None)
        if wrong:
            quoted = wrong if len(wrong) <= LONGEST_QUOTED else f"{wrong[:LONGEST_QUOTED]}…"
            raise forms.ValidationError(f"A weight is a whole number from 0 to {highest:,}, not {quoted}.")
        if len(words) != len(names):
            raise forms.ValidationError(
                f"Write {len(names)} whole numbers, one for each transaction; there are {len(words)}."
            )
        if not any(map(int, words)):
            raise forms.ValidationError("A mix needs at least one transaction with a weight above 0.")
        return {name: int(word) for name, word in zip(names, words, strict=True) if int(word)}

    def prepare_value(self, value: Any) -> Any:
        names = self.weights.transactions
        return " ".join(str(value.get(name, 0)) for name in names) if isinstance(value, Mapping) else value


class VariablesField(SettingsField):
    def __init__(self, variables: kinds.Variables, **options: Any) -> None:
        super().__init__(variables.example, keep_case=True, json_help=variables.json_help, **options)
        self.check = variables.check

    def clean(self, value: Any) -> dict[str, str]:
        variables = super().clean(value)
        _accept(self.check, variables)
        return variables


class LoadShapeField(forms.CharField):
    """Rates and seconds as text, kept in one form."""

    def __init__(self, shape: kinds.LoadShape, **options: Any) -> None:
        self.canonical = shape.canonical
        widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "placeholder": shape.example})
        super().__init__(required=False, widget=widget, **options)

    def clean(self, value: Any) -> str:
        try:
            return self.canonical(super().clean(value))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


def script_slots(scripts: kinds.Scripts, slots: range) -> Iterator[tuple[str, forms.Field]]:
    """Yield (name, field) of a text and a weight for each slot; the first must be filled."""
    for number in slots:
        yield f"script_{number}", _script(scripts, number)
        weight = kinds.WholeNumber(
            name=f"weight_{number}",
            label=f"Weight of script {number}",
            unit="for the weight",
            lowest=1,
            default=1,
            is_required=False,
        )
        yield weight.name, whole_number(weight)


def _script(scripts: kinds.Scripts, number: int) -> forms.CharField:
    field = forms.CharField(
        required=number == 1,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6 if number == 1 else 2, "spellcheck": "false"}),
        label=f"Script {number}" if number == 1 else f"Script {number} (optional)",
        help_text=scripts.help_text if number == 1 else "",
    )
    # Django's own validators would repeat what the check says.
    field.validators = [partial(_accept, partial(scripts.check, number))]
    return field


def _choice(field: kinds.Choice) -> forms.ChoiceField:
    first = None if field.is_required else field.choices[0][0]
    return forms.ChoiceField(choices=field.choices, required=field.is_required, initial=first, **_words(field))


def _sql(field: kinds.Sql) -> forms.CharField:
    sql = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        **_words(field),
    )
    sql.validators = [partial(_accept, field.check)]
    return sql


def _words(field: kinds.Field) -> dict[str, Any]:
    return {"help_text": field.help_text, **({"label": field.label} if field.label else {})}


def _accept(check: Callable[[Any], None], value: Any) -> None:
    try:
        check(value)
    except ValueError as error:
        raise forms.ValidationError(str(error)) from error


# Scripts are several fields of a form, whose number follows from the workload: see `script_slots`.
FORM_FIELDS: Mapping[type[kinds.Field], Callable[[Any], forms.Field]] = MappingProxyType(
    {
        kinds.Choice: _choice,
        kinds.WholeNumber: whole_number,
        kinds.Switch: lambda field: forms.BooleanField(required=False, **_words(field)),
        kinds.Weights: lambda field: WeightsField(field, **_words(field)),
        kinds.Variables: lambda field: VariablesField(field, **_words(field)),
        kinds.Sql: _sql,
        kinds.LoadShape: lambda field: LoadShapeField(field, **_words(field)),
    }
)
