"""A question that an experiment is to answer, and what its form begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils import timezone


@dataclass(frozen=True, slots=True)
class Question:
    """`page` names a page of its own in urls.py that the answer begins on; otherwise it is the plan's form.

    The form is short, unless `is_short` is false, and begins with `values`.

    `systems` are as many as the answer needs.
    """

    name: str
    title: str
    words: str
    page: str = ""
    is_short: bool = True
    systems: int = 1
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return reverse(self.page) if self.page else f"{reverse('experiment-new')}?question={self.name}"

    def start(self) -> dict[str, Any]:
        """Return what the form begins with; a short one has a name already, that may be changed."""
        name = {"name": f"{self.title}, {timezone.now():%Y-%m-%d}"} if self.is_short else {}
        return {**name, **self.values}

    @property
    def is_search(self) -> bool:
        return bool(self.values.get("grows"))
