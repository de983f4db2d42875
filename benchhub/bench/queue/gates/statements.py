"""Which runs are next, asked of the database by statements whose text is kept.

Django takes ten times as long to write one anew as the database to answer it, and every end of a run asks for several.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.query import RawQuerySet

from benchhub.bench.models import QUEUE_ORDER, Run, RunQuerySet
from benchhub.catalog.models import DataSet

from .data import is_occupied
from .needs import DRIVER, IS_APART, SERVER, truth
from .registry import CONTENTION, GATES, is_ungranted, ready, with_gates

# Of the runs that are alike in these, and granted, no gate lets a later one start before the first.
ALIKE = ("system", "experiment", "kind", "is_canary", "expected_s")
# From each system of which a run waits to the next, and from the first of its runs that are alike to the first of the
# next, by the index `run_next`: DISTINCT would read all that wait. No system is asked for by `=`, as the database would
# then take another index for the order.
WAITING_SYSTEMS = """
    WITH RECURSIVE waiting AS (
        (SELECT system_id FROM bench_run WHERE state = 'queued' ORDER BY system_id LIMIT 1)
        UNION ALL
        SELECT later.system_id FROM waiting CROSS JOIN LATERAL (
            SELECT run.system_id FROM bench_run AS run
            WHERE run.state = 'queued' AND run.system_id > waiting.system_id ORDER BY run.system_id LIMIT 1
        ) AS later
    )
"""
FIRST_OF_ALIKE = (
    WAITING_SYSTEMS
    + """, alike AS (
        SELECT first.* FROM waiting JOIN bench_system AS system ON system.id = waiting.system_id CROSS JOIN LATERAL (
            SELECT run.system_id, run.experiment_id, run.kind, run.is_canary, run.expected_s, run.id
            FROM bench_run AS run WHERE run.state = 'queued' AND run.system_id >= waiting.system_id
            ORDER BY run.system_id, run.experiment_id, run.kind, run.is_canary, run.expected_s, run.position LIMIT 1
        ) AS first WHERE {systems}
        UNION ALL
        SELECT later.* FROM alike CROSS JOIN LATERAL (
            SELECT run.system_id, run.experiment_id, run.kind, run.is_canary, run.expected_s, run.id
            FROM bench_run AS run
            WHERE run.state = 'queued'
                AND (run.system_id, run.experiment_id, run.kind, run.is_canary, run.expected_s)
                    > (alike.system_id, alike.experiment_id, alike.kind, alike.is_canary, alike.expected_s)
            ORDER BY run.system_id, run.experiment_id, run.kind, run.is_canary, run.expected_s, run.position LIMIT 1
        ) AS later WHERE later.system_id = alike.system_id
    )
    SELECT id FROM alike
"""
)
SHUT_SYSTEMS = "SELECT id FROM shut_system"  # those whose first run waits for a grant
ALL_SYSTEMS = "true"
APART_SYSTEMS = """
    system.driver_id IS DISTINCT FROM (SELECT host_id FROM catalog_instance WHERE id = system.instance_id)
"""
FREE_DRIVERS = """
    SELECT host.id FROM catalog_host AS host
    WHERE NOT EXISTS (SELECT FROM bench_hold AS hold WHERE hold.resource = 'host:' || host.id)
"""
APART = (
    WAITING_SYSTEMS
    + """
    SELECT waiting.system_id FROM waiting JOIN bench_system AS system ON system.id = waiting.system_id
    JOIN catalog_instance AS instance ON instance.id = system.instance_id
    WHERE instance.host_id IS DISTINCT FROM system.driver_id LIMIT 1
