"""Custom scripts of pgbench taken apart: statements, commands, and the variables that they set and use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

META_COMMAND = re.compile(r"[ \t\r\f\v]*\\(?:\\[ \t]*\r?\n|[^\n])*")
CONDITION = re.compile(r"[ \t]*\\[ \t]*(if|elif|else|endif)\b", re.IGNORECASE)
BLANK = re.compile(r"\s+|--[^\n]*|/\*.*?\*/", re.DOTALL)
# pgbench takes the other comments for a statement, which does nothing.
NO_COMMAND = re.compile(r"(?:\s|--[^\n]*)*")
# What ends a statement, and what may hold a semicolon that does not.
PIECE = re.compile(
    r"(?P<blank>--[^\n]*|/\*.*?\*/)"
    r"|(?P<end>;|\\(?:;|(?:gset|aset)\b[^\n]*))"
    r"|(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
    r"|(?<![\w$])\$(?P<tag>(?:[^\W\d]\w{0,62})?)\$.*?\$(?P=tag)\$"
    # What nothing ends reaches to the end of the script.
    r"|/\*.*|[eE]?['\"].*|(?<![\w$])\$(?:[^\W\d]\w{0,62})?\$.*|.)",
    re.DOTALL,
)
VARIABLE = re.compile(r"(?<!:):([A-Za-z_][A-Za-z0-9_]*)")
CONTINUED = re.compile(r"\\[ \t]*\r?\n")
# By commands, and by the columns of a result, whose names begin with a prefix or with nothing more.
SET = re.compile(r"\\[ \t\r\f\v]*set(?:random)?[ \t\r\f\v]+(\w+)", re.IGNORECASE)
SET_FROM_RESULT = re.compile(r"\\(?:gset|aset)\b[ \t]*(\w*)")
SET_BY_PGBENCH = ("scale", "client_id", "random_seed", "default_seed")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement. Its text begins on the line `line` of the script, counted from 1, and keeps the script's lines."""

    line: int
    text: str


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a script; commands of pgbench and comments are left out."""
    for at, end, is_meta in _parts(text):
        if not is_meta:
            yield Statement(_line(text, at), _without_comments(text, at, end))


def meta_commands(text: str) -> Iterator[Statement]:
    """Yield the commands of pgbench that stand on lines of their own."""
    for at, end, is_meta in _parts(text):
        if is_meta:
            yield Statement(_line(text, at), text[at:end])


def _parts(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield of each part: its beginning, where the next may begin, and whether it is a command of pgbench."""
    at = 0
    while at < len(text):
        if blank := BLANK.match(text, at):
            at = blank.end()
            continue
        is_meta = text[at] == "\\" and not text[:at].rpartition("\n")[2].strip()
        match = META_COMMAND.match(text, at) if is_meta else None
        ends = (piece.end() for piece in PIECE.finditer(text, at) if piece["end"])
        end = match.end() if match else next(ends, len(text))
        yield at, end, is_meta
        at = end


def _without_comments(text: str, at: int, end: int) -> str:
    """Return a statement without what ends it; of its comments a blank and the ends of lines stay."""
    pieces = [piece for piece in PIECE.finditer(text, at, end) if not piece["end"]]
    return "".join(" " + "\n" * piece[0].count("\n") if piece["blank"] else piece[0] for piece in pieces).strip()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def has_commands(text: str) -> bool:
    """Tell whether pgbench finds anything to do in a script."""
    return NO_COMMAND.fullmatch(text) is None


def unbalanced_line(text: str) -> int | None:
    """Return the first line whose \\elif, \\else or \\endif fits no \\if, or that of the last \\if without \\endif."""
    open_ifs: list[tuple[int, bool]] = []  # line, and whether its \\else has been
    for at, match in enumerate(map(CONDITION.match, text.split("\n")), start=1):
        word = match[1].lower() if match else ""
        if word == "if":
            open_ifs.append((at, False))
        elif word and (not open_ifs or (word != "endif" and open_ifs[-1][1])):
            return at
        elif word == "endif":
            open_ifs.pop()
        elif word == "else":
            open_ifs[-1] = (open_ifs[-1][0], True)
    return open_ifs[-1][0] if open_ifs else None


class Variables:
    """The variables that scripts which run together may set; nobody can tell beforehand which script is the first."""

    def __init__(self, texts: Iterable[str], variables: Mapping[str, object]) -> None:
        scripts = [CONTINUED.sub(" ", text) for text in texts]
        self.names = {*SET_BY_PGBENCH, *variables, *(match[1] for text in scripts for match in SET.finditer(text))}
        self.prefixes = tuple({match[1] for text in scripts for match in SET_FROM_RESULT.finditer(text)})

    def may_be_set(self, name: str) -> bool:
        return name in self.names or name.startswith(self.prefixes)

    def unset_in(self, parts: Iterable[Statement]) -> Iterator[tuple[int, str]]:
        """Yield (line, name) of the variables there that nothing sets."""
        for part in parts:
            for match in VARIABLE.finditer(part.text):
                if not self.may_be_set(match[1]):
                    yield part.line + part.text.count("\n", 0, match.start()), match[1]
