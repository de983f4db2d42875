"""Judge a look at an instance from its driver: whether runs can use it, and what to do where not.

A check is a function and a line of CHECKS. `bad` says that runs will fail; `warn` that they may mislead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from benchhub.analysis.words import count, listing
from benchhub.catalog.models import Inspection, Instance
from benchhub.ui.findings import Finding
from runners.inspection.answer import Seen
from runners.poolers.answer import PoolerFacts
from runners.poolers.script import NOT_TRIED
from runners.tools.layers import with_layer

OLDEST = 90500
MIB, GIB = 1024**2, 1024**3
LITTLE_ROOM_BYTES = 2 * GIB
FEW_CONNECTIONS = 20
DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the instance is said to be: its version, whether its server runs on its driver, what its owner grants."""

    version: str
    version_num: int
    is_here: bool
    is_changed: bool = False
    is_restarted: bool = False
    has_pooler: bool = False


def looked_at(inspection: Inspection) -> list[Finding]:
    """Return a line for each thing that the last look saw; that it could not be taken is one line."""
    if inspection.contact_error:
        return [Finding("Driver", "bad", inspection.contact_error, "Mend that, then test it again.")]
    if inspection.sight is None:
        return []
    instance = inspection.instance
    is_here = instance.host_id == inspection.driver_id
    is_changed = instance.grant != Instance.Grant.NONE
    expected = Expected(
        instance.build.version,
        instance.build.version_num,
        is_here=is_here,
        is_changed=is_changed,
        is_restarted=bool(instance.restart_words),
        has_pooler=bool(instance.pooler),
    )
    names = {field.name for field in fields(Seen)}
    values = {name: value for name, value in inspection.sight.items() if name in names}
    return findings(Seen(**values, parameters=inspection.parameters if is_changed else None), expected)


def findings(sight: Seen, expected: Expected) -> list[Finding]:
    """Return a line for each thing that was looked at; after a log-in that failed that is the only one."""
    if sight.errors:
        text = with_layer(f"psql said: {sight.errors.rstrip('.')}.")
        return [Finding("Log-in", "bad", text, _log_in_remedy(sight))]
    lines = (check(sight, expected) for check in CHECKS)
    return [line for line in lines if line is not None]


def _log_in_remedy(sight: Seen) -> str:
    text = sight.errors
    if "password" in text and "supplied" in text:
        return "The server asks for a password: type it on the form of the instance."
    if "password authentication failed" in text:
        return "Type the password anew on the form of the instance, or mend the role."
    if "database" in text and "does not exist" in text:
        there = f": {listing(sight.databases)}" if sight.databases else ""
        return f"Create the database, or choose one of those that are there{there}."
    if "no pg_hba.conf entry" in text:
        return "Add a line for this host, database and user to the server's pg_hba.conf."
    return "Mend that, then test it again."


def _log_in(sight: Seen, _: Expected) -> Finding:
    if not sight.sessions:
        return Finding("Log-in", "ok", "It works.")
    text = f"It works, beside {count(sight.sessions, 'other session')}."
    return Finding("Log-in", "warn", text, "Others use the server: what they do is measured along.")


def _version(sight: Seen, expected: Expected) -> Finding:
    if sight.version_num is None:
        return Finding("Version", "warn", "The server did not say it.", "See whether it is PostgreSQL.")
    if sight.version_num < OLDEST:
        return Finding("Version", "bad", f"PostgreSQL {sight.version}.", "BenchHub measures 9.5 and newer.")
    if sight.version_num != expected.version_num:
        text = f"PostgreSQL {sight.version}, but the instance says {expected.version}."
        return Finding("Version", "warn", text, "Choose the programs of that server on the form of the instance.")
    return Finding("Version", "ok", f"PostgreSQL {sight.version}, as the instance says.")


def _rights(sight: Seen, _: Expected) -> Finding:
    if sight.is_standby:
        remedy = "Load the data set on its primary; plan workloads that only read, without a vacuum."
        return Finding("Rights", "warn", "It is a standby, which takes no writes.", remedy)
    if sight.may_create:
        return Finding("Rights", "ok", f"It may create tables in the schema {sight.schema}.")
    where = f"in the schema {sight.schema}" if sight.schema else "anywhere: no schema of its search_path is there"
    remedy = "GRANT CREATE ON SCHEMA ... to the user, or let it own the database."
    return Finding("Rights", "bad", f"It may not create tables {where}.", remedy)


def _pooler(sight: Seen, expected: Expected) -> Finding | None:
    """Say whether loads can go through the pooler, and how it pools."""
    if not expected.has_pooler:
        return None
    if sight.pooler is None:
        return Finding("Pooler", "warn", "It was not tried yet.", "Test the instance again.")
    if NOT_TRIED in sight.pooler_error:
        return Finding("Pooler", "warn", sight.pooler_error, "Test the instance again.")
    if sight.pooler_error:
        remedy = "Let it take the database, user and password of the instance, and lead to its server."
        if "SSL" in sight.pooler_error:
            remedy = "Choose another TLS to the pooler at the instance, or change its client_tls_sslmode."
        return Finding("Pooler", "bad", f"No load can go through it: {sight.pooler_error.rstrip('.')}.", remedy)
    pooler = PoolerFacts.stored(sight.pooler)
    if pooler.error:
        remedy = "Add the user to stats_users of PgBouncer, so that each run notes how it pools."
        return Finding("Pooler", "warn", f"It leads to the server. Its console says: {pooler.error}", remedy)
    size = pooler.settings.get("pool_size") or pooler.settings.get("default_pool_size", "")
    mode = pooler.settings.get("pool_mode") or "no known mode"
    text = f"PgBouncer {pooler.version} leads to the server. It pools by {mode}"
    return Finding("Pooler", "ok", f"{text}, with {size} connections for the database and user.")


