"""What BenchHub adds to a matrix of runs, against a plain shell loop on the same target, in turn.

Prints the time added per run beyond the planned load, of both, and the ratio of their throughputs, level by level
and in all, with a 95% interval (bootstrap over rounds; the seed is printed). Both pass pgbench the same options,
unless --bare. Limits: at most 2 s added per run; interval of the ratio within 0.98 to 1.02.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

from benchhub.demo import state
from benchhub.demo.servers import Demo
from benchhub.embedded import account as accounts
from benchhub.embedded.processes import Processes

CLONE = Path(__file__).resolve().parent.parent
LOOP = CLONE / "benchmarks" / "plain_loop.sh"
LIMIT_ADDED_S = 2.0
LIMIT_RATIO = 0.02
RESAMPLES = 10_000
# What BenchHub passes for a fast load. A peer without them is about 2% faster where transactions are this short.
SAME_OPTIONS = "-P 1 -l --sampling-rate=0.1"
POLL_S = 0.5  # the looks of this program take CPU from the load; times come from the warehouse


@dataclass(frozen=True)
class Round:
    """One pass over the matrix: TPS by level, and the seconds added per run beyond the planned load."""

    tps: dict[int, float]
    added_s: float


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Interrupted."))
    with servers() as demo:
        bench = BenchHub(demo, options.duration, options.levels)
        plain = PlainLoop(bench.described, bench.private_key, options.duration, options.levels, bare=options.bare)
        bench.load()
        pairs = []
        for number in range(options.rounds):
            order = (plain, bench) if number % 2 else (bench, plain)
            done = {side: side.run() for side in order}
            pairs.append((done[plain], done[bench]))
            print(f"round {number + 1}/{options.rounds}: {summary(*pairs[-1])}", flush=True)
    return report(pairs, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--duration", type=int, default=3, help="seconds of load per run")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 4, 8], help="client levels")
    parser.add_argument("--bare", action="store_true", help="the peer reports no progress and logs no transactions")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    return parser.parse_args()


@contextmanager
def servers() -> Iterator[Demo]:
    """The servers of a demonstration, in a place of their own, without its experiment."""
    owner = accounts.for_clone(CLONE)
    home = owner.home / "overhead"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    owner.own(home)
    owner = replace(owner, home=home)
    processes = Processes(home, f"overhead-{os.getpid()}")
    demo = Demo(CLONE, owner, processes, state.load_secrets(owner))
    try:
        demo.start_servers()
        demo.prepare_warehouse()
        demo.start_application()
        yield demo
    finally:
        demo.stop()
        shutil.rmtree(home)


class BenchHub:
    """The matrix as an experiment: planned, queued, carried out by the worker with every safety step on."""

    def __init__(self, demo: Demo, duration_s: int, levels: Sequence[int]) -> None:
        os.environ.update(demo.environment, DJANGO_SETTINGS_MODULE="benchhub.settings")
        import django

        django.setup()
        from benchhub.bench.management.commands import demo_experiment

        self.described: dict[str, Any] = demo.described_target()
        self.duration_s, self.levels = duration_s, list(levels)
        demo_experiment.ensure_host(self.described)
        host = demo_experiment.Host.objects.get(name=demo_experiment.HOST_NAME)
        self.private_key = host.private_key
        self.described["instances"] = self.described["instances"][-1:]
        self.instance = self.described["instances"][0]
        self.build = demo_experiment.ensure_build(host, self.instance["bin_directory"])
        self.system = demo_experiment.ensure_system(host, self.instance)

    def load(self) -> None:
        """Load the data set before anything is compared."""
        self._experiment([1], 1)

    def run(self) -> Round:
        runs = self._experiment(self.levels, self.duration_s)
        ends = [run.ended_at for run in runs]
        taken_s = (max(ends) - runs[0].experiment.created_at).total_seconds()
        return Round({run.clients: run.result.throughput for run in runs}, added(taken_s, self.duration_s, runs))

    def _experiment(self, levels: list[int], duration_s: int) -> list[Any]:
        from benchhub.bench import plan
        from benchhub.bench.models import Experiment, Run
        from benchhub.catalog.models import Workload
        from benchhub.celery import wake

        experiment = Experiment(
            name="Overhead",
            is_demonstration=True,
            workload=Workload.objects.current().get(name="pgbench select-only, scale 10"),
            client_build=self.build,
            client_bin_directory=self.instance["bin_directory"],
            client_levels=levels,
            duration_s=duration_s,
        )
        plan.queue(experiment, [self.system])
        wake()
        time.sleep(len(levels) * duration_s)
        while experiment.runs.exclude(state__in=["succeeded", "failed", "lost"]).exists():
            time.sleep(POLL_S)
        runs = list(experiment.runs.filter(kind=Run.Kind.MEASURE).select_related("result", "experiment"))
        if bad := [run for run in runs if run.state != "succeeded"]:
            sys.exit(f"{bad[0]}: {bad[0].state}. {bad[0].reason}")
        return runs


class PlainLoop:
    """The same matrix by a shell loop over ssh with a kept master connection."""

    def __init__(
        self, described: dict[str, Any], private_key: str, duration_s: int, levels: Sequence[int], *, bare: bool
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="overhead-"))
        self.duration_s, self.levels = duration_s, list(levels)
        key, known = self.folder / "key", self.folder / "known_hosts"
        key.touch(mode=0o600)
        key.write_text(private_key)
        known.write_text(f"[{described['address']}]:{described['port']} {described['host_key']}\n")
        instance = described["instances"][-1]
        self.password = instance["password"] or ""
        self.options = "" if bare else SAME_OPTIONS
        self.words = [
            *(str(self.folder), str(described["port"]), str(key), str(known)),
            f"{described['username']}@{described['address']}",
            *(instance["bin_directory"], str(instance["port"]), instance["database"], instance["username"]),
            *(str(duration_s), *map(str, levels)),
        ]

    def run(self) -> Round:
        started = time.monotonic()
        environment = {**os.environ, "PGPASSWORD": self.password, "OPTIONS": self.options}
        subprocess.run(["/bin/sh", str(LOOP), *self.words], env=environment, check=True)
        taken_s = time.monotonic() - started
        return Round({level: self._tps(level) for level in self.levels}, added(taken_s, self.duration_s, self.levels))

    def _tps(self, level: int) -> float:
        text = (self.folder / f"{level}.out").read_text()
        found = re.search(r"^tps = ([0-9.]+) \(without initial", text, re.MULTILINE)
        if not found:
            sys.exit(f"The plain loop gave no TPS at {level} clients: {text}")
        return float(found[1])


def added(taken_s: float, duration_s: int, runs: Sequence[object]) -> float:
    return taken_s / len(runs) - duration_s


def summary(plain: Round, bench: Round) -> str:
    ratios = ", ".join(f"{level}: {bench.tps[level] / plain.tps[level]:.3f}" for level in plain.tps)
    return f"added {plain.added_s:.2f} s plain, {bench.added_s:.2f} s BenchHub; TPS ratios {ratios}"


def report(pairs: Sequence[tuple[Round, Round]], options: argparse.Namespace) -> int:
    plain_s, bench_s = (statistics.mean(pair[side].added_s for pair in pairs) for side in (0, 1))
    print(f"\nadded per run beyond the load: plain loop {plain_s:.2f} s, BenchHub {bench_s:.2f} s", end=" ")
    print(f"(limit {LIMIT_ADDED_S} s)")
    logs = {level: [log(b.tps[level] / p.tps[level]) for p, b in pairs] for level in options.levels}
    for level, values in logs.items():
        print(f"TPS ratio BenchHub / plain at {level} clients: {interval(values, options.seed)[0]}")
    text, low, high = interval([statistics.mean(column) for column in zip(*logs.values(), strict=True)], options.seed)
    print(f"TPS ratio over all levels: {text}, {len(pairs)} rounds, bootstrap seed {options.seed}")
    within = bench_s <= LIMIT_ADDED_S and low >= 1 - LIMIT_RATIO and high <= 1 + LIMIT_RATIO
    print("within the limits" if within else "NOT within the limits")
    return 0 if within else 1


def interval(values: Sequence[float], seed: int) -> tuple[str, float, float]:
    """Geometric mean of ratios given as logarithms, with its 95% bootstrap interval."""
    chance = random.Random(seed)
    means = sorted(statistics.mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = exp(means[round(0.025 * RESAMPLES)]), exp(means[round(0.975 * RESAMPLES) - 1])
    return f"{exp(statistics.mean(values)):.4f} (95% interval {low:.4f} to {high:.4f})", low, high


if __name__ == "__main__":
    sys.exit(main())
