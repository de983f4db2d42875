"""Read what the console of a pooler said. What it says is never believed: it is bounded, and read in linear time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from runners.contract import Doubt, Pooler
from runners.readings import read_sections, storable, whole

from .script import MOST_BYTES, MOST_ERROR_BYTES
from .settings import QUERIES, SETTINGS

SEPARATOR = "\x1f"
LONGEST_VALUE, LONGEST_ERROR = 200, 500
VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9a-z]{1,8}){1,3}")
MODES = ("session", "transaction", "statement")
SILENT = "its console said nothing"
UNREAD = "Nothing tells how {} pools: {}."
# By the words of psql. These may name addresses, so none of them gets into a doubt: those are shared with others.
CAUSES = (
    (
        re.compile(r"not allowed|no such user|password|authentication|permission|login rejected", re.IGNORECASE),
        "its console did not let the user of the instance in, who has to be among its stats_users",
    ),
    (re.compile(r"timeout|timed out|did not answer", re.IGNORECASE), "its console did not answer in time"),
    (re.compile(r"refused|failed|closed|FATAL", re.IGNORECASE), "no connection to its console came about"),
)
UNREADABLE = "what its console said cannot be read"
FAILED = re.compile(r"\berror\b|FATAL", re.IGNORECASE)
DIFFERS = "{} of {} was {}, and {} when the run was planned."
OTHER_QUERY = "{} of {} was another than when the run was planned."


@dataclass(frozen=True, slots=True)
class PoolerFacts:
    """What the console of a pooler said of itself; with an `error` there is nothing else.

    `settings` are text by name: those of runners.poolers.settings, `pool_mode` as it is for the database and user of
    the load, and `pool_size` of that database.
    """

    version: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> PoolerFacts:
        """Return the facts that were stored by name; fields that this version does not know are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})

    @property
    def facts(self) -> dict[str, str]:
        """Return version and settings as one flat mapping; empty where nothing was read."""
        return {**({"version": self.version} if self.version else {}), **self.settings}


def read_file(content: bytes, user: str) -> PoolerFacts:
    """Return what the file says that a run left; one that is cut short or missing says that nothing was read."""
    return read(dict(read_sections(content[: MOST_BYTES + MOST_ERROR_BYTES + LONGEST_ERROR])), user)


def read(sections: Mapping[str, str], user: str) -> PoolerFacts:
    """Return what the sections of an answer say of the pooler, for the database of the load and a user."""
    config = {row.get("key", ""): row.get("value", "") for row in _rows(sections.get("pooler_config", ""))}
    settings = {name: _line(config[name], LONGEST_VALUE) for name in SETTINGS if name in config}
    if not settings:
        return PoolerFacts(error=_error(sections.get("pooler_errors", "")))
    database = next(iter(_rows(sections.get("pooler_databases", ""))), {})
    pools = [row for row in _rows(sections.get("pooler_pools", "")) if row.get("user") == user]
    modes = [row.get("pool_mode", "") for row in (*pools[:1], database, settings)]
    settings["pool_mode"] = next((mode for mode in modes if mode in MODES), "")
    if (size := whole(database.get("pool_size", ""))) is not None:
        settings["pool_size"] = str(size)
    version = VERSION.search(sections.get("pooler_version", "")[:LONGEST_VALUE])
    return PoolerFacts(version[0] if version else "", settings)


def doubts(pooler: Pooler, planned: Mapping[str, str], actual: PoolerFacts) -> list[Doubt]:
    """Return a doubt where nothing tells how the pooler pooled, or where it was not as planned with."""
    if actual.error:
        return [Doubt("pooler-unread", UNREAD.format(pooler.kind, _cause(actual.error)))]
    facts = actual.facts
    differing = [name for name in planned if name in facts and facts[name] != planned[name]]
    return [Doubt("pooler-differs", _difference(name, pooler, facts[name], planned[name])) for name in differing]


def _difference(name: str, pooler: Pooler, actual: str, planned: str) -> str:
    """Return the difference as a sentence, which is shared with others: without SQL that is somebody's."""
    if name in QUERIES:
        return OTHER_QUERY.format(name, pooler.kind)
    return DIFFERS.format(name, pooler.kind, actual or "empty", planned or "empty")


def _rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table whose first line names its columns; lines of another length are left out."""
    head, *lines = [line.split(SEPARATOR) for line in text.split("\n")]
    return [dict(zip(head, line, strict=True)) for line in lines if len(line) == len(head)]


def _line(text: str, longest: int) -> str:
    return " ".join(str(storable(text[:longest]) or "").split())


def _error(text: str) -> str:
    """Return the line that says why the console said nothing: a warning may come before it."""
    lines = [line for line in text.split("\n") if line.strip()]
    line = next(filter(FAILED.search, lines), lines[0] if lines else SILENT)
    return _line(line, LONGEST_ERROR)


def _cause(error: str) -> str:
    return next((cause for words, cause in CAUSES if words.search(error)), UNREADABLE)
