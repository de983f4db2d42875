"""The mark of a server whose settings a run has changed: a role that nobody logs in as; its comment says who it was."""

from __future__ import annotations

MARK = "benchhub_keeper"
# A standby has the mark of its primary, whose settings are another server's.
HOLDER_QUERY = (
    "SELECT coalesce(left(shobj_description(oid, 'pg_authid'), 1000), 'Somebody') FROM pg_roles"
    f" WHERE rolname = '{MARK}' AND NOT pg_is_in_recovery()"
)
IS_HELD_QUERY = f"SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '{MARK}' AND NOT pg_is_in_recovery())"
