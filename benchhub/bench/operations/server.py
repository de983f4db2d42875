"""Judge what a look at an instance saw, line by line: whether runs can use it, and what to do where not.

A check is a function and a line of CHECKS. `Level.STOPS` says that runs will fail; `Level.MIND` that they may mislead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runners.inspection.answer import Seen
from runners.tools.layers import with_layer

OLDEST = 90500
MIB, GIB = 1024**2, 1024**3
LITTLE_ROOM_BYTES = 2 * GIB
FEW_CONNECTIONS = 20


class Level(StrEnum):
    GOOD = "good"
    NOTE = "note"
    MIND = "mind"
    STOPS = "stops"


@dataclass(frozen=True, slots=True)
class Check:
    """A line of a test: what was looked at, how it stands, and what to do about it ("" where nothing)."""

    name: str
    level: Level
    finding: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the instance is said to be: its version, and whether its server runs on its driver."""

    version: str
    version_num: int
    is_here: bool


def checks(sight: Seen, expected: Expected) -> list[Check]:
    """Return a line for each thing that was looked at; after a log-in that failed that is the only one."""
    if sight.errors:
        finding = with_layer(f"psql said: {sight.errors.rstrip('.')}.")
        return [Check("Log-in", Level.STOPS, finding, _log_in_advice(sight))]
    lines = (check(sight, expected) for check in CHECKS)
    return [line for line in lines if line is not None]


def worst(lines: Sequence[Check]) -> Level:
    """Return the gravest level of all lines."""
    order = list(Level)
    return max((line.level for line in lines), key=order.index, default=Level.GOOD)


def _log_in_advice(sight: Seen) -> str:
    text = sight.errors
    if "password" in text and "supplied" in text:
        return "The server asks for a password: type it on the form of the instance."
    if "password authentication failed" in text:
        return "Type the password anew on the form of the instance, or mend the role."
    if "database" in text and "does not exist" in text:
        return "Create the database, or choose one of those that are there."
    if "no pg_hba.conf entry" in text:
        return "Add a line for this host, database and user to the server's pg_hba.conf."
    return "Mend that, then test it again."


def _log_in(sight: Seen, _: Expected) -> Check:
    sessions = f", {sight.sessions:,} other sessions" if sight.sessions else ""
    level = Level.MIND if sight.sessions and sight.sessions > 2 else Level.GOOD
    advice = "Others use the server: what they do is measured along." if level is Level.MIND else ""
    return Check("Log-in", level, f"It works{sessions}.", advice)


def _version(sight: Seen, expected: Expected) -> Check:
    number = sight.version_num or 0
    if number < OLDEST:
        return Check("Version", Level.STOPS, f"PostgreSQL {sight.version}.", "BenchHub measures 9.5 and newer.")
    if number != expected.version_num:
        finding = f"PostgreSQL {sight.version}, but the instance says {expected.version}."
        return Check("Version", Level.MIND, finding, "Choose the programs of that server on the form of the instance.")
    return Check("Version", Level.GOOD, f"PostgreSQL {sight.version}, as the instance says.")


def _rights(sight: Seen, _: Expected) -> Check:
    if sight.is_standby:
        return Check("Rights", Level.STOPS, "It is a standby: nothing can be loaded.", "Choose its primary server.")
    if sight.may_create:
        return Check("Rights", Level.GOOD, f"It may create tables in the schema {sight.schema}.")
    where = f"in the schema {sight.schema}" if sight.schema else "anywhere: no schema of its search_path is there"
    advice = "GRANT CREATE ON SCHEMA ... to the user, or let it own the database."
    return Check("Rights", Level.STOPS, f"It may not create tables {where}.", advice)


def _checkpoint(sight: Seen, _: Expected) -> Check:
    if sight.is_superuser or sight.may_checkpoint:
        return Check("CHECKPOINT", Level.GOOD, "It may.")
    advice = "Plans that ask for a checkpoint before each run need a superuser or, from 15 on, the role pg_checkpoint."
    return Check("CHECKPOINT", Level.NOTE, "It may not.", advice)


def _statistics(sight: Seen, _: Expected) -> Check:
    if sight.is_superuser or sight.is_monitor:
        return Check("Statistics", Level.GOOD, "It sees other sessions and all settings.")
    advice = "GRANT pg_monitor to the user: else a run does not see what others do, nor where the data lies."
    return Check("Statistics", Level.NOTE, "It sees its own sessions alone.", advice)


def _other_tables(sight: Seen, _: Expected) -> Check | None:
    if not sight.other_tables:
        return Check("Database", Level.GOOD, "It holds no tables but those of benchmarks.")
    finding = f"It holds {sight.other_tables:,} tables that no benchmark made."
    return Check("Database", Level.MIND, finding, "Use a database for benchmarks alone: a load replaces tables there.")


def _room(sight: Seen, expected: Expected) -> Check:
    if sight.free_bytes is None:
        where = "its role may not see where the data lies" if expected.is_here else "it is not on the driver"
        return Check("Room", Level.NOTE, f"Not seen: {where}.", "A data set of scale 1,000 needs about 15 GB.")
    scale = sight.free_bytes // (16 * MIB)
    finding = f"{sight.free_bytes / GIB:,.1f} GiB free, enough for a pgbench scale of about {scale:,}."
    if sight.free_bytes < LITTLE_ROOM_BYTES:
        return Check("Room", Level.MIND, finding, "Make room before loading much.")
    return Check("Room", Level.GOOD, finding)


def _connections(sight: Seen, _: Expected) -> Check | None:
    most = (sight.settings or {}).get("max_connections", "")
    if not most.isdecimal():
        return None
    level = Level.MIND if int(most) < FEW_CONNECTIONS else Level.GOOD
    advice = "Raise max_connections for more clients." if level is Level.MIND else ""
    return Check("Connections", level, f"At most {int(most):,}, less those kept for superusers.", advice)


def _durability(sight: Seen, _: Expected) -> Check:
    names = ("fsync", "synchronous_commit", "full_page_writes")
    weak = [name for name in names if (sight.settings or {}).get(name, "on") == "off"]
    if not weak:
        return Check("Durability", Level.GOOD, "Commits last: fsync, synchronous_commit and full_page_writes are on.")
    finding = f"{' and '.join(weak)} {'is' if len(weak) == 1 else 'are'} off."
    return Check("Durability", Level.MIND, finding, "Its curves are not compared with durable ones.")


def _checksums(sight: Seen, _: Expected) -> Check | None:
    setting = (sight.settings or {}).get("data_checksums")
    if setting is None:
        return None
    finding = "On." if setting == "on" else "Off: it saves some CPU, and damage stays unseen."
    return Check("Data checksums", Level.GOOD if setting == "on" else Level.NOTE, finding)


def _statements(sight: Seen, _: Expected) -> Check:
    if sight.statements:
        return Check("pg_stat_statements", Level.NOTE, "It is there, and costs a little of the throughput.")
    return Check("pg_stat_statements", Level.NOTE, "It is not there: no run needs it.")


CHECKS: tuple[Callable[[Seen, Expected], Check | None], ...] = (
    _log_in,
    _version,
    _rights,
    _other_tables,
    _room,
    _connections,
    _durability,
    _checksums,
    _checkpoint,
    _statistics,
    _statements,
)
