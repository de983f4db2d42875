"""Replace names and addresses in a text, however they are spelled, quoted, escaped or broken into lines.

The text is read in a plain form: compatibility forms of characters resolved, accents and case dropped, invisible
characters left out, escapes of HTML, JSON and addresses undone. Each character there knows its place in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from . import addresses, discounts, escapes, machines
from .nodes import Node

HIDDEN = "hidden"
# Counts the rules that hide: raise it with each that hides more, and links of before show the less from then on.
VERSION = 3
# Names as long as this are replaced wherever they stand, shorter ones as whole words: 'test' is no part of 'latest'.
LONG_NAME = 8
LONGEST_NAME = 253
DROPPED = re.compile(r"[\s,'\"\\]")
BETWEEN = r"[\s,'\"\\]*"
REST = re.compile(r"(?:\.[\w-]+)*(?::[0-9]{1,5}(?![0-9]))?")
HOST_NAME = re.compile(r"[\w.-]+")
NAMING = frozenset("._-")
FULL_STOPS = str.maketrans(dict.fromkeys("\u3002\uff61\u2024\u00b7\u2022\u2219\u22c5", "."))
# Categories of characters that nobody sees, and letters that are drawn as blanks.
INVISIBLE = frozenset(("Cf", "Mn", "Me", "Cc"))
BLANK_LETTERS = frozenset("\u115f\u1160\u2800")
# Words that stand behind the names of many people's hosts, and give nobody away.
GENERIC = frozenset(
    ("local", "localdomain", "lan", "home", "internal", "intranet", "private", "corp", "test", "co", "com")
)
# A host that nobody chose for a page may be called by a word that is in every text.
SHORTEST_TELLING = 5
ORDINARY = frozenset(
    (
        *("archive", "backup", "baseline", "bench", "benchmark", "buffers", "cache", "checkpoint", "client", "clients"),
        *("cluster", "commit", "database", "driver", "hardware", "latency", "local", "localhost", "machine", "master"),
        *("measure", "median", "memory", "monitor", "pooler", "postgres", "postgresql", "primary", "prices"),
        *("production", "query", "reads", "repeat", "replica", "restart", "server", "settings", "settle", "staging"),
        *("standby", "storage", "system", "tables", "target", "throughput", "tuned", "tuning", "vacuum", "warmup"),
        *("worker", "workload", "write", "writes"),
    )
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A text in its plain form, with the places (starts, ends) of each of its characters in the text."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class Name:
    """A name in its plain form without blanks and quotes; one `of_host` takes the rest of a dotted name along."""

    form: str
    alias: str
    of_host: bool


class Redactor:
    """Hides names of hidden classes behind their aliases, and addresses where that class is hidden."""

    def __init__(self, names: Iterable[Node], hidden: Iterable[str]) -> None:
        classes = set(hidden)
        hidden_nodes = [node for node in names if node["about"] in classes and node["name"].strip()]
        self.names = {name.form: name for name in chain.from_iterable(map(_names, hidden_nodes))}
        self.with_addresses, self.with_machines = "address" in classes, "host" in classes
        self.with_discounts = "discount" in classes
        self.pattern = _pattern(self.names)

    @property
    def is_idle(self) -> bool:
        is_finding = self.with_addresses or self.with_machines or self.with_discounts
        return self.pattern is None and not is_finding

    def text(self, text: str) -> str:
        """Return the text without what is hidden."""
        if self.is_idle or not text:
            return text
        parts, last = [], 0
        for begin, stop, alias in _apart(chain(self._in_plain(text), self._encoded(text))):
            parts += [text[last:begin], alias]
            last = stop
        return "".join([*parts, text[last:]]) if parts else text

    def _in_plain(self, text: str) -> Iterator[tuple[int, int, str]]:
        plain = plain_of(text)
        for start, end, alias in self._found(plain.text):
            yield plain.starts[start], plain.ends[end - 1], alias

    def _encoded(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield each word that stands for a text with something to hide: the whole of it."""
        for start, end, inner in escapes.encoded(text):
            if any(self._found(plain_of(inner).text)):
                yield start, end, HIDDEN

    def _found(self, plain: str) -> Iterator[tuple[int, int, str]]:
        if self.pattern is not None:
            for match in self.pattern.finditer(plain):
                name = self.names[DROPPED.sub("", match[0])]
                yield (*(_whole(plain, match.span()) if name.of_host else match.span()), name.alias)
        if self.with_addresses:
            for span in addresses.spans(plain):
                yield (*_whole(plain, span), HIDDEN)
        if self.with_machines:
            yield from ((*_whole(plain, span), HIDDEN) for span in machines.spans(plain))
        if self.with_discounts:
            yield from ((*span, HIDDEN) for span in discounts.spans(plain))


