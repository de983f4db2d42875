from __future__ import annotations

from typing import Any

from django import forms

from runners import tools
from runners.tools.pgbench_parameters import BUILTIN_SCRIPTS, CUSTOM, QUERY_MODES

from .forms import RevisedForm
from .models import Configuration, Instance, Workload
from .setting_lines import read_settings, write_settings

ASKED = ("script", "query_mode", "scale")
EXAMPLE = "shared_buffers = 8GB\nmax_connections = 200"
OS_EXAMPLE = "vm.swappiness = 1"


class SettingsField(forms.CharField):
    """Lines `name = value`, kept as a mapping."""

    def __init__(self, example: str, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "placeholder": example})
        super().__init__(required=False, widget=widget, **kwargs)

    def clean(self, value: Any) -> dict[str, str]:
        try:
            return read_settings(super().clean(value))
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
    )
    os_settings = SettingsField(
        OS_EXAMPLE, label="Settings of the operating system", help_text="A line each, as in sysctl.conf."
    )
    followers = ((Instance, "configuration"),)

    class Meta:
        model = Configuration
        fields = ("name", "settings", "os_settings", "volatile_storage", "remark")
        labels = {"volatile_storage": "The data directory lies on a RAM disk"}
        help_texts = {"volatile_storage": "Its commits do not last, so its curves are not compared with durable ones."}
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}


class WorkloadForm(RevisedForm):
    tool = forms.ChoiceField(label="Load generator", choices=[("pgbench", "pgbench")])
    script = forms.ChoiceField(
        choices=[(name, name) for name in BUILTIN_SCRIPTS],
        help_text="select-only reads one account; simple-update and tpcb-like write in each transaction.",
    )
    query_mode = forms.ChoiceField(
        choices=[(name, name) for name in QUERY_MODES], help_text="How statements are sent; prepared saves planning."
    )
    scale = forms.IntegerField(
        min_value=1,
        initial=10,
        help_text="100,000 accounts each, about 15 MB: 10 is 150 MB, 1,000 is 15 GB. With scripts that write, choose "
        "it larger than the number of clients, or they wait for each other.",
    )

    class Meta:
        model = Workload
        fields = ("name", "tool", "remark")
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    field_order = ("name", "tool", "script", "query_mode", "scale", "remark")
    derived = ("parameters",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        before = self.instance.parameters
        self.initial.update((name, before[name]) for name in ASKED if name in before)
        if before.get("script") == CUSTOM:
            self.fields["script"].choices = [*self.fields["script"].choices, (CUSTOM, "custom, as before")]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """A revision keeps the parameters that the form does not ask for; scripts only while they are used."""
        cleaned = super().clean()
        asked = {name: cleaned.get(name) for name in ASKED}
        if all(asked.values()) and "tool" in cleaned:
            parameters = {**self.instance.parameters, **asked}
            if asked["script"] != CUSTOM:
                parameters.pop("scripts", None)
            try:
                tools.get(cleaned["tool"]).data_set(parameters)
            except ValueError as error:
                self.add_error("scale", str(error))
            self.instance.parameters = parameters
        return cleaned
