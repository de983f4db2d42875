"""Every change of one number or one line of a text that a load generator left, with the field that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A number with its decimals; what is part of a word or of a name is none.
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.]*\w*\.(?:sql|py))")
BLANKS = re.compile(r" +")


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text with one thing changed: `field` is its line with # for each number and <#> for the changed one."""

    field: str
    title: str
    text: str


def text_changes(text: str) -> Iterator[TextChange]:
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        before, after = "".join(lines[:place]), "".join(lines[place + 1 :])
        yield from (
            TextChange(field, title, before + changed + after) for field, title, changed in _number_changes(line)
        )
        name = _field(line)
        yield TextChange(name, "dropped", before + after)
        yield TextChange(name, "doubled", before + line + line + after)
        if place + 1 < len(lines) and lines[place + 1] != line:
            swapped = lines[place + 1] + line + "".join(lines[place + 2 :])
            yield TextChange(name, "swapped with the next", before + swapped)


def _number_changes(line: str) -> Iterator[tuple[str, str, str]]:
    for match in NUMBER.finditer(line):
        before, after = line[: match.start()], line[match.end() :]
        field = f"{_numberless(before)}<#>{_numberless(after)}".strip()
        for title, number in changed_numbers(match[0]).items():
            yield field, f"{match[0]} {title}", f"{before}{number}{after}"


def changed_numbers(number: str) -> dict[str, str]:
    """Return other numbers in its place, with as many decimals, by what was done to it."""
    decimals = len(number.partition(".")[2])
    value, last = float(number), 10.0**-decimals
    changed = {
        "times 10": f"{value * 10:.{decimals}f}",
        "by 10": f"{value / 10:.{decimals}f}",
        "and 1": f"{value + 1:.{decimals}f}",
        "and its last digit": f"{value + last:.{decimals}f}",
        "with digits swapped": _swapped(number),
        "below 0": f"-{number}",
        "as 0": f"{0:.{decimals}f}",
        "left out": "",
    }
    return {title: other for title, other in changed.items() if other != number}


def _swapped(number: str) -> str:
    """Return the number with its first two unlike neighbouring digits swapped."""
    pair = re.search(r"(\d)(?!\1)(\d)", number)
    return f"{number[: pair.start()]}{pair[2]}{pair[1]}{number[pair.end() :]}" if pair else number


def _field(line: str) -> str:
    return _numberless(line).strip()


def _numberless(text: str) -> str:
    return BLANKS.sub(" ", re.sub(r"\*+", "*", NUMBER.sub("#", text)))
