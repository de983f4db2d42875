"""The published reports for tests: parsed once, recomputed, or with a field changed."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchhub.analysis import published
from benchhub.analysis.published.check import Check
from benchhub.analysis.published.document import Document

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "published"
PARSED = {letter: tomllib.loads((FIXTURES / f"report-{letter.lower()}.toml").read_text()) for letter in "ABCD"}


def document(letter: str, parsed: dict[str, Any] | None = None) -> Document:
    return published.read(f"report-{letter.lower()}.toml", parsed or PARSED[letter])


def checks(letter: str) -> tuple[Check, ...]:
    return published.recompute(document(letter))


def only(letter: str, group: str, subject: str) -> Check:
    [check] = [check for check in checks(letter) if (check.group, check.subject) == (group, subject)]
    return check


def changed(letter: str, kind: str, number: int, **fields: Any) -> dict[str, Any]:
    parsed = deepcopy(PARSED[letter])
    parsed[kind][number].update(fields)
    return parsed
