"""Runs set aside by a person: they stay, with the reason, and leave every figure, mean and price until put back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction
from django.db.models.functions import Now

from benchhub.bench.models import Event, Run

ASIDE = "set aside"  # as the history of a run calls it; its state stays as it is


class AsideForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Why it must not count: what was wrong, and how you know. It is shown wherever the run is.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


@transaction.atomic
def set_aside(run: Run, user: Any, reason: str) -> bool:
    """Let a run that is a point count no longer; False where it is none, or somebody was first."""
    points = Run.objects.filter(pk__in=Run.objects.counted().filter(pk=run.pk))
    if not points.update(set_aside_at=Now(), set_aside_by=user, set_aside_reason=reason):
        return False
    Event.objects.create(run=run, old_state=run.state, new_state=ASIDE, reason=f"By {user}: {reason}")
    return True


@transaction.atomic
def put_back(run: Run, user: Any) -> bool:
    """Let it count again; what was done stays in its history. False where it was not set aside."""
    aside = Run.objects.filter(pk=run.pk, set_aside_at__isnull=False)
    if not aside.update(set_aside_at=None, set_aside_by=None, set_aside_reason=""):
        return False
    Event.objects.create(run=run, old_state=ASIDE, new_state=run.state, reason=f"Put back by {user}.")
    return True
