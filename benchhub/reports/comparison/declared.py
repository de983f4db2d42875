"""Decide which curves may be compared, and keep a person's word that different protocols are comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models.functions import Now

from benchhub.accounts.rights import Role, is_at_least
from benchhub.analysis.curves import curve
from benchhub.analysis.protocol.digest import labels
from benchhub.bench.models import Comparability
from benchhub.reports.curves import curves

from .answers.systems import Side, protocol_text
from .entries import Entry

FEWEST_CHARACTERS = 20
Groups = Sequence[Sequence[Entry]]


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


def groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the curves that may be compared, by protocol and unit, the largest group first."""
    by_protocol: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        by_protocol.setdefault((entry.curve.protocol_digest, entry.curve.unit), []).append(entry)
    return sorted(by_protocol.values(), key=len, reverse=True)


def refusal(groups: Groups, forms: Mapping[str, Mapping[str, Any]]) -> str:
    """Say why these groups are not compared; empty if they may be. `forms` are their protocols by digest."""
    try:
        curve.require_comparable([group[0].curve for group in groups], forms)
    except curve.UnlikeRunsError as error:
        return str(error)
    return ""


def withdraw(row: Comparability, user: Any) -> bool:
    """Withdraw a declaration; false where it was withdrawn already.

    Raises PermissionDenied unless it is the user's own, or the user is an administrator.
    """
    if row.declared_by_id != user.pk and not is_at_least(user, Role.ADMINISTRATOR):
        raise PermissionDenied(f"{row.declared_by} declared this: only they or an administrator withdraw it.")
    standing = Comparability.objects.standing().filter(pk=row.pk)
    return standing.update(withdrawn_at=Now(), withdrawn_by=user.pk) > 0


def differing(groups: Groups, forms: Mapping[str, Mapping[str, Any]]) -> list[Side]:
    """Return the fields of protocol and unit in which groups differ, with the value in each group."""
    protocols = [forms.get(group[0].curve.protocol_digest, {}) for group in groups]
    names = curves.differences(protocols)
    values = [tuple(protocol_text(name, form.get(name)) for form in protocols) for name in names]
    sides = [Side(label, value) for label, value in zip(labels(names), values, strict=True)]
    units = Side("unit", tuple(group[0].curve.unit for group in groups))
    return [*sides, units] if units.differs else sides


def may_be_declared(groups: Groups) -> bool:
    """Tell whether a declaration may be made: unlike units stay unlike, whatever anybody declares."""
    return len({group[0].curve.unit for group in groups}) == 1


def declarations(groups: Groups) -> list[Comparability]:
    """Return the declarations that let these groups be compared: one for each pair, or none at all."""
    digests = {group[0].curve.protocol_digest for group in groups}
    if len(digests) < 2 or not may_be_declared(groups):
        return []
    rows = list(Comparability.objects.among(digests))
    needed = set(combinations(sorted(digests), 2))
    return rows if needed == {(row.first_id, row.second_id) for row in rows} else []


def as_one(entries: Sequence[Entry]) -> list[Entry]:
    """Return the curves as if run under one protocol, as a declaration says."""
    digest = entries[0].curve.protocol_digest
    return [replace(entry, curve=replace(entry.curve, protocol_digest=digest)) for entry in entries]


def declare(groups: Groups, reason: str, user: Any) -> None:
    """Keep a person's word that these groups may be compared; pairs that are declared already stay as they are."""
    digests = sorted({group[0].curve.protocol_digest for group in groups})
    standing = {(row.first_id, row.second_id) for row in Comparability.objects.among(digests)}
    Comparability.objects.bulk_create(
        [
            Comparability(first_id=first, second_id=second, reason=reason, declared_by=user)
            for first, second in combinations(digests, 2)
            if (first, second) not in standing
        ],
        ignore_conflicts=True,
    )
