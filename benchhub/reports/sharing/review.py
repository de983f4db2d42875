"""The last look before a link is made: what was typed freely, as its reader will see it, and what stands out in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict

from benchhub.analysis.snapshot import canonical, projection
from benchhub.analysis.snapshot.review import Part, parts
from benchhub.reports.models import Snapshot

from .document.names import PORT_ALIAS
from .forms import LinkForm

REVIEWED = "reviewed"


@dataclass(frozen=True)
class Typed:
    """A text with where it stands, in parts of which some are marked."""

    where: str
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def is_marked(self) -> bool:
        return any(part.why for part in self.parts)


@dataclass(frozen=True)
class Review:
    """Everything that people typed into a snapshot, or hosts sent, without the classes that a link hides."""

    snapshot: Snapshot
    hidden: Collection[str]

    @cached_property
    def texts(self) -> list[Typed]:
        """Return the texts, those with a mark first."""
        document = canonical.from_bytes(bytes(self.snapshot.content))
        pairs = projection.typed(document, self.hidden)
        ports = {name["name"].removeprefix(":") for name in document.get("names", ()) if name["alias"] == PORT_ALIAS}
        return sorted((Typed(where, parts(text, ports)) for where, text in pairs), key=lambda text: not text.is_marked)

    @property
    def marked(self) -> list[Typed]:
        return [text for text in self.texts if text.is_marked]

    @property
    def unmarked(self) -> list[Typed]:
        return [text for text in self.texts if not text.is_marked]

    @property
    def marked_count(self) -> int:
        return sum(bool(part.why) for text in self.texts for part in text.parts)

    @property
    def digest(self) -> str:
        """Return what confirms that these texts were read: other texts, or others left out, have another."""
        pairs = [(text.where, text.text) for text in self.texts]
        return hashlib.sha256(json.dumps([self.snapshot.sha256, sorted(self.hidden), pairs]).encode()).hexdigest()


@dataclass(frozen=True)
class ReviewPage:
    """The review of the link that a form asks for."""

    snapshot: Snapshot
    form: LinkForm

    @cached_property
    def review(self) -> Review:
        return Review(self.snapshot, self.form.cleaned_data["hidden"])

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return what the form holds, as (name, value), to be sent again with the answer."""
        data = QueryDict(mutable=True)
        data.update(self.form.data)
        return [(name, value) for name in self.form.fields for value in data.getlist(name) if value]
