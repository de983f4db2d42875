"""Write the fields of forms: the HTML of Django's own templates, joined in Python.

A template for each option, and one for its attributes, took most of the time of a page that has many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeData, SafeString, mark_safe

Widget = Mapping[str, Any]


class Renderer(DjangoTemplates):
    """Renders by a function of this module where there is one for the template, otherwise by the template."""

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> SafeString:
        if write := WRITERS.get(template_name):
            return mark_safe(write(context["widget"]))  # nosec B308
        return mark_safe(super().render(template_name, context, request))  # nosec B308


def _select(widget: Widget) -> str:
    groups = "".join(_options(name, options) for name, options, _ in widget["optgroups"])
    return f'<select name="{_label(widget["name"])}"{_attributes(widget)}>{groups}\n</select>'


def _options(group: str | None, options: list[dict[str, Any]]) -> str:
    html = "".join(
        f'\n  <option value="{_value(option["value"])}"{_attributes(option)}>{_label(option["label"])}</option>\n'
        for option in options
    )
    return f'\n  <optgroup label="{_label(group)}">{html}\n  </optgroup>' if group else html


def _boxes(widget: Widget) -> str:
    groups = "".join(_group_of_boxes(name, options) for name, options, _ in widget["optgroups"])
    attributes = "".join(
        f' {name}="{_label(widget["attrs"][name])}"' for name in ("id", "class") if widget["attrs"].get(name)
    )
    return f"<div{attributes}>{groups}\n</div>"


def _group_of_boxes(group: str | None, options: list[dict[str, Any]]) -> str:
    html = "".join(f"<div>\n    {_box(option)}</div>" for option in options)
    return f"\n  <div><label>{_label(group)}</label>{html}\n  </div>" if group else html


def _box(option: Widget) -> str:
    if not option["wrap_label"]:
        return f"{_input(option)}\n\n"
    target = f' for="{_label(option["attrs"]["id"])}"' if option["attrs"].get("id") else ""
    return f"<label{target}>{_input(option)}\n {_label(option['label'])}</label>\n\n"


def _input(widget: Widget) -> str:
    value = "" if widget["value"] is None else f' value="{_value(widget["value"])}"'
    return f'<input type="{widget["type"]}" name="{_label(widget["name"])}"{value}{_attributes(widget)}>'


def _attributes(widget: Widget) -> str:
    return "".join(
        f" {_label(name)}" if value is True else f' {_label(name)}="{_value(value)}"'
        for name, value in widget["attrs"].items()
        if value is not False
    )


def _value(value: Any) -> str:
    """Escape it as it is written everywhere, so that it comes back as it went: a number has no separators."""
    # What is safe is a string too, which its class does not say.
    return value if isinstance(value, SafeData) else escape(value)  # type: ignore[return-value]


def _label(text: Any) -> str:
    return conditional_escape(localize(text))


_TYPES = ("checkbox", "color", "date", "datetime", "email", "file", "hidden", "number", "password", "search", "tel")
_FOLDER = "django/forms/widgets"
WRITERS: dict[str, Callable[[Widget], str]] = {
    f"{_FOLDER}/select.html": _select,
    f"{_FOLDER}/checkbox_select.html": _boxes,
    f"{_FOLDER}/radio.html": _boxes,
    **{f"{_FOLDER}/{kind}.html": _input for kind in (*_TYPES, "text", "time", "url")},
}
