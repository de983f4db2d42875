"""What BenchHub adds to a matrix of runs, against a plain shell loop on the same target, in turn.

Prints the time added per run beyond the planned load, of both, and the ratio of their throughputs, level by level
and in all, with a 95% interval (bootstrap over rounds; the seed is printed). The peer is a bare loop, which neither
reports progress nor logs transactions, unless --same-options. The two take turns level by level, and who goes first
alternates: a shared machine drifts by several per cent within a minute. A turn of BenchHub is an experiment of its
own, so the time added includes planning it. A pair of turns during which the hypervisor took CPU time says nothing of
either side and is taken again (benchmarks/machine.py). Limits: at most 2 s added per run; interval within 0.98 to 1.02.
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
from typing import Any, Protocol

from benchhub.demo import state
from benchhub.demo.servers import Demo
from benchhub.embedded import account as accounts
from benchhub.embedded.processes import Processes
from benchmarks.machine import undisturbed

CLONE = Path(__file__).resolve().parent.parent
LOOP = CLONE / "benchmarks" / "plain_loop.sh"
LIMIT_ADDED_S = 2.0
LIMIT_RATIO = 0.02
RESAMPLES = 10_000
# What BenchHub passes for a fast load.
SAME_OPTIONS = "-P 1 -l --sampling-rate=0.02"
POLL_S = 0.5  # the looks of this program take CPU from the load; times come from the warehouse


@dataclass(frozen=True)
class Turn:
    """One run by one side, and the seconds it took beyond the planned load."""

    level: int
    tps: float
    added_s: float


class Side(Protocol):
    def run(self, level: int) -> Turn: ...


@dataclass(frozen=True)
class Round:
    """One pass over the matrix: TPS by level, and the seconds added per run beyond the planned load."""

    tps: dict[int, float]
    added_s: float


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Interrupted."))
    with servers() as demo:
        bench = BenchHub(demo, options.duration)
        plain = PlainLoop(bench.described, bench.private_key, options.duration, same_options=options.same_options)
        bench.load()
        pairs = []
        for number in range(options.rounds):
            pairs.append(in_turn(plain, bench, options.levels, number))
            print(f"round {number + 1}/{options.rounds}: {summary(*pairs[-1])}", flush=True)
    return report(pairs, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--duration", type=int, default=3, help="seconds of load per run")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 4, 8], help="client levels")
    parser.add_argument("--same-options", action="store_true", help=f"give the peer {SAME_OPTIONS} as well")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    return parser.parse_args()


def in_turn(plain: PlainLoop, bench: BenchHub, levels: Sequence[int], number: int) -> tuple[Round, Round]:
    """One round of both, level by level; who goes first alternates with the level, and from round to round."""
    done: dict[Side, list[Turn]] = {plain: [], bench: []}
    for index, level in enumerate(levels):
        sides = (plain, bench) if (number + index) % 2 else (bench, plain)
        for side, turn in zip(sides, pair(sides, level), strict=True):
            done[side].append(turn)
    return whole(done[plain]), whole(done[bench])


def pair(sides: Sequence[Side], level: int) -> list[Turn]:
    return undisturbed(lambda: [side.run(level) for side in sides], f"{level} clients")


def whole(turns: Sequence[Turn]) -> Round:
    return Round({turn.level: turn.tps for turn in turns}, statistics.mean(turn.added_s for turn in turns))


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

    def __init__(self, demo: Demo, duration_s: int) -> None:
        os.environ.update(demo.environment, DJANGO_SETTINGS_MODULE="benchhub.settings")
        import django

        django.setup()
        from benchhub.bench.management.commands import demo_experiment

        self.described: dict[str, Any] = demo.described_target()
        self.duration_s = duration_s
        demo_experiment.ensure_host(self.described)
        host = demo_experiment.Host.objects.get(name=demo_experiment.HOST_NAME)
        self.private_key = host.private_key
        self.described["instances"] = self.described["instances"][-1:]
        self.instance = self.described["instances"][0]
        self.build = demo_experiment.ensure_build(host, self.instance["bin_directory"])
        self.system = demo_experiment.ensure_system(host, self.instance)

    def load(self) -> None:
        """Load the data set before anything is compared."""
        self._run(1, 1)

    def run(self, level: int) -> Turn:
        run = self._run(level, self.duration_s)
        taken_s = (run.ended_at - run.experiment.created_at).total_seconds()
        return Turn(level, run.result.throughput, taken_s - self.duration_s)

    def _run(self, level: int, duration_s: int) -> Any:
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
            client_levels=[level],
            duration_s=duration_s,
        )
        plan.queue(experiment, [self.system])
        wake()
        time.sleep(duration_s + POLL_S)
        while experiment.runs.exclude(state__in=["succeeded", "failed", "lost"]).exists():
            time.sleep(POLL_S)
        run = experiment.runs.select_related("result", "experiment").get(kind=Run.Kind.MEASURE)
        if run.state != "succeeded":
            sys.exit(f"{run}: {run.state}. {run.reason}")
        return run


class PlainLoop:
    """The same matrix by a shell loop over ssh with a kept master connection."""

    def __init__(self, described: dict[str, Any], private_key: str, duration_s: int, *, same_options: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="overhead-"))
        self.duration_s = duration_s
        key, known = self.folder / "key", self.folder / "known_hosts"
        key.touch(mode=0o600)
        key.write_text(private_key)
        known.write_text(f"[{described['address']}]:{described['port']} {described['host_key']}\n")
        instance = described["instances"][-1]
        self.password = instance["password"] or ""
        self.options = SAME_OPTIONS if same_options else ""
        self.words = [
            *(str(self.folder), str(described["port"]), str(key), str(known)),
            f"{described['username']}@{described['address']}",
            *(instance["bin_directory"], str(instance["port"]), instance["database"], instance["username"]),
            str(duration_s),
        ]

    def run(self, level: int) -> Turn:
        started = time.monotonic()
        environment = {**os.environ, "PGPASSWORD": self.password, "OPTIONS": self.options}
        subprocess.run(["/bin/sh", str(LOOP), *self.words, str(level)], env=environment, check=True)
        taken_s = time.monotonic() - started
        return Turn(level, self._tps(level), taken_s - self.duration_s)

    def _tps(self, level: int) -> float:
        text = (self.folder / f"{level}.out").read_text()
        found = re.search(r"^tps = ([0-9.]+) \(without initial", text, re.MULTILINE)
        if not found:
            sys.exit(f"The plain loop gave no TPS at {level} clients: {text}")
        return float(found[1])


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
