"""Parts that the catalogue's forms share: each form says beside the field what it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast

from django import forms
from django.core.validators import RegexValidator
from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet

from benchhub.catalog.models import Revised

NO_BLANKS = RegexValidator(r"^\S+$", "Write it without blanks.")
ABSOLUTE = RegexValidator(r"^/\S*$", "Write the whole path, from / on and without blanks.")
MEANWHILE = "Somebody saved something of the same kind at this moment: look at the list, then save again."


def port_field(initial: int, *, offers: str = "") -> forms.IntegerField:
    """Return a field for a port; the datalist of this id offers some."""
    widget = forms.NumberInput(attrs={"list": offers} if offers else {})
    return forms.IntegerField(min_value=1, max_value=65535, initial=initial, widget=widget)


def is_key(text: str) -> bool:
    """Tell whether a text of an address reads as the key of a row."""
    return text.isdecimal() and len(text) < 10


def of_kind(text: str, kind: str) -> int | None:
    """Return the number in 'kind:number', as selects with several kinds of rows send it."""
    name, _, number = text.partition(":")
    return int(number) if name == kind and is_key(number) else None


def offer(form: forms.BaseForm, name: str, choices: Sequence[Any]) -> None:
    """Set the choices of a field: (value, label), or groups (label, choices)."""
    cast(forms.ChoiceField, form.fields[name]).choices = choices


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    """Set the rows from which a field lets choose."""
    cast("forms.ModelChoiceField[Any]", form.fields[name]).queryset = rows


class CatalogForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A ModelForm whose optional fields say so, and that says what a constraint of the database refuses."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for name, field in self.fields.items():
            if not field.required and not isinstance(field.widget, forms.CheckboxInput | forms.HiddenInput):
                label = field.label or name.replace("_", " ").capitalize()
                field.label = f"{label} (optional)"
            field.widget.attrs.setdefault("autocomplete", "off")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name, value in list(cleaned.items()):
            is_one_line = isinstance(value, str) and not isinstance(self.fields[name].widget, forms.Textarea)
            if is_one_line and not value.isprintable():
                self.add_error(name, "Write it on one line, without control characters.")
        return cleaned

    def saved(self) -> Any:
        """Return the saved row; None, with a sentence on the form, when the database refuses it."""
        try:
            with transaction.atomic():
                return self.write()
        except IntegrityError:
            self.add_error(None, MEANWHILE)
            return None

    def write(self) -> Any:
        """Write the row and return it. A form that writes not all of its row, or more than it, does so here."""
        return self.save()


class RevisedForm(CatalogForm):
    """A new named thing, or the next revision of `instance`: its name stays, and what uses it uses the new one."""

    # (model, field) of what follows to a new revision.
    followers: ClassVar[Iterable[tuple[type[Model], str]]] = ()
    derived: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            del self.fields["name"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        namesakes = self._meta.model._default_manager.filter(name=name)
        if namesakes.filter(retired_at=None).exists():
            raise forms.ValidationError(f"There is already one named {name}: choose another name, or revise that one.")
        if namesakes.exists():
            raise forms.ValidationError(f"One named {name} is retired: choose another name, or show that one again.")
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.pk and self.instance.retired_at:
            self.add_error(None, "It is retired, or has a newer revision by now: look for it in the list.")
        return cleaned

    def changes(self) -> dict[str, Any]:
        names = (*(name for name in self.fields if name in (self._meta.fields or ())), *self.derived)
        return {name: getattr(self.instance, name) for name in names}

    def save(self, commit: bool = True) -> Any:
        if not self.instance.pk:
            return super().save(commit)
        before: Revised = self._meta.model._default_manager.get(pk=self.instance.pk)
        after = before.revise(**self.changes())
        for model, field in self.followers:
            model._default_manager.filter(**{field: before}).update(**{field: after})
        return after
