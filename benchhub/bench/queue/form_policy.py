"""Fields for what an experiment does when runs fail, and for which goes first: in its plan, and later."""

from __future__ import annotations

from django import forms

from benchhub.bench.models import Experiment
from benchhub.catalog.shared.forms import CatalogForm

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

    class Meta:
        model = Experiment
        fields = POLICY

    def write(self) -> Experiment:
        """Write only what the form asks for: a tick may be pausing the experiment at this moment."""
        experiment: Experiment = self.instance
        experiment.save(update_fields=POLICY)
        return experiment