def _checkpoint(sight: Seen, _: Expected) -> Finding:
    if sight.is_superuser or sight.may_checkpoint:
        return Finding("CHECKPOINT", "ok", "It may.")
    remedy = "Plans that ask for a checkpoint before each run need a superuser or, from 15 on, the role pg_checkpoint."
    return Finding("CHECKPOINT", "ok", "It may not.", remedy)


def _statistics(sight: Seen, _: Expected) -> Finding:
    if sight.is_superuser or sight.is_monitor:
        return Finding("Statistics", "ok", "It sees other sessions and all settings.")
    remedy = "GRANT pg_monitor to the user: else a run does not see what others do, nor where the data lies."
    return Finding("Statistics", "ok", "It sees its own sessions alone.", remedy)


def _other_tables(sight: Seen, _: Expected) -> Finding | None:
    if sight.other_tables is None:
        return None
    if not sight.other_tables:
        return Finding("Database", "ok", "It holds no tables but those of benchmarks.")
    text = f"It holds {count(sight.other_tables, 'table')} that no benchmark made."
    return Finding("Database", "warn", text, "Use a database for benchmarks alone: a load replaces tables there.")


def _room(sight: Seen, expected: Expected) -> Finding:
    if sight.free_bytes is None:
        where = "its role may not see where the data lies" if expected.is_here else "it is not on the driver"
        return Finding("Room", "ok", f"Not seen: {where}.", "A data set of scale 1,000 needs about 15 GB.")
    scale = sight.free_bytes // (16 * MIB)
    text = f"{sight.free_bytes / GIB:,.1f} GiB free, enough for a pgbench scale of about {scale:,}."
    if sight.free_bytes < LITTLE_ROOM_BYTES:
        return Finding("Room", "warn", text, "Make room before loading much.")
    return Finding("Room", "ok", text)


def _connections(sight: Seen, _: Expected) -> Finding | None:
    most = (sight.settings or {}).get("max_connections", "")
    if not most.isdecimal():
        return None
    text = f"At most {int(most):,}, less those kept for superusers."
    if int(most) < FEW_CONNECTIONS:
        return Finding("Connections", "warn", text, "Raise max_connections for more clients.")
    return Finding("Connections", "ok", text)


def _durability(sight: Seen, _: Expected) -> Finding:
    settings = sight.settings or {}
    if unknown := [name for name in DURABLE if name not in settings]:
        return Finding("Durability", "warn", f"The server did not say {listing(unknown)}.", "Ask it by SHOW.")
    weak = [name for name in DURABLE if settings[name] == "off"]
    if not weak:
        return Finding("Durability", "ok", "Commits last: fsync, synchronous_commit and full_page_writes are on.")
    text = f"{' and '.join(weak)} {'is' if len(weak) == 1 else 'are'} off."
    return Finding("Durability", "warn", text, "Its curves are not compared with durable ones.")


def _checksums(sight: Seen, _: Expected) -> Finding | None:
    setting = (sight.settings or {}).get("data_checksums")
    if setting is None:
        return None
    text = "On." if setting == "on" else "Off: it saves some CPU, and damage stays unseen."
    return Finding("Data checksums", "ok", text)


def _statements(sight: Seen, _: Expected) -> Finding:
    if sight.statements:
        return Finding("pg_stat_statements", "ok", "It is there, and costs a little of the throughput.")
    return Finding("pg_stat_statements", "ok", "It is not there: no run needs it.")


def _grant(sight: Seen, expected: Expected) -> Finding | None:
    """Say whether runs can change settings, as the owner grants."""
    if not expected.is_changed:
        return None
    if not expected.is_here:
        return Finding("Change of settings", "warn", "Not looked at from here.", "Test it from its own host as well.")
    if not sight.is_superuser:
        remedy = "Let the role be a superuser, or grant no change of settings."
        return Finding("Change of settings", "bad", "Runs may, but their role is no superuser.", remedy)
    if (sight.settings or {}).get("allow_alter_system") == "off":
        return Finding("Change of settings", "bad", "allow_alter_system is off.", "Switch it on, or grant no change.")
    if sight.command_error:
        return Finding("Change of settings", "bad", sight.command_error, "Mend the command of its restart.")
    if not sight.parameters:
        return Finding("Change of settings", "bad", "The server did not say which settings it knows.", "Test it again.")
    if expected.is_restarted and not sight.owns_file:
        text = "Runs may restart it. Its postgresql.auto.conf belongs to another account than BenchHub's."
        remedy = "Where it does not start with a configuration, a person has to put back its settings."
        return Finding("Change of settings", "warn", text, remedy)
    how = "begin with a restart" if expected.is_restarted else "change what a reload can change"
    return Finding("Change of settings", "ok", f"Runs may, and {how}.", "The former settings are put back after each.")


CHECKS: tuple[Callable[[Seen, Expected], Finding | None], ...] = (
    _log_in,
    _version,
    _rights,
    _pooler,
    _other_tables,
    _room,
    _connections,
    _durability,
    _checksums,
    _grant,
    _checkpoint,
    _statistics,
    _statements,
)