def plain_of(text: str) -> Plain:
    """Return the plain form of a text, in linear time."""
    if text.isascii() and not escapes.SIGN.search(text):
        return Plain(text.lower(), range(len(text)), range(1, len(text) + 1))
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in escapes.UNIT.finditer(text):
        for character in _unit(match[0]):
            characters.append(character)
            starts.append(match.start())
            ends.append(match.end())
    return Plain("".join(characters), starts, ends)


@lru_cache(maxsize=65_536)
def _unit(unit: str) -> str:
    """Return the plain form of one character, or of one escape."""
    return _folded(unit) if len(unit) == 1 else "".join(map(_folded, escapes.character(unit)))


def _folded(character: str) -> str:
    decimal = unicodedata.decimal(character, None)
    if decimal is not None:
        return str(decimal)
    parts = unicodedata.normalize("NFKD", character).translate(FULL_STOPS).casefold()
    return "".join(part for part in unicodedata.normalize("NFKD", parts) if not _is_invisible(part))


def _is_invisible(character: str) -> bool:
    if character in BLANK_LETTERS:
        return True
    return unicodedata.category(character) in INVISIBLE and not character.isspace()


def _form(name: str) -> str:
    return DROPPED.sub("", plain_of(name).text)


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return those of the names that a redactor would find in a text; of two at one place the longer.

    Names that are ordinary words are never among them.
    """
    texts = [plain_of(part).text for part in (text, *(inner for *_, inner in escapes.encoded(text)))]
    whole = "\n".join(DROPPED.sub("", part) for part in texts)
    forms = {name: form for name in names if not is_ordinary(name) and (form := _form(name)) and form in whole}
    pattern = _pattern(forms.values())
    matches = chain.from_iterable(map(pattern.finditer, texts)) if pattern else ()
    found_forms = {DROPPED.sub("", match[0]) for match in matches}
    return [name for name, form in forms.items() if form in found_forms]


def is_ordinary(name: str) -> bool:
    """Tell whether a name is a word of many texts: of benchmarks, settings and steps, or of less than five letters."""
    form = _form(name)
    return form in ORDINARY or (form.isalpha() and len(form) < SHORTEST_TELLING)


def _names(node: Node) -> Iterator[Name]:
    """Yield a name, and of a host also the domain that its name is in."""
    is_of_host = node["about"] in ("host", "address")
    if form := _form(node["name"]):
        yield Name(form, node["alias"], is_of_host)
    if node["about"] == "host":
        yield from (Name(_form(domain), HIDDEN, is_of_host) for domain in _domains(node["name"]))


def _domains(host: str) -> Iterator[str]:
    """Yield the domains that a host's name is in: rack.example.org, example.org."""
    labels = host.strip().strip(".").casefold().split(".")
    if not HOST_NAME.fullmatch(host.strip()) or not any(map(str.isalpha, labels[-1])):
        return
    for first in range(1, max(2, len(labels) - 1)):
        domain = labels[first:]
        if domain and domain[0] not in GENERIC:
            yield ".".join(domain)


def _pattern(names: Collection[str]) -> re.Pattern[str] | None:
    """Return a pattern of any of these forms, the longest first, so that one that holds another goes as a whole."""
    parts = [_name_pattern(form) for form in sorted(names, key=len, reverse=True)]
    if not parts:
        return None
    # Most characters begin no name: one look at each spares all the alternatives.
    firsts = "".join(sorted({re.escape(form[0]) for form in names}))
    return re.compile(f"(?=[{firsts}])(?:{'|'.join(parts)})")


def _name_pattern(form: str) -> str:
    pattern = BETWEEN.join(map(re.escape, form))
    if len(form) >= LONG_NAME:
        return pattern
    return rf"(?<![^\W_]){pattern}(?![^\W_])" if form[0].isalnum() else rf"{pattern}(?![^\W_])"


def _whole(plain: str, span: tuple[int, int]) -> tuple[int, int]:
    """Take the rest of a dotted name along, with a port: db1.rack-7.example.org:5433, whichever part is known."""
    start, end = span
    if start and plain[start - 1] in NAMING:
        first = start
        while first and start - first < LONGEST_NAME and (plain[first - 1].isalnum() or plain[first - 1] in NAMING):
            first -= 1
        start = first
    match = REST.match(plain, end, end + LONGEST_NAME)
    return start, match.end() if match else end


def _apart(spans: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Join spans that overlap; the first of the longest keeps its alias."""
    joined: list[tuple[int, int, str]] = []
    for start, end, alias in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, own_alias = joined[-1]
            joined[-1] = (first, max(last, end), own_alias)
        else:
            joined.append((start, end, alias))
    yield from joined
