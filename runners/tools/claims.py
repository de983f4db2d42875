"""Hold what an output claims of its run against what was asked for.

This is one description and one comparison for all load generators: for runs of our own, for deliveries, and for a later
parser. What an output does not state is not claimed, and what a plan leaves open is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

CLIENT_VERSION, SERVER_VERSION = "client_version", "server_version"
CLIENTS, THREADS, DURATION, WARMUP = "clients", "threads", "duration", "warmup"
RATE, LATENCY_LIMIT = "rate_limit", "latency_limit"

VERSION = re.compile(r"(?<!\d)(\d{1,3})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?(devel|(?:alpha|beta|rc)\d{0,3})?")
LONGEST_WORDS = 80


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact of a run that its output states: in words, and with which values of a plan it agrees."""

    words: str
    agrees: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a run as it was asked for."""

    value: Any
    words: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A fact that an output states otherwise than it was asked for."""

    name: str
    text: str

    @property
    def code(self) -> str:
        return self.name.replace("_", "-")


def contradictions(claims: Mapping[str, Claim], facts: Mapping[str, Fact]) -> tuple[Contradiction, ...]:
    """Return each fact of which the output claims another value; () where they agree."""
    return tuple(
        Contradiction(name, f"The output is of {claim.words}, not of {facts[name].words}.")
        for name, claim in claims.items()
        if name in facts and not claim.agrees(facts[name].value)
    )


def exactly(value: Any, words: str) -> Claim:
    """Return the claim of one value."""
    return Claim(words[:LONGEST_WORDS], lambda planned: bool(planned == value))


def counted(number: int, noun: str, plural: str = "") -> Claim:
    """Return the claim of a number of things."""
    return exactly(number, count_words(number, noun, plural))


def count_words(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def number_fact(number: int) -> Fact:
    return Fact(number, f"{number:,}")


@dataclass(frozen=True, slots=True)
class Version:
    """A version as a program writes it. Before a release it has a `stage`: devel, beta1, rc1."""

    numbers: tuple[int, ...]
    stage: str = ""

    @classmethod
    def read(cls, text: str) -> Version | None:
        """Return the first version in a text: '16.4 (Debian 16.4-1.pgdg120+1)' is 16.4; None where there is none."""
        match = VERSION.search(text)
        if not match:
            return None
        *digits, stage = match.groups()
        numbers = tuple(int(number) for number in digits if number is not None)
        # A release that is not out yet counts as the one before its first.
        return cls((*numbers, 0) if stage else numbers, stage or "")

    def agrees(self, other: Version) -> bool:
        """Return whether both may be the same, at the precision that both have."""
        same = all(mine == its for mine, its in zip(self.numbers, other.numbers, strict=False))
        return same and (self.stage == other.stage or not self.stage or not other.stage)


def of_version(text: str, words: str) -> Claim | None:
    """Return the claim of a version; None where the text has none."""
    version = Version.read(text)
    return Claim(words[:LONGEST_WORDS], lambda planned: _is_version(version, planned)) if version else None


def _is_version(version: Version, planned: str) -> bool:
    other = Version.read(planned)
    return other is None or version.agrees(other)
