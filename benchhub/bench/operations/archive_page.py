"""The page of the archive: its rule, what the rule would move, what has moved, and files that are missing there."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from django import forms
from django.db.models import Max

from benchhub import archive
from benchhub.analysis.words import count, size
from benchhub.archive import ArchiveError
from benchhub.bench.models import ArchiveRule, Evidence
from benchhub.bench.results import archive as moves
from benchhub.bench.results.archive import Extent

MOST_DAYS = 36_500
MOST_COUNTED = 50_000  # files at once, of which there may be millions
LOOKED_AT, CHECK_S = 50, 5.0  # files of the archive that a check reads at most, and for how long
LOOK, CHECK = "look", "check"


class RuleForm(forms.Form):
    """The rule in days; empty for none."""

    after_days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        label="Move files so many days after their run",
        label_suffix="",
        help_text="Left empty, nothing moves by itself. What is in the archive stays there either way.",
    )

    def clean_after_days(self) -> int | None:
        days: int | None = self.cleaned_data["after_days"]
        if days and not archive.is_set_up():
            raise forms.ValidationError(archive.NOT_SET)
        return days

    def save(self) -> None:
        """Set the rule, from which the worker takes it at its next look; or end it."""
        if days := self.cleaned_data["after_days"]:
            ArchiveRule.objects.set(days)
        else:
            ArchiveRule.objects.all().delete()


@dataclass(frozen=True, slots=True)
class Check:
    """What the archive was asked of some files: how many, and of each that is not there whole, why."""

    number: int
    failures: tuple[str, ...]

    @classmethod
    def of_some(cls) -> Check:
        """Read files of the archive, from some place on: all of them would take hours."""
        files = Evidence.objects.archived().defer("content").select_related("attempt")
        last = files.aggregate(last=Max("pk"))["last"] or 0
        rows = files.filter(pk__gte=random.randint(0, last)).order_by("pk")[:LOOKED_AT]  # no secret
        end_s = time.monotonic() + CHECK_S
        troubles = [_trouble(file) for file in takewhile(lambda _: time.monotonic() < end_s, rows)]
        return cls(len(troubles), tuple(filter(None, troubles)))


def _trouble(file: Evidence) -> str:
    try:
        file.read()
    except ArchiveError as error:
        return f"{file.name} of run {file.attempt.run_id}: {error}"
    return ""


@dataclass(frozen=True)
class ArchivePage:
    """The archive as an administrator sees it; `movable` and `check` are there where they were asked for."""

    form: RuleForm
    movable: Extent | None = None
    check: Check | None = None

    @classmethod
    def load(cls, data: Mapping[str, Any] | None = None) -> ArchivePage:
        rule = ArchiveRule.objects.first()
        form = RuleForm(data, initial={"after_days": rule.after_days if rule else None})
        if data and CHECK in data:
            return cls(RuleForm(initial=form.initial), check=Check.of_some())
        if data and LOOK in data and form.is_valid() and (days := form.cleaned_data["after_days"]):
            return cls(form, movable=moves.movable(days, MOST_COUNTED + 1))
        return cls(form)

    @cached_property
    def rule(self) -> ArchiveRule | None:
        return ArchiveRule.objects.first()

    @property
    def not_set_text(self) -> str:
        """Say that there is no archive, and how to set one up; empty where there is one."""
        return "" if archive.is_set_up() else archive.NOT_SET

    @cached_property
    def archived_text(self) -> str:
        return _text(moves.archived(MOST_COUNTED + 1))

    @property
    def movable_text(self) -> str:
        return _text(self.movable) if self.movable else ""


def _text(extent: Extent) -> str:
    """Write '12 files of 3.4 MB'; of more than are counted, that there are more."""
    text = f"{count(min(extent.files, MOST_COUNTED), 'file')} of {size(extent.size_bytes)}"
    return f"more than {text}" if extent.files > MOST_COUNTED else text
