"""Settings as people type them, a line each as in postgresql.conf, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchhub.analysis.protocol.settings import server_name

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_VALUE = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^'#][^#]*)")


def read_settings(text: str, *, keep_case: bool = False) -> dict[str, str]:
    """Return {name: value} of lines `name = value`; # begins a comment. Raises ValueError with each line that is wrong.

    A name is spelled as PostgreSQL does, which takes any case for the same, unless its case is kept.
    """
    settings: dict[str, str] = {}
    faults: list[str] = []
    for number, line in _lines(text):
        try:
            typed, value = _setting(line)
            name = typed if keep_case else server_name(typed)
            if name in settings:
                raise ValueError(f"{name} is set a second time.")
            settings[name] = value
        except ValueError as error:
            faults.append(f"Line {number}: {error}")
    if faults:
        raise ValueError(" ".join(faults))
    return settings


def write_settings(settings: Mapping[str, Any]) -> str:
    """Return the lines from which `read_settings` reads the same again."""
    return "\n".join(f"{name} = {_quoted(str(value))}" for name, value in settings.items())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def _setting(line: str) -> tuple[str, str]:
    name, equals, rest = (part.strip() for part in line.partition("="))
    if not equals:
        raise ValueError(f"write name = value, not '{line}'.")
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name}' is no name of a setting; use letters, digits, underscores and dots.")
    return name, _value(name, rest)


def _value(name: str, text: str) -> str:
    match = _VALUE.match(text)
    if not match:
        raise ValueError(f"{name} has no value, or a quote that is not closed.")
    if (rest := text[match.end() :].strip()) and not rest.startswith("#"):
        raise ValueError(f"after the value of {name} stands '{rest}'; put the whole value in quotes.")
    plain = match["plain"]
    return match["quoted"].replace("''", "'") if plain is None else plain.strip()


def _quoted(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'" if not value or value != value.strip() or re.search(r"['#]", value) else value
