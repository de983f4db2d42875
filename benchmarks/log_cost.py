"""Measure what pgbench's log costs: CPU time of pgbench, and of awk where it reduces the log while it streams.

Four sides take turns, in an order drawn for each round: pgbench -S without a log; with the share that BenchHub would
choose; with every transaction in a file; and with every transaction in a FIFO for each thread, which an awk empties.
Throughput on a shared machine drifts by more than is looked for, so what is compared is CPU time: of each transaction,
in microseconds, as a difference to the load without a log in the same round, with a 95% interval (bootstrap over
rounds; the seed is printed). From the cost of a line follows what a share costs: lines a second x cost of a line / CPUs
that the load's threads work on. Limit: `LINE_CPU_S`, by which shares are chosen, is not below the interval of the cost
of a line.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.overhead import RESAMPLES, servers
from runners.tools.pgbench.log import REDUCE_AWK
from runners.tools.sampling import LINE_CPU_S, MOST_COST, choose_sampling_rate

NONE, SHARE, FILE, STREAM = "no log", "the chosen share", "every transaction", "every transaction, streamed to awk"
SCALE = 10
# A log is named by pgbench's process, which is the shell's: its FIFO can be there before pgbench is.
WAITING = 'read -r go && exec "$@"'


@dataclass(frozen=True)
class Turn:
    """One load by one side: CPU time of each transaction, and how many there were in a second."""

    cpu_us: float
    tps: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--duration", type=int, default=2, help="seconds of load of a turn")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="of the order of turns and the bootstrap")
    options = parser.parse_args()
    with servers() as demo, tempfile.TemporaryDirectory() as folder:
        bench = Bench(demo.described_target()["instances"][-1], Path(folder), options)
        bench.load()
        rounds = bench.rounds(random.Random(options.seed))
    return report(rounds, options)


class Bench:
    """pgbench on a server of the demonstration, run from here."""

    def __init__(self, instance: dict[str, str], folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.pgbench = f"{instance['bin_directory']}/pgbench"
        names = {"PGPORT": "port", "PGUSER": "username", "PGDATABASE": "database", "PGPASSWORD": "password"}
        connection = {name: str(instance[field] or "") for name, field in names.items()}
        self.environment = {**os.environ, **connection, "PGHOST": "127.0.0.1", "LC_ALL": "C"}
        self.share = 1.0

    def load(self) -> None:
        """Make the data set, and choose the share by what a first load does."""
        self._run([self.pgbench, "-i", "-q", "-s", str(SCALE)])
        first = self.turn(NONE)
        self.share = choose_sampling_rate(first.tps, self.options.duration, cpus(self.options))
        print(f"{first.tps:,.0f} TPS, {cpus(self.options)} CPUs: 1 of {1 / self.share:.0f} transactions is logged")

    def rounds(self, order: random.Random) -> list[dict[str, Turn]]:
        rounds = []
        for _ in range(self.options.rounds):
            sides = [NONE, SHARE, FILE, STREAM]
            order.shuffle(sides)
            rounds.append({side: self.turn(side) for side in sides})
        return rounds

    def turn(self, side: str) -> Turn:
        before = _cpu_s()
        text = self._streamed() if side == STREAM else self._run(self._words(side))
        taken_s = _cpu_s() - before
        for file in self.folder.iterdir():
            file.unlink()
        match = re.search(r"processed: (\d+)", text)
        if not match:
            sys.exit(f"pgbench counted no transactions: {text}")
        return Turn(1e6 * taken_s / int(match[1]), int(match[1]) / self.options.duration)

    def _words(self, side: str) -> list[str]:
        clients = str(self.options.clients)
        words = [self.pgbench, "-n", "-S", "-M", "prepared", "-P", "1", "-c", clients, "-j", clients]
        words += ["-T", str(self.options.duration)]
        words += [] if side == NONE else ["-l", "--log-prefix=log"]
        return words + ([f"--sampling-rate={self.share:.15g}"] if side == SHARE and self.share < 1 else [])

    def _run(self, words: Sequence[str]) -> str:
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{words[0]} ended with code {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def _streamed(self) -> str:
        words = ["sh", "-c", WAITING, "sh", *self._words(STREAM)]
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE) | {"stderr": subprocess.DEVNULL}
        load = subprocess.Popen(words, cwd=self.folder, env=self.environment, text=True, **pipes)
        logs = [f"log.{load.pid}" + (f".{thread}" if thread else "") for thread in range(self.options.clients)]
        for log in logs:
            os.mkfifo(self.folder / log)
        readers = [
            subprocess.Popen(["awk", REDUCE_AWK, log], cwd=self.folder, stdout=subprocess.DEVNULL) for log in logs
        ]
        text, _ = load.communicate("go\n")
        for reader in readers:
            reader.wait()
        return str(text)


def cpus(options: argparse.Namespace) -> int:
    return min(options.clients, os.cpu_count() or 1)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(rounds: Sequence[Mapping[str, Turn]], options: argparse.Namespace) -> int:
    tps = statistics.median(turns[NONE].tps for turns in rounds)
    print(f"without a log: {tps:,.0f} TPS, {statistics.median(turns[NONE].cpu_us for turns in rounds):.2f} us", end=" ")
    print("of pgbench's CPU time for each transaction")
    for side in (SHARE, FILE, STREAM):
        cost_us, low_us, high_us = interval([turns[side].cpu_us - turns[NONE].cpu_us for turns in rounds], options.seed)
        low, middle, high = (_taken(us, tps, options) for us in (low_us, cost_us, high_us))
        print(f"{side}: {cost_us:.2f} us more (95% interval {low_us:.2f} to {high_us:.2f}),", end=" ")
        print(f"{middle:.2%} of the CPUs ({low:.2%} to {high:.2%})")
    print(f"limit: a line is taken to cost {1e6 * LINE_CPU_S:.2f} us, so that shares cost up to {MOST_COST:.1%}")
    print(f"{len(rounds)} rounds, seed {options.seed}")
    return 0 if low_end(rounds, options) <= 1e6 * LINE_CPU_S else 1


def low_end(rounds: Sequence[Mapping[str, Turn]], options: argparse.Namespace) -> float:
    """Return the low end of the interval of what a line costs, in microseconds."""
    return interval([turns[FILE].cpu_us - turns[NONE].cpu_us for turns in rounds], options.seed)[1]


def _taken(cost_us: float, tps: float, options: argparse.Namespace) -> float:
    """Return the share of the CPUs that a cost of each transaction takes."""
    return cost_us * tps / 1e6 / cpus(options)


def interval(values: Sequence[float], seed: int) -> tuple[float, float, float]:
    """Return the mean and its 95% bootstrap interval."""
    chance = random.Random(seed)
    means = sorted(statistics.mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return statistics.mean(values), means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]


if __name__ == "__main__":
    sys.exit(main())
