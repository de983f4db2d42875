"""The document of a snapshot at a reader's choice: what depends on prices is written anew, all else stays."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.http import QueryDict

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.comparison.answers import answer as answers
from benchhub.reports.comparison.answers.confidence import Confidence
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.sharing.document import answer, prices
from benchhub.reports.sharing.document.results import FOUND, PRICES_PART
from benchhub.reports.sharing.frozen import pricing as frozen

from .choice import Choice, Selection, read

PRICED_SECTIONS = ("prices", "price-figures", "what-if")
PRICED_TABLES = ("prices", "bars", "clients", "split", "break-even", "sensitivity", "standbys", "pareto")


def choice(document: Node, is_open: Collection[str], selection: Selection) -> Choice:
    """Read the choice of a reader. Needs a document for which `is_frozen` holds."""
    return read(frozen.pricing(document, _makers_query(document)), is_open, selection)


def _makers_query(document: Node) -> QueryDict:
    return QueryDict(document["source"]["pricing"]["query"])


def at_choice(document: Node, choice: Choice) -> Node:
    """Return the whole document with the prices of a choice, for `project` to take out what a link hides."""
    if not choice.changed:
        return document
    pricing = frozen.pricing(document, choice.query)
    opening = _answer(document, pricing)
    (card,) = opening["blocks"]
    renewed = {opening["id"]: opening, FOUND: _found(document, pricing.table.lead)}
    sections = [renewed.get(section["id"], section) for section in document["sections"]]
    return {
        **document,
        "summary": " ".join([f"{card['verdict']}.", *card["sentences"]]),
        "sections": _spliced(sections, PRICED_SECTIONS, prices.sections(pricing)),
        "tables": _spliced(document["tables"], PRICED_TABLES, prices.tables(pricing)),
        "choice": [
            nodes.choice(control.title, control.words(control.selected), control.words(control.makers))
            for control in choice.changed
        ],
    }


def _answer(document: Node, pricing: Pricing) -> Node:
    """Answer at the terms of a reader; how far the curves are to be trusted depends on no terms."""
    (frozen_card,) = _section(document, answer.ANSWER)["blocks"]
    confidence = frozen_card["confidence"]
    section = answer.section(answers.answer(pricing.curves, pricing.table, Confidence(confidence["level"], "")))
    (card,) = section["blocks"]
    return {**section, "blocks": [{**card, "confidence": confidence}]}


def _found(document: Node, lead: str) -> Node:
    """Return what was found, with the sentence about the lowest price in the place of the maker's."""
    section = _section(document, FOUND)
    blocks = [block | {"text": lead} if block.get("part") == PRICES_PART else block for block in section["blocks"]]
    return {**section, "blocks": [block for block in blocks if block.get("text") != ""]}


def _section(document: Node, name: str) -> Node:
    return next(section for section in document["sections"] if section["id"] == name)


def _spliced(parts: Sequence[Node], names: Collection[str], renewed: Sequence[Node]) -> list[Node]:
    """Return the parts with all of these names replaced, in the place of the first."""
    places = [place for place, part in enumerate(parts) if part["id"] in names]
    place = places[0] if places else len(parts)
    kept_parts = [part for part in parts if part["id"] not in names]
    return [*kept_parts[:place], *renewed, *kept_parts[place:]]
