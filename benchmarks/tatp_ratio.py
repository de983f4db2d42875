"""Measure BenchHub's runs of TATP beside plain pgbench: the ratios of throughputs.

One has the run's own scripts, which tell outcomes: beside it stands the log, the telemetry and what is around a run.
One has scripts that send the same statements and tell nothing: beside it stands everything that BenchHub adds.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import permutations
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from benchhub.embedded import proc
from benchmarks.overhead import interval
from benchmarks.slices import Load, running, throughputs
from benchmarks.tatp_bench import Tatp, untold

LOWEST_RATIO = 0.98
OURS, SAME, BARE = "BenchHub", "plain, same scripts", "plain, scripts that tell nothing"
SIDES = (OURS, SAME, BARE)
COPIES = {SAME: "same", BARE: "bare"}
# Of all sides together, which share the time; what the pgbench of a run alone is given, and what it is given to log.
SLICED_S = 60
WORD_OF_A_RUN = "--log-prefix=log/pgbench_log"
LOGGING = ("-l", WORD_OF_A_RUN, "--sampling-rate=")
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


class Arguments(NamedTuple):
    """The words of a run's pgbench, but for how long it works and what it logs, and its scripts by name."""

    words: list[str]
    scripts: dict[str, str]


def ratio(bench: Tatp, options: argparse.Namespace) -> bool:
    bench.load()
    with _databases(bench), bench.without_waits():
        rates = _rounds(Sides(bench, options.levels), options)
    lows = [_compared(rates, side, options) for side in COPIES]
    print(f"{options.rounds} rounds (limit: from {LOWEST_RATIO}, over all levels, beside each)")
    return min(lows) >= LOWEST_RATIO


