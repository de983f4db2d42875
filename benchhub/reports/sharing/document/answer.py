"""The answer of a comparison, on the card that its document opens with."""

from __future__ import annotations

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.comparison.answers.answer import Answer

ANSWER = "answer"


def section(answer: Answer) -> Node:
    """Write verdict, figures, picture and confidence; what to do about a doubt is for its owner."""
    tiles = [nodes.tile(tile.title, tile.value, tile.unit, tile.notes) for tile in answer.tiles]
    bars = [
        nodes.bar(bar.label, bar.under, bar.value, bar.width_percent, bar.series, bar.pattern)
        for bar in answer.picture.bars
    ]
    picture = nodes.picture(answer.picture.title, answer.picture.caption, bars)
    sure = answer.confidence
    confidence = nodes.confidence(sure.words, sure.level, sure.reason, sure.more)
    card = nodes.answer(answer.verdict, answer.sentences, tiles, picture, confidence)
    return nodes.section(ANSWER, "The answer", [card])
