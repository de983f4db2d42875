"""Measure how pages, lists and the API answer as years of results come in: with 10,000, 100,000 and 1,000,000 runs.

A warehouse of its own holds 50 hosts, 200 systems, and experiments of 80 runs on 2 systems each, copied by SQL from
one that the tests' rows describe; the newest have `--queued` runs in the queue (2,000). One more has 20,000 runs, as
years of pushes leave under one name. Each address is asked of Django itself,
without a web server: the median and the worst of `REQUESTS`, after one that warms up. Limits:
the worst answer within 100 ms at the largest size, and medians there at most 1.5 times those of the smallest, or 10 ms
more. A tick and the growth of the process's memory are told beside them. `--sizes 10000 100000` chooses others,
`--profile NAME` prints the statements of addresses with their times, `--kills 20` and `--minutes 10` do what
`endurance` says.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import endurance
from benchmarks.compared import warehouse

SIZES = (10_000, 100_000, 1_000_000)
RUNS, HOSTS, SYSTEMS_OF_HOST, QUEUED, REQUESTS = 80, 50, 4, 2000, 7
PUSHES, TICK = 250, "a tick"  # so many times the runs of the first experiment
LIMIT_MS, LIMIT_GROWTH, SLACK_MS = 100.0, 1.5, 10.0
# Rows are copied without a look at references and rules, which the prototype keeps; but ended runs are counted.
COPYING = (
    "ALTER TABLE bench_run ENABLE ALWAYS TRIGGER run_ended_at_once",
    "SET session_replication_role = replica",
)
COPIED = ("SET session_replication_role = DEFAULT", "ANALYZE")
ADDRESSES: Mapping[str, str] = {
    "home": "/",
    "calendar": "/calendar/",
    "leaderboard": "/leaderboard/",
    "leaderboard, by price": "/leaderboard/?by=price",
    "search": "/search/?q=host",
    "search, a run": "/search/?q={run}",
    "experiments": "/experiments/",
    "experiments, ended": "/experiments/?state=ended",
    "experiments, last page": "/experiments/?page=last",
    "an experiment": "/experiments/{experiment}/",
    "its curve as CSV": "/experiments/{experiment}/curve.csv",
    "20,000 runs": "/experiments/{pushes}/",
    "20,000 runs, as CSV": "/experiments/{pushes}/curve.csv",
    "20,000 runs, last page": "/experiments/{pushes}/?page=last",
    "20,000 runs, live": "/experiments/{pushes}/live",
    "20,000 runs, compared": "/compare/?experiment={pushes}",
    "20,000 runs, API": "/api/v1/experiments/{pushes}/",
    "20,000 runs, curves by API": "/api/v1/experiments/{pushes}/curves/",
    "20,000 runs, runs by API": "/api/v1/runs/?experiment={pushes}",
    "20,000 runs, plan alike": "/experiments/new?like={pushes}",
    "a run": "/runs/{run}/",
    "queue": "/queue/",
    "curves to compare": "/compare/?pick=1",
    "two curves": "/compare/?experiment={experiment}",
    "hosts": "/hosts/",
    "audit log": "/audit/",
    "metrics": "/metrics",
    "API, runs": "/api/v1/runs/",
    "API, newest runs": "/api/v1/runs/?ordering=-created_at",
    "API, runs by clients": "/api/v1/runs/?ordering=clients",
    "API, failed runs": "/api/v1/runs/?state=failed&ordering=-id",
    "API, experiments": "/api/v1/experiments/",
    "API, curves": "/api/v1/curves/",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--queued", type=int, default=QUEUED)
    parser.add_argument("--kills", type=int, default=0, help="of a web process while results come in")
    parser.add_argument("--minutes", type=float, default=0, help="of reading all addresses over HTTP")
    parser.add_argument("--seed", type=int, default=1, help="of both")
    parser.add_argument("--profile", nargs="+", default=(), help="addresses by their names")
    options = parser.parse_args()
    with warehouse():
        names = _prototype()
        times: dict[int, dict[str, tuple[float, float]]] = {}
        for size in options.sizes:
            print(f"{size:,} runs: filled in {_filled(size, options.queued, names):.0f} s", flush=True)
            if options.profile:
                for name in options.profile:
                    _profiled(ADDRESSES[name].format(**names))
            else:
                times[size] = {name: _asked(address.format(**names)) for name, address in ADDRESSES.items()}
                times[size][TICK] = _ticked()
                print(f"  memory {_memory_mb():.0f} MB")
        addresses = [address.format(**names) for address in ADDRESSES.values()]
        endured = [endurance.kills(options.kills, options.seed)] if options.kills else []
        endured += [endurance.readers(options.minutes, addresses, options.seed)] if options.minutes else []
    return max(0 if options.profile else _report(times), 0 if all(endured) else 1)


def _report(times: Mapping[int, Mapping[str, tuple[float, float]]]) -> int:
    sizes, over = list(times), 0
    print(f"{'median / worst, ms':26}" + "".join(f"{size:>20,}" for size in sizes))
    for name in (*ADDRESSES, TICK):
        cells = [times[size][name] for size in sizes]
        is_over = cells[-1][1] > LIMIT_MS or cells[-1][0] > max(LIMIT_GROWTH * cells[0][0], cells[0][0] + SLACK_MS)
        over += is_over
        columns = "".join(f"{f'{median:.0f} / {worst:.0f}':>20}" for median, worst in cells)
        print(f"{name:26}{columns}  {'OVER' if is_over else ''}")
    print(f"limit: {LIMIT_MS:.0f} ms, growth {LIMIT_GROWTH}; {over} of {len(ADDRESSES) + 1} over")
    return 1 if over else 0


def _prototype() -> dict[str, int]:
    """Make one experiment of 80 runs, 200 systems on 50 hosts, and a reader; returns names for addresses."""
    from django.contrib.auth import get_user_model

    from benchhub.bench import testing
    from benchhub.catalog.models import Hardware

    get_user_model().objects.create_superuser("ada")
    machine = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    systems = [testing.make_system(version, testing.make_host(), machine) for version in ("16",)]
    systems += [_another(systems[0], number) for number in range(1, HOSTS * SYSTEMS_OF_HOST)]
    made = testing.make_experiment(systems[:2], name="Nightly 0", client_levels=[1, 2, 4, 8], repeats=10)
    for system in systems[:2]:
        for clients in (1, 2, 4, 8):
            for repeat in range(1, 11):
                testing.succeeded(testing.make_run(made, system, clients, repeat), 900.0 * clients + repeat)
    return {"experiment": made.pk, "run": made.runs.first().pk, "pushes": _pushes(made)}


def _pushes(prototype: Any) -> int:
    """Copy the runs of the prototype PUSHES times into one experiment; returns its key."""
    from django.db import connection

    from benchhub.bench.models import Attempt, Experiment, ExperimentSystem, Result, Run

    pushes = Experiment.objects.create(**{**_fields(prototype), "id": None, "name": "Pushes"})
    numbers = f"generate_series(0, {PUSHES - 1}) AS n"
    run_key, age = "(10 ^ 11)::bigint + n * 1000 + s.position", f"now() - ({PUSHES} - n) * interval '1 day'"
    of_run = f"FROM {{table}} r JOIN bench_run s ON s.id = r.run_id, {numbers} WHERE s.experiment_id = {prototype.pk}"
    key = str(pushes.pk)
    statements = [
        _copied(ExperimentSystem, "s", f"FROM {{table}} s WHERE s.experiment_id = {prototype.pk}",
                id="10 ^ 11 + s.position", experiment_id=key, result_count=str(PUSHES * RUNS // 2)),
        _copied(Run, "s", f"FROM {{table}} s, {numbers} WHERE s.experiment_id = {prototype.pk}",
                id=run_key, experiment_id=key, uuid="gen_random_uuid()", created_at=age, started_at=age,
                ended_at=f"{age} + interval '60 s'", position=f"s.position + n * {RUNS}", repeat="s.repeat + n * 10"),
        _copied(Attempt, "r", of_run, id=run_key, run_id=run_key),
        _copied(Result, "r", of_run, id=run_key, run_id=run_key, attempt_id=run_key, parsed_at=age,
                throughput="r.throughput * (1 + ((n * 37) % 50) / 1000.0)"),
    ]  # fmt: skip
    with connection.cursor() as cursor:
        for statement in (*COPYING, *statements, *COPIED):
            cursor.execute(statement)
    return int(key)


def _another(first: Any, number: int) -> Any:
    """Copy the first system with an instance of its own, on one of the hosts."""
    from benchhub.bench import testing
    from benchhub.bench.models import System
    from benchhub.catalog.models import Host, Instance

    host_number = number % HOSTS
    host = Host.objects.filter(name=f"box{host_number}").first() or testing.make_host(
        f"box{host_number}", f"192.0.2.{host_number + 2}"
    )
    fields = _fields(first.instance)
    instance = Instance.objects.create(**{**fields, "id": None, "name": f"pg {number}", "host_id": host.pk})
    changes = {"instance_id": instance.pk, "driver_id": host.pk, "label": f"Build {number}"}
    return System.objects.create(**{**_fields(first), "id": None, "digest": testing.sha256(f"{number}"), **changes})


def _fields(row: Any) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _filled(size: int, queued: int, names: Mapping[str, int]) -> float:
    """Copy the prototype until there are so many runs; returns the seconds it took."""
    from django.db import connection

    from benchhub.bench.models import EndedCount, EndedTally

    begun_s = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM bench_experiment")
        present = cursor.fetchone()[0]
        for statement in (*COPYING, *_statements(present, size // RUNS, queued, names["experiment"]), *COPIED):
            cursor.execute(statement)
    EndedCount.objects.fold()
    EndedTally.objects.fold()
    return time.perf_counter() - begun_s


def _statements(first: int, last: int, queued: int, prototype: int) -> list[str]:
    """Return the statements that add experiments `first` to `last`, each with its systems, runs, attempts and results.

    Keys follow from the number of the experiment, far beyond those of other rows.
    """
    from benchhub.bench.models import Attempt, Experiment, ExperimentSystem, Result, Run

    numbers = f"generate_series({first}, {last - 1}) AS n"
    base = f"{10**6} + n"
    run_key = f"(({base}) * 1000 + s.position)"
    # Two neighbouring systems of a host for each experiment.
    system = (
        f"(SELECT id FROM bench_system ORDER BY id OFFSET ((n * 2 + {{place}}) % {HOSTS * SYSTEMS_OF_HOST}) LIMIT 1)"
    )
    of_side = (
        f"CASE WHEN s.system_id = (SELECT min(system_id) FROM bench_run WHERE experiment_id = {prototype}) "
        f"THEN {system.format(place=0)} ELSE {system.format(place=1)} END"
    )
    age = "now() - (n % 700) * interval '1 day'"
    is_queued = f"n >= {last - queued // RUNS}"
    state = f"CASE WHEN {is_queued} THEN 'queued' WHEN (n * 80 + s.position) % 97 = 0 THEN 'failed' ELSE s.state END"
    of_experiment = f"FROM {{table}} s, {numbers} WHERE s.experiment_id = {prototype}"
    of_run = f"FROM {{table}} r JOIN bench_run s ON s.id = r.run_id, {numbers} WHERE s.experiment_id = {prototype}"
    ended = f"AND NOT {is_queued} AND (n * 80 + s.position) % 97 <> 0"
    return [
        _copied(Experiment, "s", f"FROM {{table}} s, {numbers} WHERE s.id = {prototype}",
                id=base, name="'Nightly ' || n", created_at=age),
        _copied(ExperimentSystem, "s", of_experiment, id=f"({base}) * 10 + s.position", experiment_id=base,
                system_id=f"CASE WHEN s.position = 0 THEN {system.format(place=0)} ELSE {system.format(place=1)} END"),
        _copied(Run, "s", of_experiment, id=run_key, experiment_id=base, uuid="gen_random_uuid()", state=state,
                system_id=of_side, created_at=age),
        _copied(Attempt, "r", of_run, id=run_key, run_id=run_key),
        _copied(Result, "r", f"{of_run} {ended}", id=run_key, run_id=run_key, attempt_id=run_key, parsed_at=age,
                throughput="r.throughput * (1 + (n % 50) / 1000.0)"),
    ]  # fmt: skip


def _copied(model: Any, alias: str, source: str, **changes: str) -> str:
    """Return the statement that copies rows of a model with some columns changed."""
    columns = [field.column for field in model._meta.concrete_fields if not field.generated]
    values = [changes.get(column, f'{alias}."{column}"') for column in columns]
    table = model._meta.db_table
    quoted = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)} {source.format(table=table)}"


def _asked(address: str) -> tuple[float, float]:
    """Return the median and the worst milliseconds of an answer, which must be whole."""
    reader = _reader()
    _time_ms(reader, address)
    # As the web server does once it has loaded everything (benchhub/serve): a collection goes through what is new.
    gc.collect()
    gc.freeze()
    times_ms = [_time_ms(reader, address) for _ in range(REQUESTS)]
    return statistics.median(times_ms), max(times_ms)


def _ticked() -> tuple[float, float]:
    """Return the median and the worst milliseconds in which due runs are looked for, and undo what was reserved.

    Tell how many runs a tick starts, by how many statements and how much CPU of the worker.
    """
    from django.db import connection, transaction
    from django.test.utils import CaptureQueriesContext

    from benchhub.bench.additions import due

    times_ms, starts, cpu_ms = [], 0, []
    for _ in range(REQUESTS + 1):
        begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
        with transaction.atomic():
            starts = len(due.reserve())
            transaction.set_rollback(True)
        times_ms.append(1000 * (time.perf_counter() - begun_s))
        cpu_ms.append(1000 * (time.process_time() - begun_cpu_s))
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        due.reserve()
        transaction.set_rollback(True)
    cpu = f"{statistics.median(cpu_ms[1:]):.0f} ms of CPU (best {min(cpu_ms[1:]):.0f})"
    print(f"  a tick: {starts} starts, {len(queries)} statements, {cpu}")
    return statistics.median(times_ms[1:]), max(times_ms[1:])


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _reader() -> Any:
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(get_user_model().objects.get(username="ada"))
    return client


def _time_ms(reader: Any, address: str) -> float:
    begun_s = time.perf_counter()
    answer = reader.get(address, follow=True)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if answer.status_code != 200 or not content:
        sys.exit(f"{address} answered {answer.status_code}: {content[:300]!r}")
    return 1000 * (time.perf_counter() - begun_s)


def _profiled(address: str) -> None:
    from django.db import connection, reset_queries
    from django.test.utils import CaptureQueriesContext

    reader = _reader()
    _time_ms(reader, address)
    reset_queries()
    with CaptureQueriesContext(connection) as queries:
        taken_ms = _time_ms(reader, address)
    print(f"{address}: {taken_ms:.0f} ms, {len(queries)} queries")
    slowest: Sequence[dict[str, str]] = sorted(queries.captured_queries, key=lambda query: -float(query["time"]))
    for query in slowest[:6]:
        print(f"{1000 * float(query['time']):8.0f} ms  {query['sql'][:1500]}")


if __name__ == "__main__":
    sys.exit(main())
