"""Client levels as people type them: `1, 2, 4, 8`, ranges `2..16:2`, geometric ranges `1..64*2`."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_CLIENTS = 100_000
MOST_LEVELS = 200
EXAMPLES = "write numbers and ranges such as 1, 2, 4..16:4, 32..256*2"
TERM = re.compile(r"(\d+)(?:\s*\.\.\s*(\d+)(?:\s*([:*])\s*(\d+))?)?")


class LevelsError(ValueError):
    """What was typed is no list of client levels; the message says what to write."""


def parse(text: str) -> list[int]:
    """Return the levels in the order typed, each once.

    `a..b` has every number from a to b, `a..b:s` every s-th of them, `a..b*f` multiplies by f. The end belongs to a
    range where a step falls on it. Raises LevelsError.
    """
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if not terms:
        raise LevelsError(f"There is no level: {EXAMPLES}.")
    levels: dict[int, None] = {}
    for term in terms:
        for clients in _expand(term):
            levels[clients] = None
            if len(levels) > MOST_LEVELS:
                raise LevelsError(f"These are more than {MOST_LEVELS} levels: use fewer, or a larger step.")
    return list(levels)


def _expand(term: str) -> Iterator[int]:
    found = TERM.fullmatch(term)
    if found is None:
        raise LevelsError(f"'{term}' is no client level: {EXAMPLES}.")
    first, last = int(found[1]), int(found[2] or found[1])
    _require_range(term, first, last)
    step = int(found[4] or 1)
    if found[3] == "*":
        return _geometric(term, first, last, step)
    if step < 1:
        raise LevelsError(f"'{term}' never ends: its step must be at least 1.")
    return iter(range(first, last + 1, step))


def _require_range(term: str, first: int, last: int) -> None:
    if first < 1:
        raise LevelsError(f"'{term}' has a level without clients: the lowest is 1.")
    if last < first:
        raise LevelsError(f"'{term}' runs backwards: write {last}..{first}.")
    if last > MOST_CLIENTS:
        raise LevelsError(f"'{term}' asks for more than {MOST_CLIENTS:,} clients.")


def _geometric(term: str, first: int, last: int, factor: int) -> Iterator[int]:
    if factor < 2:
        raise LevelsError(f"'{term}' never ends: its factor must be at least 2.")
    return _multiplied(first, last, factor)


def _multiplied(first: int, last: int, factor: int) -> Iterator[int]:
    clients = first
    while clients <= last:
        yield clients
        clients *= factor
