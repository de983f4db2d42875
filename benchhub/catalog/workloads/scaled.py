"""Configurations to start from: all steps of a preset at once, scaled to the memory of a host."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django import forms

from benchhub.analysis.protocol.digest import durability
from benchhub.analysis.tuning.presets import PRESETS, Preset
from benchhub.analysis.tuning.treatments import CUMULATIVE, Environment
from benchhub.catalog.models import Host

WHOLE = {key: preset for key, preset in PRESETS.items() if preset.kind == CUMULATIVE}


class ScaledForm(forms.Form):
    """Which preset, and on whose memory; filled, it has the `values` that the form of a configuration starts with."""

    preset = forms.ChoiceField(
        choices=[(key, preset.title) for key, preset in WHOLE.items()],
        label="Start from",
        help_text="All its steps at once, but for those by which a crash may lose what was committed.",
    )
    host = forms.ModelChoiceField(
        Host.objects.order_by("name"), empty_label="choose a host", label="Scaled to the memory of"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""

    def clean_host(self) -> Host:
        host: Host = self.cleaned_data["host"]
        if host.server_memory_bytes is None:
            raise forms.ValidationError(f"The memory of {host} is not known: probe it first.")
        return host

    def clean(self) -> dict[str, Any]:
        """Add the settings to what was chosen, or say which host has too little memory for them."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.keys() >= {"preset", "host"}:
            try:
                values["environment"] = _together(WHOLE[values["preset"]], values["host"].server_memory_bytes)
            except ValueError as error:
                self.add_error("host", str(error))
        return values

    @property
    def values(self) -> dict[str, Any]:
        """Return the values; empty where nothing was chosen, or the choice is refused."""
        if not self.is_bound or not self.is_valid():
            return {}
        preset, host = WHOLE[self.cleaned_data["preset"]], self.cleaned_data["host"]
        environment = self.cleaned_data["environment"]
        return {
            "name": f"{preset.title}, {host}"[:120],
            "settings": environment.settings,
            "os_settings": environment.os_settings,
            "remark": f"{preset.source} Scaled to the memory of {host}.",
        }


def _together(preset: Preset, memory_bytes: int) -> Environment:
    """Return what all steps set together that are as durable as PostgreSQL's defaults."""
    environments = [step.environment for step in preset.scaled(memory_bytes)]
    durable = [row for row in environments if not durability(row.settings, volatile_storage=False)]
    return reduce(or_, durable, Environment())
