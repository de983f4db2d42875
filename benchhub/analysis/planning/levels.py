"""Parse client levels as people type them: `1, 2, 4, 8`, ranges `2..16:2`, geometric ranges `1..64*2`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from benchhub.analysis.words import listing

MOST_CLIENTS = 100_000
MOST_LEVELS = 200
MOST_LISTED = 12
LONGEST_NUMBER = 30  # digits; more than any that is allowed, and few enough to be read and shown
EXAMPLES = "write numbers and ranges such as 1, 2, 4..16:4, 32..256*2"
LOWEST_FACTOR = Decimal("1.1")
TERM = re.compile(r"(\d+)(?:\s*\.\.\s*(\d+)(?:\s*(?::\s*(\d+)|\*\s*(\d+(?:\.\d+)?)))?)?")


class LevelsError(ValueError):
    """Raised for text that is no list of client levels; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of number: `most` may be listed, `highest` is the largest, and how a sentence calls them."""

    name: str
    most: int
    highest: int
    plural: str


CLIENTS = Kind("client level", MOST_LEVELS, MOST_CLIENTS, "clients")
SCALES = Kind("scale", 20, 2_000_000, "as the scale")
RATES = Kind("rate", MOST_LEVELS, 100_000_000, "transactions per second")


def parse(text: str, kind: Kind = CLIENTS) -> list[int]:
    """Return the levels in the order typed, each once.

    `a..b` has every number from a to b, `a..b:s` every s-th of them, `a..b*f` multiplies by f, and rounds where
    that is 1.5. The end belongs to a range where a step falls on it. Raises LevelsError.
    """
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if not terms:
        raise LevelsError(f"There is no {kind.name}: {EXAMPLES}.")
    levels: dict[int, None] = {}
    for term in terms:
        for clients in _expand(term, kind):
            levels[clients] = None
            if len(levels) > kind.most:
                raise LevelsError(f"These are more than {kind.most} levels: use fewer, or a larger step.")
    return list(levels)


def levels_text(levels: Sequence[int]) -> str:
    """List levels as a sentence does, 1, 2 and 4; many of them as ranges, 2..160:2."""
    return spell(levels) if len(levels) > MOST_LISTED else listing(f"{level:,}" for level in levels)


def spell(levels: Sequence[int]) -> str:
    """Write levels as a person would type them: ranges of three or more by step or factor. parse() reads it back."""
    terms, levels_left = [], list(levels)
    while levels_left:
        length, term = max(_range_at(levels_left), key=lambda candidate: candidate[0])
        terms.append(term if length > 2 else str(levels_left[0]))
        levels_left = levels_left[length:] if length > 2 else levels_left[1:]
    return ", ".join(terms)


def _range_at(levels: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield (length, text) of the ranges that the levels may begin with."""
    first, second = levels[0], levels[min(1, len(levels) - 1)]
    yield 1, str(first)
    if second > first:
        step = second - first
        length = _agreeing_length(levels, lambda number: first + number * step)
        yield length, f"{first}..{levels[length - 1]}" + (f":{step}" if step > 1 else "")
    if second > first and second % first == 0:
        factor = second // first
        length = _agreeing_length(levels, lambda number: first * factor**number)
        yield length, f"{first}..{levels[length - 1]}*{factor}"


def _agreeing_length(levels: Sequence[int], expected: Callable[[int], int]) -> int:
    mismatches = (index for index, clients in enumerate(levels) if clients != expected(index))
    return next(mismatches, len(levels))


def _expand(term: str, kind: Kind) -> Iterator[int]:
    match = TERM.fullmatch(term)
    if match is None:
        raise LevelsError(f"'{term}' is no {kind.name}: {EXAMPLES}.")
    if any(len(number) > LONGEST_NUMBER for number in re.findall(r"\d+", term)):
        raise LevelsError(f"'{term[:LONGEST_NUMBER]}...' has a number of too many digits: {EXAMPLES}.")
    first, last = int(match[1]), int(match[2] or match[1])
    _require_range(term, first, last, kind)
    if match[4]:
        return _geometric(term, first, last, Decimal(match[4]))
    step = int(match[3] or 1)
    if step < 1:
        raise LevelsError(f"'{term}' never ends: its step must be at least 1.")
    return iter(range(first, last + 1, step))


def _require_range(term: str, first: int, last: int, kind: Kind) -> None:
    if first < 1:
        raise LevelsError(f"'{term}' has a {kind.name} of 0: the lowest is 1.")
    if last < first:
        raise LevelsError(f"'{term}' runs backwards: write {last}..{first}.")
    if last > kind.highest:
        raise LevelsError(f"'{term}' asks for more than {kind.highest:,} {kind.plural}.")


def _geometric(term: str, first: int, last: int, factor: Decimal) -> Iterator[int]:
    if factor < LOWEST_FACTOR:
        raise LevelsError(f"'{term}' never ends, or only slowly: its factor must be at least {LOWEST_FACTOR}.")
    return _multiplied(first, last, factor)


def _multiplied(first: int, last: int, factor: Decimal) -> Iterator[int]:
    """Yield levels rounded one by one, so that no rounding is carried on; of equals parse() keeps one."""
    clients = Decimal(first)
    while (level := int(clients.to_integral_value(ROUND_HALF_UP))) <= last:
        yield level
        clients *= factor
