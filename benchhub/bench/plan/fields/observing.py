"""The field by which a plan asks for telemetry; its default and its words follow from what telemetry costs."""

from __future__ import annotations

from django import forms

from runners.telemetry.cost import MEASURED

IS_USUAL = MEASURED.is_usual


def telemetry_field() -> forms.BooleanField:
    """Return the field for a form, whose other defaults have IS_USUAL for it."""
    return forms.BooleanField(
        required=False,
        label="Observe machine and server (telemetry)",
        help_text=f"Once a second beside the load: CPU, disks, waits; it says what was full. {MEASURED.text}",
    )
