"""A matcher that goes back as Python's `re` does, and counts its steps: time without a clock.

It reads what `re` itself makes of a pattern, tries at every place of a text as a search does, and counts each character
that is looked at. A pattern whose steps more than double with the text takes longer than anybody waits for a large one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from re import _constants as ops  # type: ignore[attr-defined]  # isort: skip
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip

MOST_STEPS = 100_000
Groups = dict[int, tuple[int, int]]
CATEGORIES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_NOT_DIGIT: lambda character: not character.isdigit(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    ops.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
    ops.CATEGORY_NOT_WORD: lambda character: not (character.isalnum() or character == "_"),
}


class Steps:
    """The steps of one pattern over one text."""

    def __init__(self, pattern: re.Pattern[Any], text: str) -> None:
        source = pattern.pattern
        self.tree = parser.parse(source if isinstance(source, str) else source.decode("latin-1"), _flags(pattern))
        self.flags = pattern.flags
        self.text = text
        self.number = 0

    def search_all(self) -> int:
        """Return the steps to find every match."""
        start = 0
        while start <= len(self.text):
            end = next(self._sequence(list(self.tree), 0, start, {}), None)
            start = max(start + 1, start if end is None else end)
        return self.number

    def match(self) -> int:
        """Return the steps to match at the beginning, or not."""
        next(self._sequence(list(self.tree), 0, 0, {}), None)
        return self.number

    def _step(self) -> None:
        self.number += 1
        if self.number > MOST_STEPS:
            raise OverflowError

    def _sequence(self, items: Sequence[Any], place: int, at: int, groups: Groups) -> Iterator[int]:
        if place == len(items):
            yield at
            return
        for end in self._item(*items[place], at, groups):
            yield from self._sequence(items, place + 1, end, groups)

    def _item(self, op: Any, argument: Any, at: int, groups: Groups) -> Iterator[int]:
        self._step()
        if self._is_character(op):
            if at < len(self.text) and self._takes(op, argument, self.text[at]):
                yield at + 1
        elif op is ops.AT:
            if self._holds(argument, at):
                yield at
        elif op is ops.BRANCH:
            for branch in argument[1]:
                yield from self._sequence(list(branch), 0, at, groups)
        elif op is ops.SUBPATTERN:
            for end in self._sequence(list(argument[3]), 0, at, groups):
                yield from self._grouped(argument[0], (at, end), groups)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from self._assertion(op, argument, at, groups)
        elif op is ops.GROUPREF:
            begin, end = groups.get(argument, (0, 0))
            if self.text.startswith(self.text[begin:end], at):
                yield at + end - begin
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            yield from self._repeat(op, argument, at, groups)
        else:
            raise NotImplementedError(op)

    def _grouped(self, group: int | None, span: tuple[int, int], groups: Groups) -> Iterator[int]:
        if group is None:
            yield span[1]
            return
        before = groups.get(group)
        groups[group] = span
        yield span[1]
        groups[group] = before or span

    def _assertion(self, op: Any, argument: Any, at: int, groups: Groups) -> Iterator[int]:
        direction, items = argument
        start = at if direction > 0 else at - items.getwidth()[1]
        is_there = start >= 0 and next(self._sequence(list(items), 0, start, groups), None) is not None
        if is_there == (op is ops.ASSERT):
            yield at

    def _repeat(self, op: Any, argument: Any, at: int, groups: Groups) -> Iterator[int]:
        least, most, items = argument
        if len(items) == 1 and self._is_character(items[0][0]):
            yield from self._run(op, int(least), most, items[0], at)
        else:
            yield from self._repeated(op, least, most, list(items), at, 0, groups)

    def _run(self, op: Any, least: int, most: Any, item: Any, at: int) -> Iterator[int]:
        end = at
        if op is ops.MIN_REPEAT:
            while True:
                if end - at >= least:
                    yield end
                self._step()
                if end - at >= most or end >= len(self.text) or not self._takes(*item, self.text[end]):
                    return
                end += 1
        while end - at < most and end < len(self.text) and self._takes(*item, self.text[end]):
            self._step()
            end += 1
        for place in range(end, at + least - 1, -1):
            self._step()
            yield place
            if op is ops.POSSESSIVE_REPEAT:
                return

    def _repeated(
        self, op: Any, least: int, most: Any, items: list[Any], at: int, times: int, groups: Groups
    ) -> Iterator[int]:
        if op is ops.MIN_REPEAT and times >= least:
            yield at
        if times < most:
            for end in self._sequence(items, 0, at, groups):
                if end > at or times < least:
                    yield from self._repeated(op, least, most, items, end, times + 1, groups)
        if op is not ops.MIN_REPEAT and times >= least:
            yield at

    @staticmethod
    def _is_character(op: Any) -> bool:
        return op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)

    def _takes(self, op: Any, argument: Any, character: str) -> bool:
        if op is ops.ANY:
            return bool(self.flags & re.DOTALL) or character != "\n"
        forms = {character, character.lower(), character.upper()} if self.flags & re.IGNORECASE else {character}
        if op is ops.IN:
            is_negated = argument[0][0] is ops.NEGATE
            return any(_in_set(argument, form) for form in forms) != is_negated
        return (chr(argument) in forms) == (op is ops.LITERAL)

    def _holds(self, where: Any, at: int) -> bool:
        text = self.text
        is_multiline = bool(self.flags & re.MULTILINE)
        if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return at == 0 or (where is ops.AT_BEGINNING and is_multiline and text[at - 1] == "\n")
        if where in (ops.AT_END, ops.AT_END_STRING):
            is_last = at == len(text) or (where is ops.AT_END and text[at:] == "\n")
            return is_last or (where is ops.AT_END and is_multiline and text[at] == "\n")
        is_word = CATEGORIES[ops.CATEGORY_WORD]
        sides = [is_word(side) for side in (text[max(0, at - 1) : at], text[at : at + 1])]
        return (sides[0] != sides[1]) == (where is ops.AT_BOUNDARY)


def _flags(pattern: re.Pattern[Any]) -> int:
    return pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE)


def _in_set(members: Sequence[Any], character: str) -> bool:
    for op, argument in members:
        if op is ops.LITERAL and ord(character) == argument:
            return True
        if op is ops.RANGE and argument[0] <= ord(character) <= argument[1]:
            return True
        if op is ops.CATEGORY and CATEGORIES[argument](character):
            return True
    return False


def example(tree: Any) -> str:
    """Return a text that a pattern goes far into: the first of each choice, and two of what may repeat."""
    text = ""
    for op, argument in tree:
        if op is ops.LITERAL:
            text += chr(argument)
        elif op is ops.IN:
            text += _member(argument)
        elif op in (ops.ANY, ops.NOT_LITERAL):
            text += "x"
        elif op is ops.BRANCH:
            text += example(argument[1][0])
        elif op is ops.SUBPATTERN:
            text += example(argument[3])
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            text += example(argument[2]) * max(int(argument[0]), min(2, int(argument[1])))
    return text


def _member(members: Sequence[Any]) -> str:
    candidates = "\t \n0aA_[-x."
    is_negated = members[0][0] is ops.NEGATE
    by_literal = next((chr(argument) for op, argument in members if op is ops.LITERAL), "")
    fitting = [character for character in candidates if _in_set(members, character) != is_negated]
    return fitting[0] if fitting else by_literal


def steps(pattern: re.Pattern[Any], text: str, *, is_search: bool = True) -> int:
    """Return how many steps a pattern takes over a text; MOST_STEPS where it takes more."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(60_000)
    counter = Steps(pattern, text)
    try:
        return counter.search_all() if is_search else counter.match()
    except OverflowError:
        return MOST_STEPS
    finally:
        sys.setrecursionlimit(before)
