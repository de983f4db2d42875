"""An edition of a projection: as its maker has it, or at a reader's choice, which is computed and kept nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import project
from benchhub.analysis.snapshot.redaction import Redactor
from benchhub.reports.models import Projection
from benchhub.reports.sharing.frozen.pricing import is_frozen

from .choice import Choice, Control, Selection
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


def edition(projection: Projection, is_open: Iterable[str], selection: Selection) -> Edition:
    """Return the edition that a reader asks for. What they may not choose stays as the maker of the link has it."""
    names = tuple(is_open)
    if not names:
        return Edition(bytes(projection.content), projection.sha256)
    return _edition(projection.pk, projection.sha256, names, selection)


@lru_cache(maxsize=EDITIONS_KEPT)
def _edition(pk: int, sha256: str, is_open: tuple[str, ...], selection: Selection) -> Edition:
    projection = Projection.objects.select_related("snapshot").get(pk=pk)
    document = canonical.from_bytes(bytes(projection.snapshot.content))
    if not is_frozen(document):
        return Edition(bytes(projection.content), sha256)
    made = choice(document, is_open, selection)
    panel = _panel(made, Redactor(document.get("names", ()), projection.hidden))
    if not made.changed:
        return Edition(bytes(projection.content), sha256, panel)
    content = projected(at_choice(document, made), projection.hidden)
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
