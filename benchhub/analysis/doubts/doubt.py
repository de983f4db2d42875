"""A doubt: a reason not to trust a number as it stands, with its weight and its place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

# One of the numbers must be wrong.
CONTRADICTIONS = frozenset(
    {
        "littles-law",
        "derived-average",
        "latency-sum",
        "latency-order",
        "histogram",
        "rate",
        "progress",
        "logged-count",
        "logged-lag",
        "log-clock",
        "script-count",
        "share",
        "count",
        "commits-missing",
        "failure-count",
        "retry-count",
        "late-count",
        "excluding-below-including",
        # The output states that it is of another run.
        "client-version",
        "server-version",
        "script",
        "script-names",
        "database",
        "mix",
        "scale",
        "scale-variable",
        "partitions",
        "query-mode",
        "clients",
        "threads",
        "duration",
        "tries",
        "connections",
        "rate-limit",
        "latency-limit",
        "statement-latencies",
        "failures",
        "warmup",
    }
)
SLIGHT = frozenset({"overrun", "threads-uneven", "threads-beyond-clients", "clients-share-host", "progress-unreadable"})


class Weight(IntEnum):
    """The weight of a doubt; a verdict is that of its heaviest doubt."""

    SLIGHT = 1
    DOUBTFUL = 2
    CONTRADICTED = 3


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason not to trust a number as it stands.

    `code` is stable; `text` is a sentence with its numbers; `where` is the place in words ('at 8 clients'), empty where
    the doubt is about the whole.
    """

    code: str
    text: str
    weight: Weight = Weight.DOUBTFUL
    where: str = ""


def weighed(code: str, text: str) -> Doubt:
    """Return the doubt with the weight that its code has."""
    weight = Weight.CONTRADICTED if code in CONTRADICTIONS else Weight.DOUBTFUL
    return Doubt(code, text, Weight.SLIGHT if code in SLIGHT else weight)
