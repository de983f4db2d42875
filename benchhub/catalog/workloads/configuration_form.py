from __future__ import annotations

from typing import Any

from django import forms

from benchhub.catalog.models import Configuration, Instance
from benchhub.catalog.shared.forms import RevisedForm

from .setting_lines import read_settings, write_settings

EXAMPLE = "shared_buffers = 8GB\nmax_connections = 200"
OS_EXAMPLE = "vm.swappiness = 1"


class SettingsField(forms.CharField):
    """Lines `name = value`, kept as a mapping; `json_help` is its help where it is an object."""

    def __init__(self, example: str, *, keep_case: bool = False, json_help: str, **kwargs: Any) -> None:
        self.keep_case, self.json_help = keep_case, json_help
        widget = forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "placeholder": example})
        super().__init__(required=False, widget=widget, **kwargs)

    def clean(self, value: Any) -> dict[str, str]:
        try:
            return read_settings(super().clean(value), keep_case=self.keep_case)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        return write_settings(value) if isinstance(value, dict) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class ConfigurationForm(RevisedForm):
    settings = SettingsField(
        EXAMPLE,
        label="Server settings",
        help_text="A line each, name = value, as in postgresql.conf; # begins a comment.",
        json_help="Each name with its value, as in postgresql.conf.",
    )
    os_settings = SettingsField(
        OS_EXAMPLE,
        label="Settings of the operating system",
        help_text=(
            "A line each, as in sysctl.conf, or transparent_hugepage = never, read_ahead_kb = 4096. Each run on a "
            "cluster of BenchHub's own changes them and puts them back; elsewhere they only say what is set there."
        ),
        json_help="Each name with its value, as in sysctl.conf. Runs on clusters of BenchHub's own apply them.",
    )
    rare_names = ()
    followers = ((Instance, "configuration"),)

    class Meta:
        model = Configuration
        fields = ("name", "settings", "os_settings", "volatile_storage", "remark")
        labels = {"volatile_storage": "The data directory lies on a RAM disk"}
        help_texts = {"volatile_storage": "Its commits do not last, so its curves are not compared with durable ones."}
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}
