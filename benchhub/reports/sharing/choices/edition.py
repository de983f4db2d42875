"""An edition of a projection: as its maker has it, or computed and kept nowhere: at a reader's choice, or with marks.

Marks stand at prices whose list price was taken back since. Page, files and PDF are made of the same edition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from django.http import QueryDict

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import project
from benchhub.analysis.snapshot.redaction import Redactor
from benchhub.analysis.snapshot.taken_back import TakenBack, marked
from benchhub.reports.models import Link, Projection
from benchhub.reports.sharing.frozen import taken_back
from benchhub.reports.sharing.frozen.pricing import is_frozen

from .choice import Choice, Control, Selection, selection
from .document import at_choice, choice

EDITIONS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Panel:
    """The controls that a reader may move; `makers` is the maker's choice in words, `suffix` the reader's address."""

    controls: tuple[Control, ...]
    makers: str
    problems: tuple[str, ...]
    suffix: str


@dataclass(frozen=True, slots=True)
class Edition:
    """Canonical bytes with their digest. `panel` is None where readers may choose nothing."""

    content: bytes
    sha256: str
    panel: Panel | None = None

    @property
    def document(self) -> Node:
        return canonical.from_bytes(self.content)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an edition depends on beside its projection.

    `is_open` is what its readers may choose, `selection` what one of them asks for; `taken_back` are list prices that
    its prices may rest on and that were taken back since it was published.
    """

    is_open: tuple[str, ...] = ()
    selection: Selection = ()
    taken_back: tuple[TakenBack, ...] = ()

    @classmethod
    def whole(cls, snapshot_pk: int) -> Reading:
        """Return how people who sign in read a snapshot: at its own terms."""
        return cls(taken_back=taken_back.taken_back(taken_back.rows(snapshot_pk)))

    @classmethod
    def by_link(cls, link: Link, query: QueryDict) -> Reading:
        """Return how the reader of a link reads its snapshot, by the address that they ask for."""
        is_open = tuple(link.choices)
        chosen_terms = selection(query) if is_open else ()
        rows = taken_back.rows_at_choice if chosen_terms else taken_back.rows
        return cls(is_open, chosen_terms, taken_back.taken_back(rows(link.snapshot_id)))

    @property
    def makers(self) -> Reading:
        """Return the same at the terms of whoever made the link."""
        return Reading(taken_back=self.taken_back)

    @property
    def digest(self) -> str:
        """Return what tells two editions of a projection apart; empty for the one that is kept."""
        return "" if self == Reading() else hashlib.sha256(repr(self).encode()).hexdigest()[:32]


def edition(projection: Projection, reading: Reading) -> Edition:
    """Return the edition that a reader asks for. What they may not choose stays as the maker of the link has it."""
    if reading == Reading():
        return Edition(bytes(projection.content), projection.sha256)
    return _edition(projection.pk, reading)


@lru_cache(maxsize=EDITIONS_KEPT)
def _edition(pk: int, reading: Reading) -> Edition:
    projection = Projection.objects.select_related("snapshot").get(pk=pk)
    frozen = document = canonical.from_bytes(bytes(projection.snapshot.content))
    panel = None
    if reading.is_open and is_frozen(document):
        made = choice(document, reading.is_open, reading.selection)
        panel = _panel(made, Redactor(document.get("names", ()), projection.hidden))
        document = at_choice(document, made)
    document = marked(document, reading.taken_back)
    if document is frozen:
        return Edition(bytes(projection.content), projection.sha256, panel)
    content = projected(document, projection.hidden)
    return Edition(content, canonical.digest(content), panel)


def projected(document: Node, hidden: Collection[str]) -> bytes:
    """Return the bytes of a document without the hidden classes, as those of a projection that is kept."""
    return canonical.to_bytes(project(canonical.from_bytes(canonical.to_bytes(document)), hidden))


def _panel(made: Choice, redactor: Redactor) -> Panel:
    """Return the open controls with the names that they hold hidden, as in the document."""
    controls = tuple(_redacted(control, redactor) for control in made.open_controls)
    return Panel(controls, redactor.text(made.makers_words), tuple(made.problems), made.suffix)


def _redacted(control: Control, redactor: Redactor) -> Control:
    options = tuple(replace(option, text=redactor.text(option.text)) for option in control.options)
    return replace(control, options=options)