"""
)
OF_DRIVERS = FIRST_OF_ALIKE.format(systems="system.driver_id = ANY(%s)")
# So many runs may be promised what they need, the first in the queue; the others move up.
MOST_PROMISED = 200
MOST_WAITING = 10_000_000  # more than ever wait: under a limit the database asks gates after it has sorted, not before
STOPPED = ("experiment_paused", "host_paused", "untrusted")  # gates that are columns of few rows
WAITING_FIELDS = (
    *("id", "experiment_id", "system_id", "kind", "clients", "repeat", "rate_tps", "state", "started_at", "expected_s"),
)
Statement = tuple[str, tuple[Any, ...]]
KEYS: list[int] = []  # in the values of a statement: the place of keys that go with it


def candidates(first: str = FIRST_OF_ALIKE.format(systems=ALL_SYSTEMS), *first_values: object) -> RunQuerySet:
    """Return the queued runs among which the next one is: of those that are alike the first, and the first granted.

    Gates are asked of these alone, of which there are as many whether ten runs wait or ten thousand. What a run would
    change stands in its spec, which is not read of all: only where the first waits for a grant is another looked for.
    `first` is the statement that finds the first of those that are alike, made of the constants of this module, and
    `first_values` are what goes with it.
    """
    ungranted = Run.objects.filter(is_ungranted(), pk__in=RawSQL("SELECT id FROM first_keys", ()))
    shut, shut_values = ungranted.values("system").query.sql_with_params()
    granted = Run.objects.queued().annotate(is_ungranted=truth(is_ungranted())).filter(is_ungranted=False)
    others, values = _first_of_alike(granted.filter(system__in=RawSQL(SHUT_SYSTEMS, ()))).query.sql_with_params()  # nosec B611  # a constant
    # Materialized: a database that takes the queue for short, as just after many runs were added, would else ask all
    # runs of a system anew for each that waits. Both in one subquery: with two it would go through all that wait.
    both = f"""
        WITH first_keys AS MATERIALIZED ({first}), shut_system(id) AS MATERIALIZED ({shut}),
            granted(id) AS MATERIALIZED ({others})
        SELECT id FROM first_keys UNION ALL SELECT id FROM granted
    """  # nosec B608
    return Run.objects.queued().filter(pk__in=RawSQL(both, (*first_values, *shut_values, *values)))  # nosec B611  # constants, and Django's own


def _first_of_alike(runs: RunQuerySet) -> QuerySet[Run, Any]:
    return runs.order_by(*ALIKE, "position").distinct(*ALIKE).values("pk")


def free_drivers() -> list[int]:
    """Return the keys of the hosts that neither a run nor a build nor a rest has now."""
    return _keys((FREE_DRIVERS, ()))


def keys_of_next(drivers: Sequence[int]) -> list[int]:
    """Return the key of each driver's first run, by the order of the queue, that nothing keeps from starting now."""
    return _keys(_statement_of_next(), _keys(_statement_of_drivers(), drivers))


def keys_without_data(drivers: Sequence[int]) -> list[int]:
    """Return the key of the next run of each system of an experiment that waits for nothing but a load of its data."""
    return _keys(_statement_without_data(), _keys(_statement_of_other_data(), drivers))


def is_open(run: Run) -> bool:
    """Tell whether no gate keeps the run from starting. Held hosts do not count: the run itself may hold them."""
    return bool(open_keys([run.pk]))


def open_keys(keys: Sequence[int]) -> set[int]:
    """Return the keys of those of these runs that are open, as `is_open` tells of one."""
    statement, values = _statement_of_open()
    return set(_keys((f"SELECT id FROM ({statement}) AS open_run(id) WHERE id = ANY(%s)", (*values, list(keys)))))


def taken_keys(keys: Sequence[int]) -> set[int]:
    """Return the keys of those of these runs whose data set has come to belong to another experiment."""
    statement, values = _statement_of_taken()
    return set(_keys((f"SELECT id FROM ({statement}) AS taken_run(id) WHERE id = ANY(%s)", (*values, list(keys)))))


def gated(keys: Sequence[int]) -> RawQuerySet[Any]:
    """Return the runs of these keys, in any order, with their gates and what says when and why they start."""
    statement, values = _statement_with_gates()
    return Run.objects.raw(f"SELECT * FROM ({statement}) AS gated WHERE id = ANY(%s)", (*values, list(keys)))


def has_apart() -> bool:
    """Tell whether a queued run drives a server that is not on its driver."""
    return bool(_keys((APART, ())))


def next_contended(systems: str = ALL_SYSTEMS) -> list[Run]:
    """Return each driver's first run of each experiment that waits only until what it needs is free, with its gates.

    They come in the order of the queue, and are those that others may overtake: they need two hosts, or data sets
    that belong to others. `systems` is the condition on systems of which any run may be such, a constant of this
    module: nothing is read of what waits for others.
    """
    statement, values = _statement_of_overtaken(systems)
    keys = _keys((statement, (*values, MOST_PROMISED)))
    if not keys:
        return []
    runs = Run.objects.queued().filter(pk__in=keys).annotate(gate_occupied=truth(is_occupied()))
    first = runs.order_by("experiment", DRIVER, "position").distinct("experiment", DRIVER)
    unread = (f"{host}__{name}" for host in (DRIVER, SERVER) for name in ("private_key", "facts"))
    return sorted(first.select_related("experiment", DRIVER, SERVER).defer("spec", *unread), key=_place)


