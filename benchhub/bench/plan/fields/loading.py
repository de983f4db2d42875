"""The fields by which a plan says how its runs come to their data set."""

from __future__ import annotations

from django import forms

from benchhub.bench.models import Experiment


def loading_field() -> forms.TypedChoiceField:
    """Return the field for how often the data set is loaded: left empty, once."""
    return forms.TypedChoiceField(
        choices=Experiment.Loading.choices,
        required=False,
        empty_value=Experiment.Loading.ONCE,
        label="Loading of the data set",
    )


def no_copies_field() -> forms.BooleanField:
    """Return the field that keeps a data set from being restored by a copy."""
    return forms.BooleanField(
        required=False,
        label="Never restore the data set by a copy",
        help_text="Otherwise a cluster of BenchHub's own that needs the same data again gets a copy of their files, "
        "where that takes less time than loading.",
    )
