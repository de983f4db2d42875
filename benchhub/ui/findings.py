"""A line for each thing that was looked at: whether it is in order, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "bad"]
LEVELS: tuple[Level, ...] = ("ok", "warn", "bad")


@dataclass(frozen=True, slots=True)
class Finding:
    """`remedy` is one sentence saying what to do; empty where nothing is to be done."""

    name: str
    level: Level
    text: str
    remedy: str = ""


def worst(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")
