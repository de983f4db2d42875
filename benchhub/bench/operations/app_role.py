"""The role that web, worker and ticker connect with: it works with all rows, and owns no table.

Who owns a table may take its triggers off, and TRUNCATE it. So the owner migrates (`manage.py prepare`), and the others
can undo neither the audit log nor what was published, whatever runs in their place.
"""

from __future__ import annotations

from django.db import connection
from psycopg import sql

# Lines are added to these, and nothing else: the triggers on them say so too.
ADDED_TO_ONLY = ("accounts_entry", "reports_snapshot", "reports_projection")
GRANTS = (
    "GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {role}",
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "GRANT USAGE ON SCHEMA public TO {role}",
    "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}",
)


class RoleError(Exception):
    """The role cannot be what it should be; the message says why."""


def grant(name: str, password: str) -> str:
    """Make the role unless it is there, with this password, and let it work with rows; returns what was done."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database()")
        owner, database = cursor.fetchone()
        if name == owner:
            raise RoleError(f"APP_ROLE is {name}, which owns the tables: choose another name.")
        cursor.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = %s", [name])
        if (row := cursor.fetchone()) and row[0]:
            raise RoleError(f"The role {name} may do more than work with rows: choose another name for APP_ROLE.")
        role = sql.Identifier(name)
        if row is None:
            cursor.execute(sql.SQL("CREATE ROLE {}").format(role))
        # The server gets what checks the password, so that no log of its statements has the password.
        verifier = connection.connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
        options = sql.SQL("ALTER ROLE {} LOGIN NOINHERIT NOCREATEDB PASSWORD {}")
        cursor.execute(options.format(role, sql.Literal(verifier.decode())))
        for statement in GRANTS:
            cursor.execute(sql.SQL(statement).format(role=role, database=sql.Identifier(database)))
        for table in ADDED_TO_ONLY:
            revoke = sql.SQL("REVOKE UPDATE, DELETE ON {} FROM {}")
            cursor.execute(revoke.format(sql.Identifier(table), role))
    return f"The role {name} works with the rows, and owns nothing."
