"""Tell in which facts environments differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MISSING = "not there"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same everywhere, with its value in each environment."""

    name: str
    values: tuple[str, ...]


def differences(environments: Sequence[Mapping[str, str]]) -> list[Difference]:
    """Return the facts that differ, in the order in which they are first there."""
    names = dict.fromkeys(name for environment in environments for name in environment)
    rows = (Difference(name, tuple(facts.get(name, MISSING) for facts in environments)) for name in names)
    return [row for row in rows if len(set(row.values)) > 1]
