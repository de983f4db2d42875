"""Mark what in a text that was typed freely may still tell readers more than they should know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# Each alternative begins with what no other part of it can be, so that a text is read once.
RECOGNISABLE = re.compile(
    r"""
    (?P<secret>\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|credentials?)\b["']?\s{0,3}[=:]\s{0,3}\S{1,200})
    | (?P<address>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})
    | (?P<site>\b[a-z]{2,12}://\S{1,300})
    | (?P<folder>(?<![\w/])~?(?:/[\w.@+-]{1,80}){2,20})
    | (?P<host>\b[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,6}\.[a-z]{2,12}\b)
    | (?P<code>\b(?=[0-9]{0,127}[a-f])[0-9a-f]{16,128}\b|\b(?=[0-9+_-]{0,199}[A-Za-z])[A-Za-z0-9+_-]{32,200}={0,2})
    """,
    re.VERBOSE | re.IGNORECASE,
)
WHY = {
    "secret": "looks like a secret",
    "address": "looks like somebody's address",
    "site": "leads to a site",
    "folder": "names a folder",
    "host": "looks like a host's name",
    "code": "looks like a key or a digest",
}
NUMBER, PORT = re.compile(r"(?<![0-9])([0-9]{2,5})(?![0-9])"), "is a port of a server or host"
FILES = re.compile(r"[\w-]+\.(?:sql|lua|conf|csv|json|html|sh|txt|py|md|log|gz|pdf)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text; `why` says what it looks like, empty for what gives nothing away."""

    text: str
    why: str = ""


def parts(text: str, ports: Collection[str] = ()) -> list[Part]:
    """Return the whole text in parts, in linear time; a number that is one of the ports is marked."""
    return [part for marked in _parts(text) for part in ([marked] if marked.why else _numbers(marked.text, ports))]


def _numbers(text: str, ports: Collection[str]) -> Iterator[Part]:
    """Yield a text with the numbers marked that are ports: they may be anything else as well."""
    for number, part in enumerate(NUMBER.split(text) if ports else (text,)):
        if part:
            yield Part(part, PORT if number % 2 and part in ports else "")


def _parts(text: str) -> Iterator[Part]:
    last = 0
    for match in RECOGNISABLE.finditer(text):
        if match.lastgroup is None or FILES.fullmatch(match[0]):
            continue
        if match.start() > last:
            yield Part(text[last : match.start()])
        yield Part(match[0], WHY[match.lastgroup])
        last = match.end()
    if last < len(text):
        yield Part(text[last:])
