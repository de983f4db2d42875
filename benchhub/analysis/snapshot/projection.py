"""Project a document: leave out hidden classes of facts, by an allow-list, so that nothing unknown is shown.

Every node is built anew from the keys that this module names. A node whose `about` holds a class that is hidden, or
one that this release does not know, is left out. In what stays, names of a hidden class give way to their aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from .nodes import Node
from .redaction import HIDDEN, Redactor

# What a link can hide, in words.
CLASSES: Mapping[str, str] = {
    "host": "Host names",
    "address": "Network addresses",
    "discount": "Discounts",
    "vendor": "Names of vendors, machines and licences",
}
TEXT_OF_FIGURES = ("name", "text", "ticktext", "hovertemplate", "x", "y", "customdata", "title", "categoryarray")
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


def project(document: Node, hidden: Collection[str]) -> Node:
    """Return the document without the hidden classes; its names and its source are never part of it.

    Raises ValueError for an unknown class.
    """
    if unknown := set(hidden) - CLASSES.keys():
        raise ValueError(f"There is nothing to hide of the name {', '.join(sorted(unknown))}.")
    return _Projector(document.get("names", ()), hidden).document(document)


def typed(document: Node, hidden: Collection[str]) -> list[tuple[str, str]]:
    """Return (where, text) of each text that somebody typed freely, without the hidden classes.

    A document of an earlier release has no list of them: of such a one the title and what was found stand for it.
    """
    redactor = Redactor(document.get("names", ()), hidden)
    first = {"where": "Title", "text": document["title"]}
    sections = [section for section in document["sections"] if section["id"] == "found"]
    paragraphs = [
        {"where": "What was found", "text": block["text"]}
        for section in sections
        for block in section["blocks"]
        if "text" in block
    ]
    listed = document.get("typed", [first, *paragraphs])
    return [(redactor.text(node["where"]), redactor.text(node["text"])) for node in listed]


class _Projector:
    def __init__(self, names: Iterable[Node], hidden: Collection[str]) -> None:
        self.hidden = sorted(hidden)
        self.allowed = CLASSES.keys() - set(hidden)
        self.redactor = Redactor(names, hidden)

    def document(self, document: Node) -> Node:
        return {
            **_subset(document, ("format", "version", "kind", "taken_at", "release", "unit")),
            "hidden": self.hidden,
            "title": self.text(document["title"]),
            "summary": self.text(document.get("summary", "")),
            "sections": self.all(document["sections"], self.section),
            "tables": self.all(document["tables"], self.data),
            "bundles": self.all(document.get("bundles", ()), self.bundle),
            **self.choices(document),
            **self.texts(document, document.keys() & {"taken_back"}),
        }

    def choices(self, document: Node) -> Node:
        """Return what a reader chose; the key is absent where the terms are the maker's."""
        rows = [self.texts(node, ("title", "selected", "makers")) for node in document.get("choice", ())]
        return {"choice": rows} if rows else {}

    def all(self, nodes: Iterable[Node], keep: Callable[[Node], Node]) -> list[Node]:
        return [keep(node) for node in nodes if self.is_allowed(node)]

    def is_allowed(self, node: Node) -> bool:
        return set(node.get("about", ())) <= self.allowed

    def text(self, text: str) -> str:
        return self.redactor.text(text)

    def section(self, section: Node) -> Node:
        blocks = [block for block in section["blocks"] if block["kind"] in self.blocks]
        return {"id": section["id"], "title": self.text(section["title"]), "blocks": self.all(blocks, self.block)}

    def block(self, block: Node) -> Node:
        return self.blocks[block["kind"]](block)

    @property
    def blocks(self) -> Mapping[str, Callable[[Node], Node]]:
        return {
            "answer": self.answer,
            "paragraph": self.paragraph,
            "list": self.listing,
            "table": self.table,
            "figure": self.figure,
        }

    def answer(self, answer: Node) -> Node:
        picture = answer["picture"]
        return {
            "kind": "answer",
            "verdict": self.text(answer["verdict"]),
            "sentences": [self.text(sentence) for sentence in answer["sentences"]],
            "tiles": [self.tile(tile) for tile in answer["tiles"]],
            "picture": {
                **self.texts(picture, ("title", "caption")),
                "bars": [self.bar(bar) for bar in picture["bars"]],
            },
            "confidence": self.texts(answer["confidence"], ("words", "level", "reason", "more")),
        }

    def tile(self, tile: Node) -> Node:
        texts = self.texts(tile, ("title", "unit"))
        return {**texts, "value": self.value(tile["value"]), "notes": [self.text(note) for note in tile["notes"]]}

    def bar(self, bar: Node) -> Node:
        return {**_subset(bar, ("width_percent", "series", "pattern")), **self.texts(bar, ("label", "under", "value"))}

    def texts(self, node: Node, keys: Iterable[str]) -> Node:
        return {key: self.text(node[key]) for key in keys}

    def paragraph(self, paragraph: Node) -> Node:
        texts = self.texts(paragraph, ("text", *paragraph.keys() & {"curve"}))
        return {**_subset(paragraph, ("kind", "role", "series")), **texts}

    def listing(self, listing: Node) -> Node:
        head = {**_subset(listing, ("kind", "role")), "title": self.text(listing["title"])}
        return {**head, "items": self.all(listing["items"], self.note)}

    def note(self, note: Node) -> Node:
        return {**_subset(note, ("role",)), "text": self.text(note["text"])}

    def table(self, table: Node) -> Node:
        indexes = [index for index, column in enumerate(table["columns"]) if self.is_allowed(column)]
        return {
            **_subset(table, ("kind", "id", "style", "is_folded")),
            "title": self.text(table["title"]),
            "columns": [self.column(table["columns"][index]) for index in indexes],
            "rows": [self.row(row, table["columns"], indexes) for row in table["rows"] if self.is_allowed(row)],
        }

    def column(self, column: Node) -> Node:
        return {**_subset(column, ("is_number", "series")), "title": self.text(column["title"])}

    def row(self, row: Node, columns: Sequence[Node], indexes: Iterable[int]) -> Node:
        cells = [self.cell(row["cells"][index], bool(columns[index].get("is_number"))) for index in indexes]
        return {**_subset(row, ("is_marked",)), "cells": cells}

    def cell(self, cell: Node, is_number: bool) -> Node:
        if not self.is_allowed(cell):
            return {"text": HIDDEN, "role": HIDDEN}
        projected = {
            **_subset(cell, ("role", "series")),
            "text": self.value(cell["text"]) if is_number else self.text(cell["text"]),
        }
        projected |= {name: self.value(cell[name]) for name in ("exact", "unit") if name in cell}
        if "tags" in cell:
            projected["tags"] = [self.text(tag) for tag in cell["tags"]]
        if "notes" in cell:
            projected["notes"] = self.all(cell["notes"], self.note)
        if "steps" in cell and self.is_allowed(cell["steps"]):
            projected["steps"] = {"items": [self.text(step) for step in cell["steps"]["items"]]}
        return projected

    def figure(self, figure: Node) -> Node:
        texts = {name: self.text(figure[name]) for name in ("title", "label")}
        return {**_subset(figure, ("kind", "id")), **texts, "plotly": self.plotly(figure["plotly"])}

    def plotly(self, value: Any, is_text: bool = False) -> Any:
        """Replace names in the texts of a figure that may hold them; its other words are plotly's own."""
        if isinstance(value, Mapping):
            return {name: self.plotly(inner, name in TEXT_OF_FIGURES) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.plotly(inner, is_text) for inner in value]
        return self.text(value) if is_text and isinstance(value, str) else value

    def data(self, data: Node) -> Node:
        indexes = [index for index, column in enumerate(data["columns"]) if self.is_allowed(column)]
        return {
            "id": data["id"],
            "title": self.text(data["title"]),
            "columns": [self.data_column(data["columns"][index]) for index in indexes],
            "rows": [[self.value(row[index]) for index in indexes] for row in data["rows"]],
        }

    def data_column(self, column: Node) -> Node:
        return {"name": self.text(column["name"]), "unit": column["unit"]}

    def bundle(self, bundle: Node) -> Node:
        files = [{"name": file["name"], "text": self.text(file["text"])} for file in bundle["files"]]
        return {"id": bundle["id"], "title": self.text(bundle["title"]), "files": files}

    def value(self, value: str) -> str:
        """Replace names in a value; a number stays one, whatever a host is called."""
        return value if NUMBER.fullmatch(value) else self.text(value)


def _subset(node: Node, keys: Iterable[str]) -> Node:
    return {key: node[key] for key in keys if key in node}
