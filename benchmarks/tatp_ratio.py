"""BenchHub's runs of TATP beside a plain pgbench that sends the same statements: the ratio of throughputs."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import log
from typing import Any

from benchmarks.overhead import interval
from benchmarks.slices import Load, running, throughputs
from benchmarks.tatp_bench import Tatp, untold

LOWEST_RATIO = 0.98
OURS, BARE = "BenchHub", "scripts that tell nothing"
BARE_DATABASE = "bare"
# Of both sides together, which share the time; a word that only the pgbench of a run is given.
SLICED_S = 30
SCRIPT_OF_A_RUN = "--log-prefix=log/pgbench_log"
LOOK_EVERY_S = 0.005
# A run's shells wait while its load works, but to stop and wake them takes time: the plain load has as many.
AS_IN_A_RUN = """\
(
    sh -c 'trap "kill \\$pause; exit" TERM; sleep 60 > /dev/null & pause=$!; wait' &
    "$0" "$@"
    kill $!
)
:
"""
WARM_S = 1


def ratio(bench: Tatp, options: argparse.Namespace) -> bool:
    bench.load()
    with _two_databases(bench):
        bench.measured(max(options.levels), options.duration)  # how much is logged depends on what was seen before
        found = _rounds(Sides(bench), options)
    low = _compared(found, options)
    print(f"{options.rounds} rounds (limit: from {LOWEST_RATIO}, over all levels)")
    return low >= LOWEST_RATIO


@contextmanager
def _two_databases(bench: Tatp) -> Iterator[None]:
    """A database beside BenchHub's, the same to the byte; the server does not wait for its disk meanwhile."""
    template = bench.instance["database"]
    bench.psql(f'CREATE DATABASE "{BARE_DATABASE}" TEMPLATE "{template}" STRATEGY FILE_COPY')
    bench.psql("ALTER SYSTEM SET fsync = off")
    bench.psql("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        bench.psql(f'DROP DATABASE "{BARE_DATABASE}" WITH (FORCE)')
        bench.psql("ALTER SYSTEM RESET fsync")
        bench.psql("SELECT pg_reload_conf()")


def _rounds(sides: Sides, options: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
    """TPS of both sides, by level and round."""
    order = random.Random(options.seed)
    found: dict[int, list[dict[str, float]]] = {level: [] for level in options.levels}
    for number in range(options.rounds):
        sides.swap()
        for level, rates in found.items():
            sides.tidy(level)
            rates.append(throughputs(sides.started(level, order), SLICED_S, order))
        told = ", ".join(f"{level}: {rates[-1][OURS] / rates[-1][BARE]:.3f}" for level, rates in found.items())
        print(f"round {number + 1}/{options.rounds}: {told}", flush=True)
    return found


def _compared(found: Mapping[int, list[dict[str, float]]], options: argparse.Namespace) -> float:
    """Print the ratio of throughputs of both sides, by level and over all; the lower end of the latter's interval."""
    logs = {level: [log(rates[OURS] / rates[BARE]) for rates in rows] for level, rows in found.items()}
    print(f"throughput {OURS} / {BARE}:")
    for level, values in logs.items():
        print(f"  {level} clients: {interval(values, options.seed)[0]}")
    text, low, _ = interval([statistics.mean(row) for row in zip(*logs.values(), strict=True)], options.seed)
    print(f"  over all levels: {text}")
    return low


def _begun(word: str, has_ended: Callable[[], bool]) -> int:
    """The process of the pgbench that was given this word, as soon as there is one."""
    while not (pid := running(word)):
        if has_ended():
            sys.exit(f"There was no pgbench with {word}: what should have started it has ended.")
        time.sleep(LOOK_EVERY_S)  # nobody tells that a process has begun, and a run takes a second or two to its load
    return pid


class Sides:
    """What starts a run of BenchHub and a plain pgbench, each on a database of its own."""

    def __init__(self, bench: Tatp) -> None:
        self.bench = bench
        self.databases = {OURS: bench.instance["database"], BARE: BARE_DATABASE}
        self.pool = ThreadPoolExecutor(1)

    def swap(self) -> None:
        """Let each side have the other's database: where one lies in memory may be the faster place."""
        ours, bare, spare = *self.databases.values(), "swapped"
        for old, new in ((ours, spare), (bare, ours), (spare, bare)):
            self.bench.psql(f'ALTER DATABASE "{old}" RENAME TO "{new}"', "postgres")

    def tidy(self, clients: int) -> None:
        for database in self.databases.values():
            self.bench.tidy(database)
            self.bench.bare(clients, WARM_S, untold(), [database])  # what the first load after a vacuum does

    def started(self, clients: int, order: random.Random) -> dict[str, Callable[[], Load]]:
        """In an order that is drawn: the first may be slower than the other."""
        sides = {OURS: partial(self._run, clients), BARE: partial(self._plain, clients)}
        return {name: sides[name] for name in order.sample([*sides], len(sides))}

    def _run(self, clients: int) -> Load:
        from benchhub.bench.models import Evidence

        run = self.pool.submit(self.bench.measured, clients, SLICED_S)

        def summary() -> str:
            return str(Evidence.objects.get(attempt__run=run.result(), name="out.log").text)

        return Load(_begun(SCRIPT_OF_A_RUN, run.done), summary, partial(self._backends, OURS))

    def _plain(self, clients: int) -> Load:
        words = self.bench.words(clients, SLICED_S, untold(), self.bench.folder)
        to_file = (self.bench.folder / "said").open("wb")
        # Linux shares CPU time out by session (autogroup), and a run has one of its own.
        own: dict[str, Any] = {"start_new_session": True, "text": True}
        own["env"] = {**os.environ, "PGDATABASE": self.databases[BARE]}
        with to_file as said:
            plain = subprocess.Popen(["sh", "-c", AS_IN_A_RUN, *words], stdout=subprocess.PIPE, stderr=said, **own)
        pid = _begun(words[-1], lambda: plain.poll() is not None)
        return Load(pid, lambda: plain.communicate()[0], partial(self._backends, BARE))

    def _backends(self, side: str) -> list[int]:
        """The server's processes for the load of this side, which alone uses its database."""
        sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{self.databases[side]}' AND pid <> pg_backend_pid()"
        return [int(line) for line in self.bench.psql(sql, "postgres").split()]
