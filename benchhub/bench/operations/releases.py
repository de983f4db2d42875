"""Tell by its migrations which release a warehouse is of."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from benchhub.analysis.words import listing

MOST_NAMED = 3


def applied() -> set[str]:
    """Return the migrations that the warehouse has, as 'app.name'."""
    return {".".join(key) for key in MigrationLoader(connection, ignore_no_migrations=True).applied_migrations}


def own() -> set[str]:
    """Return the migrations that this release has, those that others have replaced among them."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    keys = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        keys |= {(app, name) for app, name in migration.replaces}
    return {".".join(key) for key in keys}


def with_squashed(migrations: set[str]) -> set[str]:
    """Return the migrations of a backup, with those that replace some of them and were written since."""
    everything = set(migrations)
    for (app, name), migration in MigrationLoader(None, ignore_no_migrations=True).disk_migrations.items():
        if migration.replaces and {".".join(key) for key in migration.replaces} <= everything:
            everything.add(f"{app}.{name}")
    return everything


def strangers(migrations: set[str]) -> str:
    """Name the first of these migrations that this release does not know; empty where it knows all of them."""
    names = sorted(migrations - own())
    return f"{listing(names[:MOST_NAMED])}{' and more' if len(names) > MOST_NAMED else ''}" if names else ""


def refusal() -> str:
    """Say why this release must not work with the warehouse: it has tables of another one. Empty where it may."""
    if not (names := strangers(applied())):
        return ""
    return (
        f"The warehouse has tables of another release, which this one does not know ({names}): install that release, or"
        " restore a backup of this one into an empty database."
    )
