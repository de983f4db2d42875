"""The variables that a think time needs for itself: no script and no -D may set one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..statements import CONTINUED
from .think import VARIABLES

# Pauses follow from the client's number: with another one, response times would lose a pause that never was.
CLIENT = "client_id"
NAMES = (*VARIABLES, CLIENT)
WORD = re.compile(r"(?<![A-Za-z0-9_:])[a-z_][a-z0-9_]*", re.IGNORECASE)
SET = re.compile(r"\\[ \t]*set(?:random)?[ \t]+([a-z_][a-z0-9_]*)", re.IGNORECASE)
# A row becomes variables: a prefix, if there is one, and then the name of each column.
ROW_SET = re.compile(r"\\[ \t]*[ag]set\b[ \t]*([a-z0-9_]*)", re.IGNORECASE)


def set_name(variables: Iterable[str], texts: Iterable[str]) -> str:
    """Return the first reserved variable that is set in the variables or the scripts; empty where none is."""
    names = {*variables, *(name for text in texts for name in _set_names(CONTINUED.sub("", text)))}
    return next((name for name in NAMES if name in names), "")


def _set_names(text: str) -> Iterator[str]:
    """Yield what a script may set; of rows every word that could be the name of a column."""
    yield from SET.findall(text)
    if prefixes := set(ROW_SET.findall(text)):
        words = {word.lower() for word in WORD.findall(text)}
        yield from (name for name in NAMES for prefix in prefixes if _ends_as(name, prefix, words))


def _ends_as(name: str, prefix: str, words: set[str]) -> bool:
    return name.startswith(prefix) and name.removeprefix(prefix) in words
