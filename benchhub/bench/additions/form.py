"""The form of the rule by which a plan recurs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils import timezone

from benchhub.analysis.planning.recurring import Rule, next_time
from benchhub.bench.models import WEEKDAYS, Experiment, Recurrence
from benchhub.bench.queue import exclusive
from benchhub.bench.queue.forms.times import zone_field

from . import recurring

INTRO = (
    "Each time it is queued as an experiment of its own, in your name, with the priority and the times that it has. A "
    "time at which the one before has not ended is skipped, and said."
)


class RecurrenceForm(forms.Form):
    weekdays = forms.TypedMultipleChoiceField(
        choices=list(enumerate(WEEKDAYS)),
        coerce=int,
        label="On",
        initial=list(range(7)),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one day."},
    )
    starts_at = forms.TimeField(
        label="At", initial="22:00", widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    until = forms.DateField(
        required=False, label="Last day (optional)", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, experiment: Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.fields["zone"] = zone_field(self)
        self.experiment = experiment

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if self.experiment.reservations.filter(window=None).exists():
            raise forms.ValidationError(
                "It is confined to periods that were given once and pass: give it weekly windows instead, or none."
            )
        if self.experiment.is_exclusive and (sentence := exclusive.refusal_of(self.experiment)):
            raise forms.ValidationError(sentence)
        if {"weekdays", "starts_at", "zone"} <= values.keys():
            rule = Rule(values["weekdays"], values["starts_at"], values["zone"], values.get("until"))
            if next_time(rule, timezone.now()) is None:
                self.add_error("until", "No such time is left until then: write a later day, or none.")
        return values

    def saved(self, user: Any) -> Recurrence | None:
        """Return the saved rule; None where another got the hosts since the form was checked, which is an error now."""
        names = ("weekdays", "starts_at", "until", "zone")
        try:
            return recurring.save_rule(self.experiment, user, **{name: self.cleaned_data[name] for name in names})
        except exclusive.OverlapError as error:
            self.add_error(None, str(error))
        return None