def _place(run: Run) -> tuple[int, ...]:
    """Return the place of a run in the order of the queue, as QUEUE_ORDER has it."""
    experiment = run.experiment
    age = experiment.pk if experiment.place is None else experiment.place
    return -experiment.priority, age, experiment.pk, run.position


@cache
def _statement_with_gates() -> tuple[str, tuple[Any, ...]]:
    names = [f"gate_{gate.name}" for gate in GATES]
    rows: QuerySet[Run, Any] = with_gates(Run.objects.all()).values(*WAITING_FIELDS, *names, "tenant", "reserver")
    statement, values = rows.query.sql_with_params()
    return statement, values


@cache
def _statement_of_drivers() -> Statement:
    """Find the candidates of these drivers."""
    return candidates(OF_DRIVERS, KEYS).values("pk").query.sql_with_params()


@cache
def _statement_of_next() -> Statement:
    first = ready(_given()).order_by(DRIVER, *QUEUE_ORDER).distinct(DRIVER)
    return first.values("pk").query.sql_with_params()


@cache
def _statement_of_other_data() -> Statement:
    """Find the candidates of these drivers on instances with a data set of another recipe."""
    others = DataSet.objects.filter(instance=OuterRef("system__instance"), replaced_at=None)
    others = others.exclude(recipe_digest=OuterRef("experiment__recipe_digest"))
    planned = candidates(OF_DRIVERS, KEYS).exclude(kind=Run.Kind.LOAD).exclude(experiment__recipe_digest="")
    return planned.filter(Exists(others)).values("pk").query.sql_with_params()


@cache
def _statement_without_data() -> Statement:
    truths = {f"gate_{gate.name}": gate.name == "foreign" for gate in GATES if gate.name not in CONTENTION}
    runs = with_gates(_given().exclude(kind=Run.Kind.LOAD)).filter(**truths)
    first = runs.order_by("experiment", "system", "position").distinct("experiment", "system")
    return first.values("pk").query.sql_with_params()


def _given() -> RunQuerySet:
    """Return the queued ones of the runs whose keys go with the statement."""
    return Run.objects.queued().filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", (KEYS,)))


def _keys(statement: Statement, keys: Sequence[int] | None = None) -> list[int]:
    """Return what a statement finds; of the given keys, where it takes any, and without asking where there is none."""
    if keys is not None and not keys:
        return []
    sql, values = statement
    return [key for (key,) in _rows(sql, tuple(keys if value is KEYS else value for value in values))]


@cache
def _statement_of_overtaken(systems: str) -> Statement:
    """Find the first in the queue that wait only until what others take from them, two hosts or data sets, is free.

    What people have stopped is left out by columns, of all; the other gates are asked of one run after the other in the
    order of the queue, until as many have been found as the limit says, which goes with the statement.
    """
    going = {f"gate_{name}": False for name in STOPPED}
    others = [f"gate_{gate.name}" for gate in GATES if gate.name not in (*STOPPED, *CONTENTION, "occupied")]
    first = candidates(FIRST_OF_ALIKE.format(systems=systems)).filter(IS_APART | is_occupied())
    waiting = with_gates(first).filter(**going).order_by(*QUEUE_ORDER)
    rows = waiting.values("id", "gate_busy", "gate_occupied", *others)[:MOST_WAITING]
    statement, values = rows.query.sql_with_params()
    conditions = " AND ".join(("(gate_busy OR gate_occupied)", *(f"NOT {name}" for name in others)))
    return f"SELECT id FROM ({statement}) AS run WHERE {conditions} LIMIT %s", values  # nosec B608  # Django's own


@cache
def _statement_of_open() -> tuple[str, tuple[Any, ...]]:
    shut = {f"gate_{gate.name}": False for gate in GATES if gate.name not in CONTENTION}
    return with_gates(Run.objects.all()).filter(**shut).values("pk").query.sql_with_params()


@cache
def _statement_of_taken() -> Statement:
    return Run.objects.filter(is_occupied()).values("pk").query.sql_with_params()


def _rows(statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
