"""The last look before a link is made: what was typed freely, as its reader will see it, and what stands out in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict

from benchhub.analysis.snapshot import canonical, projection
from benchhub.analysis.snapshot.review import Part, parts
from benchhub.reports.models import Snapshot

from .forms import LinkForm

REVIEWED = "reviewed"


@dataclass(frozen=True)
class Typed:
    """A text with where it stands, in parts of which some are marked."""

    where: str
    parts: Sequence[Part]

    @property
    def is_marked(self) -> bool:
        return any(part.why for part in self.parts)


@dataclass(frozen=True)
class ReviewPage:
    """Everything that people typed into a snapshot, without what the link of the form hides."""

    snapshot: Snapshot
    form: LinkForm

    @cached_property
    def texts(self) -> list[Typed]:
        """Return the texts, those with a mark first."""
        document = canonical.from_bytes(bytes(self.snapshot.content))
        pairs = projection.typed(document, self.form.cleaned_data["hidden"])
        return sorted((Typed(where, parts(text)) for where, text in pairs), key=lambda text: not text.is_marked)

    @property
    def marked_count(self) -> int:
        return sum(bool(part.why) for text in self.texts for part in text.parts)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return what the form holds, as (name, value), to be sent again with the answer."""
        data = QueryDict(mutable=True)
        data.update(self.form.data)
        return [(name, value) for name in self.form.fields for value in data.getlist(name) if value]
