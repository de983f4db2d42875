"""Declaring different protocols comparable: a person's word with a written reason, shown wherever it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from benchhub.bench.models import Comparability

from .comparison import Chosen

FEWEST_CHARACTERS = 20
Groups = Sequence[Sequence[Chosen]]


class DeclarationForm(forms.Form):
    reason = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        label="Why they may be compared all the same",
        help_text="It is shown with your name wherever these protocols are compared.",
        min_length=FEWEST_CHARACTERS,
        error_messages={
            "min_length": f"Write a reason of at least {FEWEST_CHARACTERS} characters: readers rely on it."
        },
    )


def may_be_declared(groups: Groups) -> bool:
    """Unlike units stay unlike, whatever anybody declares."""
    return len({group[0].of.curve.unit for group in groups}) == 1


def declared(groups: Groups) -> list[Comparability]:
    """The declarations that let these groups be compared: one for each pair, or none at all."""
    digests = {group[0].of.curve.protocol_digest for group in groups}
    if not may_be_declared(groups) or len(digests) < 2:
        return []
    found = list(Comparability.objects.among(digests))
    needed = set(combinations(sorted(digests), 2))
    return found if needed == {(one.first_id, one.second_id) for one in found} else []


def as_one(chosen: Sequence[Chosen]) -> list[Chosen]:
    """The curves as if run under one protocol, which is what a declaration says of them."""
    digest = chosen[0].of.curve.protocol_digest
    return [replace(one, of=replace(one.of, curve=replace(one.of.curve, protocol_digest=digest))) for one in chosen]


def declare(groups: Groups, reason: str, user: Any) -> None:
    digests = sorted({group[0].of.curve.protocol_digest for group in groups})
    standing = {(one.first_id, one.second_id) for one in Comparability.objects.among(digests)}
    Comparability.objects.bulk_create(
        [
            Comparability(first_id=first, second_id=second, reason=reason, declared_by=user)
            for first, second in combinations(digests, 2)
            if (first, second) not in standing
        ],
        ignore_conflicts=True,
    )


@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """The curves that it held together are refused again; what was declared stays on record."""
    found = get_object_or_404(Comparability.objects.standing(), pk=pk)
    Comparability.objects.standing().filter(pk=found.pk).update(withdrawn_at=Now(), withdrawn_by=request.user.pk)
    messages.success(request, "The declaration is withdrawn: these protocols are not compared any more.")
    back = request.POST.get("back", "")
    is_own = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return redirect(back if is_own else reverse("compare"))
