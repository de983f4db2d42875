"""What an act has changed, in words for the audit log: views know it, and the log is written behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms

LONGEST_VALUE, LONGEST_TEXT = 80, 2000


def explain(request: Any, sentence: str) -> None:
    """Leave a sentence with a request, for the line that the audit log gets of it. Never put a secret into it."""
    plain = getattr(request, "_request", request)  # of the API's
    plain.act_detail = "; ".join(filter(None, [detail(request), sentence]))[:LONGEST_TEXT]


def detail(request: Any) -> str:
    return str(getattr(getattr(request, "_request", request), "act_detail", ""))


def explain_form(request: Any, form: forms.BaseForm) -> None:
    """Leave what a form that was saved has changed."""
    explain(request, "; ".join(_changes(form)))


def _changes(form: forms.BaseForm) -> Iterator[str]:
    for name in form.changed_data:
        field, label = form.fields[name], name.replace("_", " ")
        if field.widget.attrs.get("autocomplete") == "current-password":
            continue  # it says who is there, and changes nothing
        if isinstance(field.widget, forms.PasswordInput):
            yield f"{label} set"
            continue
        before, after = _text(field, form.get_initial_for_field(field, name)), _text(field, form.cleaned_data.get(name))
        yield f"{label}: {before} -> {after}" if before else f"{label}: {after}"


def _text(field: forms.Field, value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(field, forms.ModelChoiceField):
        value = field.queryset.filter(pk=value).first() if isinstance(value, int) and field.queryset else value
    elif isinstance(field, forms.ChoiceField) and not isinstance(field, forms.MultipleChoiceField):
        value = _label(field, str(getattr(value, "value", value)))
    is_listed = hasattr(value, "__iter__") and not isinstance(value, str)
    return (", ".join(map(str, value)) if is_listed else str(value))[:LONGEST_VALUE]


def _label(field: forms.ChoiceField, value: str) -> str:
    choices: Any = field.choices
    return next((str(label) for key, label in choices if str(key) == value), value)
