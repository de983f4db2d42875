"""Raise or cut the units of each socket to what its rules have as least and most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchhub.analysis.pricing.steps import step

from .metric import CountRules, Log


def clamped_sockets(rules: CountRules, units_by_socket: Sequence[int], log: Log) -> int:
    """Return the units of all sockets, each raised to its minimum or cut to its maximum."""
    total = 0
    for per_socket, sockets in groupby(sorted(units_by_socket, reverse=True)):
        groups = len(list(sockets))
        due = max(per_socket, rules.minimum_per_socket)
        due = min(due, rules.maximum_per_socket or due)
        if due != per_socket:
            _log_clamp(per_socket, due, groups, log)
        total += groups * due
    return total


def _log_clamp(per_socket: int, due: int, groups: int, log: Log) -> None:
    kind, word = ("minimum", "raised") if due > per_socket else ("maximum", "cut")
    template = f"{kind.capitalize()}: {{per_socket}} of a socket are {word} to {{due}}; "
    template += "{groups} x {due} = {result}"
    words = {"per_socket": per_socket, "due": due, "groups": groups}
    log.append(step(f"{kind}_per_socket", template, groups * due, **words))


def sum_words(numbers: Sequence[int]) -> str:
    """Write numbers as a sum: '16 + 8'."""
    return " + ".join(map(str, numbers))
