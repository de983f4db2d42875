"""Build the parts of a document. Each names in `about` the classes of `projection.CLASSES` that it discloses.

A cell has `text`, as the page shows it, and `exact`, the value behind it as text, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

Node = dict[str, Any]
Role = Literal["plain", "lead", "caption", "note", "error", "doubts"]


def section(name: str, title: str, blocks: Iterable[Node]) -> Node:
    return {"id": name, "title": title, "blocks": list(blocks)}


def paragraph(text: str, role: Role = "plain", about: Sequence[str] = (), series: int | None = None) -> Node:
    """Build a paragraph; `series` sets the mark of a curve before it."""
    return _node({"kind": "paragraph", "role": role, "text": text}, about, series=series)


def reason(text: str, label: str, series: int) -> Node:
    """Build a paragraph that follows the finding about a curve; pages may fold it under the curve's label."""
    return paragraph(text, "caption", series=series) | {"curve": label}


def listing(title: str, items: Iterable[Node | str], role: Role = "plain") -> Node:
    return {"kind": "list", "role": role, "title": title, "items": [note(item) for item in items]}


def note(text: Node | str, about: Sequence[str] = (), role: str = "plain") -> Node:
    """Build a sentence below a cell or in a list; a node is returned as it is."""
    return text if isinstance(text, dict) else _node({"text": text, "role": role}, about)


def answer(verdict: str, sentences: Iterable[str], tiles: Iterable[Node], picture: Node, confidence: Node) -> Node:
    """Build the card that a document opens with; see `tile`, `picture` and `confidence` for its parts."""
    parts = {"tiles": list(tiles), "picture": picture, "confidence": confidence}
    return {"kind": "answer", "verdict": verdict, "sentences": list(sentences), **parts}


def tile(title: str, value: str, unit: str, notes: Iterable[str]) -> Node:
    return {"title": title, "value": value, "unit": unit, "notes": list(notes)}


def picture(title: str, caption: str, bars: Iterable[Node]) -> Node:
    return {"title": title, "caption": caption, "bars": list(bars)}


def bar(label: str, under: str, value: str, width_percent: str, series: int, pattern: int) -> Node:
    """Build a bar, `width_percent` of the longest one; `series` is its colour, `pattern` its hatching, 0 for none."""
    texts = {"label": label, "under": under, "value": value, "width_percent": width_percent}
    return {**texts, "series": series, "pattern": pattern}


def confidence(words: str, level: str, reason: str, more: str) -> Node:
    """Build how far the answer is to be trusted: `reason` is the weightiest doubt, `more` counts the others."""
    return {"words": words, "level": level, "reason": reason, "more": more}


def choice(title: str, selected: str, makers: str) -> Node:
    """Build what a reader chose otherwise than the maker of a link."""
    return {"title": title, "selected": selected, "makers": makers}


def figure(name: str, title: str, label: str, plotly: Mapping[str, Any], about: Sequence[str] = ()) -> Node:
    """Build a figure; `label` is read out in the place of the picture."""
    return _node({"kind": "figure", "id": name, "title": title, "label": label, "plotly": dict(plotly)}, about)


def table(
    name: str,
    title: str,
    columns: Sequence[Node],
    rows: Iterable[Node],
    *,
    style: str = "",
    is_folded: bool = False,
    about: Sequence[str] = (),
) -> Node:
    """Build a table; `style` is a name that the pages' CSS knows, and a folded table opens on demand."""
    shape = {"kind": "table", "id": name, "title": title, "style": style, "is_folded": is_folded}
    return _node({**shape, "columns": list(columns), "rows": list(rows)}, about)


def column(title: str, *, is_number: bool = False, series: int | None = None, about: Sequence[str] = ()) -> Node:
    return _node({"title": title, "is_number": is_number}, about, series=series)


def row(cells: Iterable[Node], *, is_marked: bool = False, about: Sequence[str] = ()) -> Node:
    return _node({"cells": list(cells), "is_marked": is_marked}, about)


def cell(
    text: str,
    *,
    exact: str = "",
    unit: str = "",
    notes: Iterable[Node | str] = (),
    tags: Sequence[str] = (),
    steps: Sequence[str] = (),
    role: str = "",
    series: int | None = None,
    steps_about: Sequence[str] = (),
    about: Sequence[str] = (),
) -> Node:
    """Build a cell; `steps` say how the number came about, and may disclose more than the number does."""
    node: Node = {"text": text}
    optional = {"exact": exact, "unit": unit, "role": role, "tags": list(tags), "notes": [note(item) for item in notes]}
    node |= {name: value for name, value in optional.items() if value}
    if steps:
        node["steps"] = _node({"items": list(steps)}, steps_about)
    return _node(node, about, series=series)


def data(name: str, title: str, columns: Iterable[Node], rows: Iterable[Sequence[str]]) -> Node:
    """Build a table for programs, which CSV holds. Every value is exact text in the unit that its column names."""
    return {"id": name, "title": title, "columns": list(columns), "rows": [list(row) for row in rows]}


def data_column(name: str, unit: str = "", about: Sequence[str] = ()) -> Node:
    return _node({"name": name, "unit": unit}, about)


def bundle(name: str, title: str, files: Mapping[str, str]) -> Node:
    """Build a bundle of text files; the page offers them as one archive."""
    return {
        "id": name,
        "title": title,
        "files": [{"name": file_name, "text": text} for file_name, text in files.items()],
    }


def name(about: str, name: str, alias: str) -> Node:
    """Build a name that stands in texts: its class, and the alias that replaces it where that class is hidden."""
    return {"about": about, "name": name, "alias": alias}


def typed(where: str, text: str) -> Node:
    """Build a text that somebody typed freely, with where it stands, for whoever publishes; no page shows the list."""
    return {"where": where, "text": text}


def _node(node: Node, about: Sequence[str], series: int | None = None) -> Node:
    if about:
        node["about"] = list(about)
    if series is not None:
        node["series"] = series
    return node
