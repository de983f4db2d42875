"""Words of the pages of periods, in which a host is blocked or an experiment may run."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PERIODS = 50


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the pages for one kind of owner; `{}` stands for its name."""

    title: str
    intro: str
    none: str
    once: str
    weekly: str


KINDS = {
    "host": Words(
        "When {} is blocked",
        "In these periods no run starts on the host, nor one that would reach into them. A run under way goes on.",
        "The host is never blocked.",
        "Block {} once",
        "Block {} every week",
    ),
    "experiment": Words(
        "When {} may run",
        "A run of it starts only where its expected end lies in one of these periods. Other experiments may use the "
        "hosts meanwhile: what comes first is a matter of priority.",
        "It may run at any time.",
        "Let {} run once",
        "Let {} run every week",
    ),
}
