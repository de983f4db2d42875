"""Tags of an experiment: words by which its curves are found again."""

from __future__ import annotations

from django import forms
from django.db import transaction

from benchhub.bench.models import Experiment
from benchhub.reports.models import Tag

LONGEST, MOST = 40, 12


class TagsForm(forms.Form):
    tags = forms.CharField(
        required=False,
        label_suffix="",
        help_text="Several by commas: before the upgrade, NVMe. Curves can be found by them.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_tags(self) -> list[str]:
        words = [" ".join(word.split()) for word in self.cleaned_data["tags"].split(",")]
        tags = list(dict.fromkeys(word for word in words if word))
        if too_long := [word for word in tags if len(word) > LONGEST]:
            raise forms.ValidationError(f"'{too_long[0]}' is longer than {LONGEST} characters.")
        if len(tags) > MOST:
            raise forms.ValidationError(f"An experiment has at most {MOST} tags; these are {len(tags)}.")
        return tags


@transaction.atomic
def replace(experiment: Experiment, names: list[str]) -> None:
    """Replace the tags of an experiment by these names."""
    Tag.objects.filter(experiment=experiment).exclude(name__in=names).delete()
    Tag.objects.bulk_create([Tag(experiment=experiment, name=name) for name in names], ignore_conflicts=True)
