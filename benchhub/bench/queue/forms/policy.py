"""Fields for what an experiment does when runs fail, and for which goes first: in its plan, and later."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction

from benchhub.bench.models import Experiment
from benchhub.catalog.shared.forms import CatalogForm

from .. import exclusive
from .times import exclusive_field

POLICY = ("priority", "data_set_policy", "failure_policy", "failure_limit", "attempts_if_lost")


class PolicyFields(forms.Form):
    priority = forms.IntegerField(
        min_value=-100, max_value=100, help_text="Higher goes first. Of the same priority, the older goes first."
    )
    data_set_policy = forms.ChoiceField(
        choices=Experiment.DataSetPolicy.choices,
        required=False,
        label="If another experiment has begun there",
        help_text="To come between, it loads its own data first; those of the other are loaded anew afterwards.",
    )
    failure_policy = forms.ChoiceField(
        choices=Experiment.FailurePolicy.choices,
        label="When runs fail",
        help_text="A failed run never gives a point, whatever is chosen. Runs under way end by themselves.",
    )
    failure_limit = forms.IntegerField(
        min_value=1, max_value=10_000, label="After so many failures", help_text="Lost runs count as well."
    )
    attempts_if_lost = forms.IntegerField(
        min_value=1,
        max_value=20,
        label="Attempts of a lost run",
        help_text="A run is lost when its host restarted or its job was killed. 1: again by hand only. All are kept.",
    )

    def clean_data_set_policy(self) -> str:
        return self.cleaned_data["data_set_policy"] or Experiment.DataSetPolicy.WAIT


class PolicyForm(PolicyFields, CatalogForm):
    """Change an experiment at any time: how it goes on, and nothing of what is measured."""

    is_exclusive = exclusive_field()

    class Meta:
        model = Experiment
        fields = (*POLICY, "is_exclusive")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        is_new = values.get("is_exclusive") and "is_exclusive" in self.changed_data
        if is_new and (sentence := exclusive.refusal_of(self.instance)):
            self.add_error("is_exclusive", sentence)
        return values

    @transaction.atomic
    def write(self) -> Experiment:
        """Write only what the form asks for: a tick may be pausing the experiment at this moment.

        Raises OverlapError where it is to keep others out, and another has the same hosts to itself.
        """
        experiment: Experiment = self.instance
        experiment.save(update_fields=self.Meta.fields)
        if experiment.is_exclusive and "is_exclusive" in self.changed_data:
            exclusive.claim(experiment)
        return experiment
