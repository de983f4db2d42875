"""Gather doubts that differ in nothing but one number: one sentence with the range of that number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# A number as sentences have it; what stands before it may be no letter, as in 'p95'.
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?%?")


def gathered(texts: Iterable[str]) -> Mapping[str, str]:
    """Return for each sentence the one that stands for it: itself, or one with a range for all that are alike.

    '95% of the CPU time was busy.' and '100% of the CPU time was busy.' become '95% to 100% of the CPU time was busy.'
    """
    families: dict[tuple[str, ...], list[str]] = {}
    for text in dict.fromkeys(texts):
        families.setdefault(tuple(NUMBER.split(text)), []).append(text)
    return {text: sentence for family in families.values() for text, sentence in _sentences(family).items()}


def _sentences(family: Sequence[str]) -> Mapping[str, str]:
    columns = list(zip(*map(NUMBER.findall, family), strict=True))
    differing = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if len(differing) != 1:
        return {text: text for text in family}
    (place,) = differing
    match = list(NUMBER.finditer(family[0]))[place]
    low, high = (extreme(columns[place], key=_value) for extreme in (min, max))
    sentence = f"{family[0][: match.start()]}{low} to {high}{family[0][match.end() :]}"
    return dict.fromkeys(family, sentence)


def _value(number: str) -> float:
    return float(number.rstrip("%").replace(",", ""))
