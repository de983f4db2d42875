"""Describe how a number came about: structured steps, each of which can be read as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from benchhub.analysis.words import plain

from .money import Amount

Value = str | int | Decimal | date | Amount


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a calculation. `template` is the sentence with names of `operands` (and `result`) in braces.

    `kind` says what was done (count, minimum, pack, ...); `citation` which row, rate or rule it rests on.
    """

    kind: str
    template: str
    operands: Mapping[str, Value]
    result: Value
    citation: str = ""

    @property
    def sentence(self) -> str:
        operands = {name: words(value) for name, value in self.operands.items()}
        text = self.template.format_map({**operands, "result": words(self.result)})
        return f"{text} ({self.citation})." if self.citation else f"{text}."

    def __str__(self) -> str:
        return self.sentence


def step(kind: str, template: str, result: Value, citation: str = "", /, **operands: Value) -> Step:
    return Step(kind, template, operands, result, citation)


def words(value: Value) -> str:
    if isinstance(value, (int, Decimal)):
        return plain(value)
    return str(value)
