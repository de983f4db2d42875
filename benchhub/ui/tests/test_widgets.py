"""Fields of forms: written in Python, and byte for byte what Django's templates write."""

import datetime

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.safestring import mark_safe

from benchhub.ui.widgets import WRITERS, Renderer

SIZES = [(1, "one"), ("<2>", 'a "b" & <c>'), (mark_safe("&amp;3"), mark_safe("<b>3</b>")), ("", 1234567), (None, 0.5)]
GROUPS = [("none & many", SIZES[:2]), ("", "of no group"), ("second", [("9", "nine")])]
ATTRIBUTES = {
    "id": "id_size",
    "class": 'a "b"',
    "data-on": True,
    "data-off": False,
    "data-s": mark_safe("&lt;"),
    "min": 1000,
}
WIDGETS = [
    forms.Select(choices=SIZES),
    forms.Select(choices=GROUPS),
    forms.Select(choices=[]),
    forms.SelectMultiple(choices=GROUPS),
    forms.RadioSelect(choices=GROUPS),
    forms.CheckboxSelectMultiple(choices=SIZES),
    forms.CheckboxSelectMultiple(choices=[]),
    forms.CheckboxInput(),
    forms.ColorInput(),
    forms.DateInput(),
    forms.DateTimeInput(),
    forms.EmailInput(),
    forms.FileInput(),
    forms.HiddenInput(),
    forms.NumberInput(),
    forms.PasswordInput(render_value=True),
    forms.SearchInput(),
    forms.TelInput(),
    forms.TextInput(),
    forms.TimeInput(),
    forms.URLInput(),
    forms.Textarea(),
]


@pytest.mark.parametrize("value", [None, "", "1", 'x"<&', mark_safe("&amp;3"), 1234567, 0.5, datetime.date(2026, 1, 2)])
@pytest.mark.parametrize("attributes", [{}, ATTRIBUTES], ids=["bare", "attributes"])
@pytest.mark.parametrize("widget", WIDGETS, ids=lambda widget: type(widget).__name__)
def test_a_field_is_written_as_the_template_of_django_writes_it(widget, attributes, value):
    several = [value, "9"] if getattr(widget, "allow_multiple_selected", False) else value
    written = widget.render("size", several, attributes, Renderer())
    assert written == widget.render("size", several, attributes, DjangoTemplates())
    assert hasattr(written, "__html__")  # no page escapes it again


def test_each_writer_is_tried():
    assert {widget.template_name for widget in WIDGETS} >= set(WRITERS)


def test_what_a_person_typed_is_no_markup():
    html = forms.Select(choices=[('"><script>', "<script>")]).render("size", None, {}, Renderer())
    assert "<script>" not in html and "&quot;&gt;&lt;script&gt;" in html