@contextmanager
def _databases(bench: Tatp) -> Iterator[None]:
    """Make other databases beside BenchHub's, the same to the byte; drop them at the end."""
    template = bench.instance["database"]
    for name in COPIES.values():
        bench.psql(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY', "postgres")
    try:
        yield
    finally:
        for name in COPIES.values():
            bench.psql(f'DROP DATABASE "{name}" WITH (FORCE)')


def _rounds(sides: Sides, options: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
    """Return the TPS of all sides, by level and round."""
    order = random.Random(options.seed)
    starts = _orders(order)
    rates_by_level: dict[int, list[dict[str, float]]] = {level: [] for level in options.levels}
    for number in range(options.rounds):
        sides.swap()
        for level, rates in rates_by_level.items():
            sides.tidy(level)
            rates.append(throughputs(sides.started(level, next(starts)), SLICED_S, order))
        for side in COPIES:
            ratios_text = ", ".join(
                f"{level}: {rates[-1][OURS] / rates[-1][side]:.3f}" for level, rates in rates_by_level.items()
            )
            print(f"round {number + 1}/{options.rounds}, beside {side}: {ratios_text}", flush=True)
    return rates_by_level


def _orders(order: random.Random) -> Iterator[tuple[str, ...]]:
    """Yield orders to start the loads in, each as often as any other, as the first load was seen to be slower."""
    every = list(permutations(SIDES))
    while True:
        yield from order.sample(every, len(every))


def _compared(rates_by_level: Mapping[int, list[dict[str, float]]], side: str, options: argparse.Namespace) -> float:
    """Print the ratio of throughputs to that side, by level and over all; return the low end of that interval."""
    logs = {level: [log(rates[OURS] / rates[side]) for rates in rows] for level, rows in rates_by_level.items()}
    print(f"throughput {OURS} / {side}:")
    for level, values in logs.items():
        print(f"  {level} clients: {interval(values, options.seed)[0]}")
    text, low, _ = interval([statistics.mean(row) for row in zip(*logs.values(), strict=True)], options.seed)
    print(f"  over all levels: {text}")
    return low


def _begun(word: str, has_ended: Callable[[], bool]) -> int:
    """Return the process of the pgbench that was given this word, as soon as there is one."""
    while not (pid := running(word)):
        if has_ended():
            sys.exit(f"There was no pgbench with {word}: what should have started it has ended.")
        time.sleep(LOOK_EVERY_S)  # nobody tells that a process has begun, and a run takes a second or two to its load
    return pid


def _arguments(pid: int) -> Arguments:
    command_line = "\0".join(proc.command_line(pid))
    # pgbench has taken the values of variables apart from their names, within its own arguments.
    command_line = re.sub(r"-D\0(\w+)\0", r"-D\0\1=", re.sub(r"-T\0\d+\0", "", command_line))
    words = [word for word in command_line.split("\0") if word and not word.startswith(LOGGING)]
    scripts = Path(f"/proc/{pid}/cwd").glob("script_*.sql")
    return Arguments(words, {script.name: script.read_text() for script in scripts})


class Sides:
    """The sides to compare: start a run of BenchHub and plain pgbenches, each on a database of its own."""

    def __init__(self, bench: Tatp, levels: Sequence[int]) -> None:
        self.bench = bench
        self.databases = {OURS: bench.instance["database"], **COPIES}
        self.pool = ThreadPoolExecutor(1)
        self.arguments: dict[int, Arguments] = {}
        self._learn(levels)

    def _learn(self, levels: Sequence[int]) -> None:
        """Learn what runs give pgbench, so that a plain one may start before its run.

        Again until it stays the same: how much is logged depends on the best that was seen before.
        """
        before: dict[int, Arguments] | None = None
        while before != self.arguments:
            before = dict(self.arguments)
            for level in levels:
                run = self.pool.submit(self.bench.measured, level, self.bench.duration_s)
                self.arguments[level] = _arguments(_begun(WORD_OF_A_RUN, run.done))
                run.result()

    def swap(self) -> None:
        """Let each side have the next one's database: where one lies in memory may be the faster place."""
        names, spare = [*self.databases.values()], "spare"
        for old, new in [(names[0], spare), *zip(names[1:], names, strict=False), (spare, names[-1])]:
            self.bench.psql(f'ALTER DATABASE "{old}" RENAME TO "{new}"', "postgres")

    def tidy(self, clients: int) -> None:
        for database in self.databases.values():
            self.bench.tidy(database)
            self.bench.output_of(clients, WARM_S, untold(), [database])  # what the first load after a vacuum does

    def started(self, clients: int, names: Sequence[str]) -> dict[str, Callable[[], Load]]:
        sides = {OURS: self._run, SAME: self._same, BARE: self._bare}
        return {name: partial(sides[name], clients) for name in names}

    def _run(self, clients: int) -> Load:
        from benchhub.bench.models import Evidence

        counted = self._counter(OURS)
        run = self.pool.submit(self.bench.measured, clients, SLICED_S)

        def summary() -> str:
            return str(Evidence.objects.get(attempt__run=run.result(), name="out.log").text)

        pid = _begun(WORD_OF_A_RUN, run.done)
        if _arguments(pid) != self.arguments[clients]:
            sys.exit("This run gave its pgbench other words or scripts than the first one of as many clients.")
        return Load(pid, summary, partial(self._backends, OURS), counted)

    def _same(self, clients: int) -> Load:
        """Start a pgbench with what a run is given, and its scripts, but nothing to log."""
        arguments = self.arguments[clients]
        folder = self.bench.folder / "same"
        folder.mkdir(exist_ok=True)
        for name, text in arguments.scripts.items():
            (folder / name).write_text(text)
        program, *words = (f"{folder}/{word}" if word.startswith("script_") else word for word in arguments.words)
        return self._plain(SAME, [program, "-T", str(SLICED_S), *words])

    def _bare(self, clients: int) -> Load:
        return self._plain(BARE, self.bench.words(clients, SLICED_S, untold(), self.bench.folder))

    def _plain(self, side: str, words: Sequence[str]) -> Load:
        to_file = (self.bench.folder / f"said.{COPIES[side]}").open("wb")
        # Linux shares CPU time out by session (autogroup), and a run has one of its own.
        options: dict[str, Any] = {"start_new_session": True, "text": True}
        counted = self._counter(side)
        options["env"] = {**os.environ, "PGDATABASE": self.databases[side]}
        with to_file as stderr:
            plain = subprocess.Popen(
                ["sh", "-c", AS_IN_A_RUN, *words], stdout=subprocess.PIPE, stderr=stderr, **options
            )
        pid = _begun(words[-1], lambda: plain.poll() is not None)
        return Load(pid, lambda: plain.communicate()[0], partial(self._backends, side), counted)

    def _counter(self, side: str) -> Callable[[], int]:
        """Return a function that counts the transactions in the side's database from now on."""
        before = self._ended(side)
        return lambda: self._ended(side) - before

    def _ended(self, side: str) -> int:
        sql = f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{self.databases[side]}'"
        return int(self.bench.psql(sql, "postgres"))

    def _backends(self, side: str) -> list[int]:
        """Return the server's processes for the load of this side, which alone uses its database."""
        sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{self.databases[side]}' AND pid <> pg_backend_pid()"
        return [int(line) for line in self.bench.psql(sql, "postgres").split()]
