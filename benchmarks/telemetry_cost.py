"""Measure what telemetry costs: pgbench with and without its collector, and the collector's own CPU time.

Two sides take turns on a server of the demonstration, and who goes first changes from round to round. Turns during
which the hypervisor took CPU time are taken again (benchmarks/machine.py). Prints the ratio of throughputs with a 95%
interval (bootstrap over rounds; the seed is printed), the CPU time that the collector, psql and its backend took
together, in cores, and the bytes that an hour takes: as the collector noted it, and as it is stored. Limits: all of the
interval is 0.99 or more; at most 0.003 cores.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from benchmarks.machine import undisturbed
from benchmarks.overhead import interval, servers
from runners.telemetry import collector, compact, series
from runners.telemetry.cost import LEAST_RATIO, MOST_CORES, is_within_limits
from runners.telemetry.log import parse

SCALE = 10
HOUR_S = 3600
SCRIPT = """\
step() {{ read -r uptime _ < /proc/uptime; echo "$1 $uptime" >> step; }}
{functions}
begin_telemetry
step measure
{load}
end_telemetry
step after
"""


@dataclass(frozen=True)
class Turn:
    """One load: its throughput and, with telemetry, the collector's cores, the raw bytes of an hour and its metrics."""

    tps: float
    cores: float = 0.0
    noted_bytes: float = 0.0
    observations: tuple[series.Observation, ...] = ()


class Bench:
    """pgbench on a server of the demonstration, run from here, with or without the collector."""

    def __init__(self, instance: dict[str, str], options: argparse.Namespace) -> None:
        self.options = options
        self.bin_directory = instance["bin_directory"]
        names = {"PGPORT": "port", "PGUSER": "username", "PGDATABASE": "database", "PGPASSWORD": "password"}
        connection = {name: str(instance[field] or "") for name, field in names.items()}
        self.environment = {**os.environ, **connection, "PGHOST": "127.0.0.1", "LC_ALL": "C"}

    def load(self) -> None:
        self._run(f"{self.bin_directory}/pgbench -i -q -s {SCALE}", Path.cwd())

    def turn(self, *, is_observed: bool) -> Turn:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = collector.files(self.bin_directory) if is_observed else {}
            for file, text in files.items():
                (folder / file).write_text(text + "\n")
            clients, seconds = self.options.clients, self.options.duration
            words = f"{self.bin_directory}/pgbench -n {self.options.script} -M prepared -c {clients} -j {clients}"
            functions = collector.functions("here", seconds)
            printed = self._run(SCRIPT.format(functions=functions, load=f"{words} -T {seconds}"), folder)
            tps = re.search(r"^tps = ([0-9.]+)", printed, re.MULTILINE)
            if not tps:
                sys.exit(f"pgbench printed no TPS: {printed}")
            return self._observed(float(tps[1]), folder) if is_observed else Turn(float(tps[1]))

    def _observed(self, tps: float, folder: Path) -> Turn:
        content = (folder / collector.LOG_FILE).read_bytes()
        ticks = parse(content).groups["self"]
        seconds = ticks.times_s[-1] - ticks.times_s[0]
        used = [value or 0.0 for value in ticks.column("ticks")]
        telemetry = series.read(content, (folder / "step").read_bytes(), self.options.duration)
        cores, noted = (used[-1] - used[0]) / 100 / seconds, len(content) / seconds * HOUR_S
        return Turn(tps, cores, noted, telemetry.observations)

    def _run(self, text: str, folder: Path) -> str:
        done = subprocess.run(["sh", "-c", text], cwd=folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"A turn ended with code {done.returncode}: {done.stderr[-500:]}")
        return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--duration", type=int, default=10, help="seconds of load of a turn")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--script", default="-S", help="what pgbench runs, as its own options: -S, or -N")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    options = parser.parse_args()
    with servers() as demo:
        bench = Bench(demo.described_target()["instances"][-1], options)
        bench.load()
        bench.turn(is_observed=False)
        rounds = [in_turn(bench, number) for number in range(options.rounds)]
    return report(rounds, options)


def in_turn(bench: Bench, number: int) -> dict[bool, Turn]:
    sides = (True, False) if number % 2 else (False, True)
    turns = undisturbed(lambda: [bench.turn(is_observed=side) for side in sides], f"round {number + 1}")
    return dict(zip(sides, turns, strict=True))


def report(rounds: Sequence[dict[bool, Turn]], options: argparse.Namespace) -> int:
    text, low, _ = interval([log(turns[True].tps / turns[False].tps) for turns in rounds], options.seed)
    observed = [turns[True] for turns in rounds]
    cores = statistics.mean(turn.cores for turn in observed)
    print(f"without telemetry: {statistics.median(turns[False].tps for turns in rounds):,.0f} TPS", end=" ")
    print(f"with {options.clients} clients on {os.cpu_count()} CPUs")
    print(f"TPS with telemetry / without: {text}")
    print(f"collector, psql and its backend: {cores:.4f} cores (limit {MOST_CORES})")
    print(f"an hour: {statistics.mean(turn.noted_bytes for turn in observed) / 1e6:.2f} MB noted", end=", ")
    print(f"{stored_bytes(observed) / 1e3:.0f} kB stored")
    print(f"by this it is {'on' if low >= LEAST_RATIO else 'off'} by default: write it into runners/telemetry/cost.py")
    print(f"{len(rounds)} rounds of {options.duration} s, seed {options.seed}")
    is_within = is_within_limits(low, cores)
    print("within the limits" if is_within else "NOT within the limits")
    return 0 if is_within else 1


def stored_bytes(turns: Sequence[Turn]) -> float:
    """Return what an hour takes as it is stored, by the seconds of all turns one after the other."""
    values: dict[str, list[float | None]] = {}
    for turn in turns:
        for item in turn.observations:
            values.setdefault(item.metric, []).extend(item.values)
    return sum(len(compact.pack(row)) * HOUR_S / len(row) for row in values.values())


if __name__ == "__main__":
    sys.exit(main())
