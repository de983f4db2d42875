"""Tell by its migrations which release a warehouse is of."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.migrations.graph import MigrationGraph
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


def tips(graph: MigrationGraph, migrations: set[str]) -> list[tuple[str, str]]:
    """Return those of the migrations on which no other of them rests, as keys of the graph."""
    nodes = {key for key in graph.nodes if ".".join(key) in migrations}
    return [key for key in nodes if not {child.key for child in graph.node_map[key].children} & nodes]


def tables() -> set[str]:
    """Return the tables that the models of the warehouse's migrations have, those of sessions among them."""
    loader = MigrationLoader(connection, ignore_no_migrations=True)
    models = loader.project_state(tips(loader.graph, applied())).apps.get_models(include_auto_created=True)
    return {model._meta.db_table for model in models if model._meta.managed}


def with_squashed(migrations: set[str]) -> set[str]:
    """Return the migrations of a backup, with those that replace some of them and were written since."""
    everything = set(migrations)
    for (app, name), migration in MigrationLoader(None, ignore_no_migrations=True).disk_migrations.items():
        if migration.replaces and {".".join(key) for key in migration.replaces} <= everything:
            everything.add(f"{app}.{name}")
    return everything


def strangers(migrations: set[str]) -> str:
    """Name the first of these migrations that this release does not know; empty where it knows all of them."""
    return first_few(migrations - own())


def first_few(names: Iterable[str]) -> str:
    """List the first of the names, and say whether there are more; empty where there are none."""
    first, more = sorted(names)[:MOST_NAMED], sorted(names)[MOST_NAMED:]
    return f"{listing(first)}{' and more' if more else ''}" if first else ""


def refusal() -> str:
    """Say why this release must not work with the warehouse: it has tables of another one. Empty where it may."""
    if not (names := strangers(applied())):
        return ""
    return (
        f"The warehouse has tables of another release, which this one does not know ({names}): install that release, or"
        " restore a backup of this one into an empty database."
    )
