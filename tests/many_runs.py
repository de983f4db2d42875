"""A warehouse of 100,000 runs, copied by SQL from one run within the transaction of a test, which rolls it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection, models

from benchhub.bench import testing
from benchhub.bench.models import (
    Attempt,
    EndedCount,
    EndedTally,
    Experiment,
    ExperimentSystem,
    Result,
    Run,
    System,
)
from benchhub.catalog.models import Host, Instance

RUNS, LONG, OF_EXPERIMENT, QUEUED, ACTIVE = 100_000, 20_000, 80, 2_000, 50
HOSTS, SYSTEMS = 50, 200
LEVELS, REPEATS = (1, 2, 4, 8), 10
# Rows that are copied break no rule; what counts the runs that ended looks at them all the same.
COPYING = (
    "SET CONSTRAINTS ALL IMMEDIATE",
    "ALTER TABLE bench_run ENABLE ALWAYS TRIGGER run_ended_at_once",
    "SET session_replication_role = replica",
)
COPIED = "SET session_replication_role = DEFAULT; ANALYZE"
IS_LONG = f"n < {LONG}"
EXPERIMENT = f"CASE WHEN {IS_LONG} THEN 0 ELSE (n - {LONG}) / {OF_EXPERIMENT} + 1 END"
PLACE = f"CASE WHEN {IS_LONG} THEN n ELSE n % {OF_EXPERIMENT} END"
SIDE = "(n / 4) % 2"
STATE = f"""CASE WHEN n >= {RUNS - QUEUED} THEN 'queued' WHEN n >= {RUNS - QUEUED - ACTIVE} THEN 'running'
    WHEN n % 97 = 0 THEN 'failed' WHEN n % 331 = 0 THEN 'lost' WHEN n % 211 = 0 THEN 'cancelled' ELSE 'succeeded' END"""
# Every 80th run loads a data set, every 160th warms up.
KIND = "CASE n % 160 WHEN 0 THEN 'load' WHEN 80 THEN 'load' WHEN 1 THEN 'warmup' ELSE 'measure' END"
AGE = f"now() - ({RUNS} - {{}}) * interval '15 min'"  # three years of runs


def many_runs() -> Run:
    """Make them: 20,000 of one experiment, 80 of each of 1,000 others, in all states, on 200 systems of 50 hosts.

    Returns a run of one of the 1,000. Rows are as narrow as may be: it is of wide ones that an index saves
    most, so whoever is content with these plans would be with all.
    """
    run = testing.make_measured_run()
    with connection.cursor() as cursor:
        cursor.execute("; ".join(COPYING))
        _systems(cursor, run.system)
        _experiments(cursor, run.experiment)
        with _without_indexes(cursor, Run, Attempt, Result):
            _runs(cursor, run)
        cursor.execute(COPIED)
    EndedCount.objects.fold()
    EndedTally.objects.fold()
    return Run.objects.filter(experiment=run.experiment_id + 500, state="succeeded", kind="measure").latest("pk")


def _systems(cursor: Any, system: System) -> None:
    """Copy host, instance and system; the system of number n has the key of the first + n."""
    host, instance = system.driver_id, system.instance_id
    on_host, numbers = f"{host} + n % {HOSTS}", f"generate_series(1, {SYSTEMS - 1}) n"
    _copy(cursor, Host, host, f"generate_series(1, {HOSTS - 1}) n", id=f"{host} + n", name="'box ' || n",
          address="'192.0.2.' || n + 1")  # fmt: skip
    _copy(cursor, Instance, instance, numbers, id=f"{instance} + n", name="'pg ' || n", host_id=on_host)
    _copy(cursor, System, system.pk, numbers, id=f"{system.pk} + n", label="'Build ' || n", driver_id=on_host,
          instance_id=f"{instance} + n", digest="md5(n::text)")  # fmt: skip


def _experiments(cursor: Any, experiment: Experiment) -> None:
    """Copy the experiment, which is the long one, and give each two systems of one host."""
    number = (RUNS - LONG) // OF_EXPERIMENT
    key = f"{experiment.pk} + n"
    first, side = experiment.experimentsystem_set.get(), "m"
    Experiment.objects.filter(pk=experiment.pk).update(client_levels=list(LEVELS), repeats=REPEATS)
    _copy(cursor, Experiment, experiment.pk, f"generate_series(1, {number}) n", id=key, name="'Nightly ' || n",
          priority="n % 3", created_at=AGE.format(f"({LONG} + n * {OF_EXPERIMENT})"))  # fmt: skip
    sides = f"generate_series(0, {number}) n, generate_series(0, 1) {side}"
    _copy(cursor, ExperimentSystem, first.pk, f"{sides} WHERE n + {side} > 0", id=f"{first.pk} + n * 2 + {side}",
          experiment_id=key, position=side, system_id=f"{first.system_id} + {_system('n', side)}",
          result_count=f"{OF_EXPERIMENT // 2} + n % 7")  # fmt: skip


def _runs(cursor: Any, run: Run) -> None:
    numbers, key = f"generate_series(1, {RUNS - 1}) n", f"{run.pk} + n"
    ended_at = f"CASE WHEN n < {RUNS - QUEUED - ACTIVE} THEN {AGE.format('n')} END"
    _copy(cursor, Run, run.pk, numbers, id=key, uuid="gen_random_uuid()", kind=KIND, state=STATE,
          experiment_id=f"{run.experiment_id} + {EXPERIMENT}", position=f"({PLACE}) + 2", repeat=f"({PLACE}) / 8 + 2",
          system_id=f"{run.system_id} + {_system(EXPERIMENT, SIDE)}", clients="2 ^ (n % 4)", threads="1",
          created_at=AGE.format("n"), started_at=ended_at, ended_at=ended_at,
          set_aside_at=f"CASE WHEN n % 1009 = 0 AND {STATE} = 'succeeded' THEN now() END")  # fmt: skip
    of_run = f"{numbers} WHERE {STATE} = 'succeeded'"
    _copy(cursor, Attempt, run.attempts.get().pk, f"{numbers} WHERE n < {RUNS - QUEUED}", id=key, run_id=key,
          number="1", ended_at=ended_at)  # fmt: skip
    _copy(cursor, Result, run.result.pk, of_run, id=key, run_id=key, attempt_id=key, parsed_at=AGE.format("n"),
          throughput="900 * (1 + (n * 37 % 50) / 1000.0)")  # fmt: skip


def _system(experiment: str, side: str) -> str:
    return f"(({experiment}) * 2 + {side}) % {SYSTEMS}"


def _copy(cursor: Any, model: type[models.Model], key: int, numbers: str, **changes: str) -> None:
    """Copy the row of this key once for each of the numbers, which may have a condition, with some columns changed."""
    columns = [field.column for field in model._meta.concrete_fields if not getattr(field, "generated", False)]
    values = ", ".join(changes.get(str(column), f'source."{column}"') for column in columns)
    table = model._meta.db_table
    names = ", ".join(f'"{column}"' for column in columns)
    source = f"(SELECT * FROM {table} WHERE id = {key}) source, {numbers}"
    cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM {source}")


@contextmanager
def _without_indexes(cursor: Any, *tables: type[models.Model]) -> Iterator[None]:
    """Drop the indexes that hold no rule, and make them again: row by row it would take three times as long."""
    cursor.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
        "WHERE NOT indisunique AND indrelid::regclass::text = ANY(%s)",
        [[model._meta.db_table for model in tables]],
    )
    indexes: Mapping[str, str] = dict(cursor.fetchall())
    for name in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for definition in indexes.values():
        cursor.execute(definition)
