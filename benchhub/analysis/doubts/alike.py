"""Gather doubts that differ in nothing but one share: one sentence with the range of that share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# Shares alone have ranges: what lies between two settings, versions or names of hosts was on no machine.
SHARE = re.compile(r"(?<!\S)\d{1,3}(?:\.\d{1,3})?%")


def gathered(texts: Iterable[str]) -> Mapping[str, str]:
    """Return for each sentence the one that stands for it: itself, or one with a range for all that are alike.

    '95% of the CPU time was busy.' and '100% of the CPU time was busy.' become '95% to 100% of the CPU time was busy.'
    """
    families: dict[tuple[str, ...], list[str]] = {}
    for text in dict.fromkeys(texts):
        families.setdefault(tuple(SHARE.split(text)), []).append(text)
    return {text: sentence for family in families.values() for text, sentence in _sentences(family).items()}


def _sentences(family: Sequence[str]) -> Mapping[str, str]:
    columns = list(zip(*map(SHARE.findall, family), strict=True))
    differing = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if len(differing) != 1:
        return {text: text for text in family}
    (place,) = differing
    match = list(SHARE.finditer(family[0]))[place]
    low, high = (extreme(columns[place], key=_value) for extreme in (min, max))
    sentence = f"{family[0][: match.start()]}{low} to {high}{family[0][match.end() :]}"
    return dict.fromkeys(family, sentence)


def _value(share: str) -> float:
    return float(share.rstrip("%"))
