"""Whoever has the application's role tries to undo the audit log, and what was published."""

from importlib import import_module

import psycopg
import pytest
from django.core.management import CommandError
from django.db import connection

from benchhub.bench import testing
from benchhub.bench.management.commands.prepare import app_role
from benchhub.bench.models import EndedTally
from benchhub.catalog.models import Hardware

NAME, PASSWORD = "benchhub_app_of_a_test", "pa:ss'w@rd"
TABLES = ("accounts_entry", "reports_snapshot", "reports_projection")
NOT_ALLOWED = psycopg.errors.InsufficientPrivilege


@pytest.fixture
def role(transactional_db):
    """Yield a connection of the role, made as `prepare` makes it."""
    app_role(NAME, PASSWORD)
    assert "owns nothing" in app_role(NAME, PASSWORD)  # at every start
    place = connection.get_connection_params()
    names = {"host": place["host"], "port": place["port"], "dbname": place["dbname"]}
    with psycopg.connect(**names, user=NAME, password=PASSWORD, autocommit=True) as other:
        yield other
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {NAME}; DROP ROLE {NAME}")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE {}",
        "TRUNCATE {} CASCADE",
        "DELETE FROM {}",
        "UPDATE {} SET id = id + 1",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
        "DROP TRIGGER append_only ON {}",
        "DROP TABLE {} CASCADE",
        "ALTER TABLE {} OWNER TO CURRENT_USER",
        "CREATE TRIGGER mine BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION benchhub_append_only()",
        "CREATE RULE mine AS ON INSERT TO {} DO INSTEAD NOTHING",
        "GRANT UPDATE ON {} TO CURRENT_USER",
    ],
)
def test_the_role_of_the_application_undoes_nothing(role, table, statement):
    if statement.startswith("GRANT"):
        role.execute(statement.format(table))  # a warning, and nothing is granted
        statement = "UPDATE {} SET id = id + 1"
    with pytest.raises(NOT_ALLOWED):
        role.execute(statement.format(table))


@pytest.mark.parametrize(
    "statement",
    [
        "SET session_replication_role = replica",
        "CREATE OR REPLACE FUNCTION benchhub_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE ROLE another SUPERUSER",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "COPY accounts_entry TO PROGRAM 'cat'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT rolpassword FROM pg_authid",
        "DELETE FROM django_migrations",
        "DROP DATABASE postgres",
    ],
)
def test_the_role_of_the_application_becomes_no_more_than_it_is(role, statement):
    with pytest.raises((NOT_ALLOWED, psycopg.errors.ObjectNotInPrerequisiteState)):
        role.execute(statement)


def test_the_role_of_the_application_works_with_rows(role):
    columns = "username, token, way, action, address, status"
    role.execute(f"INSERT INTO accounts_entry ({columns}) VALUES ('x', '', 'web', 'y', '', 200)")
    role.execute("INSERT INTO catalog_interferencegroup (name) VALUES ('a')")
    role.execute("UPDATE catalog_interferencegroup SET name = 'b'")
    role.execute("DELETE FROM catalog_interferencegroup")
    assert role.execute("SELECT count(*) FROM accounts_entry").fetchone() == (1,)


def test_the_role_of_the_application_may_back_up_all_that_there_is(role):
    tables = role.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    sequences = role.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'").fetchall()
    assert tables and sequences
    with role.transaction():
        for (table,) in tables:
            role.execute(f'LOCK TABLE "{table}" IN ACCESS SHARE MODE')
        for (sequence,) in sequences:
            role.execute(f'SELECT last_value FROM "{sequence}"')


def test_the_role_ends_runs_while_the_upgrade_that_tallies_them_is_under_way(role):
    """Until the last of its migrations is over the role has the rights that it had, and those that they give it."""
    machine = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    system = testing.make_system("18", testing.make_host(), machine)
    testing.make_run(testing.make_experiment([system]), system, 1, 1)
    migration = import_module("benchhub.bench.migrations.0030_ended_runs_are_tallied")
    end = "UPDATE bench_run SET state = 'cancelled', ended_at = now()"
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE ALL ON bench_endedtally, bench_runtally FROM {NAME}")
        with pytest.raises(NOT_ALLOWED):
            role.execute(end)
        cursor.execute(migration.GRANTS)
    role.execute(end)
    assert EndedTally.objects.get().runs == 1
    assert role.execute("SELECT sum(runs) FROM bench_runtally").fetchone() == (1,)


def test_the_owner_is_no_role_of_the_application(transactional_db):
    with pytest.raises(CommandError, match="owns the tables"):
        app_role(connection.settings_dict["USER"], PASSWORD)
    with pytest.raises(CommandError, match="APP_PASSWORD is not"):
        app_role(NAME, "")
