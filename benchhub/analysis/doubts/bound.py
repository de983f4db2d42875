"""Bound how many doubts and remarks a run has: a target may give cause for any number of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from benchhub.analysis.words import count, word

from .doubt import Doubt

MOST = 200  # of doubts, and of remarks


def bounded(doubts: Sequence[Doubt], remarks: Sequence[str]) -> tuple[list[Doubt], list[str]]:
    """Return the weightiest doubts and the first remarks, as many as a run may have of each.

    A last remark says how many are left out of either.
    """
    places = sorted(_weightiest(doubts)[:MOST])
    left_out = [*_left_out(len(doubts), "doubt"), *_left_out(len(remarks), "remark")]
    return [doubts[place] for place in places], [*remarks[:MOST], *left_out]


def _weightiest(doubts: Iterable[Doubt]) -> list[int]:
    """Return the places of the doubts, the weightiest first; of equal weight the first of each code before others."""
    same: dict[str, int] = defaultdict(int)
    ranks = []
    for place, doubt in enumerate(doubts):
        ranks.append((-doubt.weight, same[doubt.code], place))
        same[doubt.code] += 1
    return [place for _, _, place in sorted(ranks)]


def _left_out(number: int, noun: str) -> list[str]:
    more = number - MOST
    return [f"{count(more, f'more {noun}')} {word('is', more, 'are')} left out."] if more > 0 else []
