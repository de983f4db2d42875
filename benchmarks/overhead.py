"""Measure what BenchHub adds to a matrix of runs, against a plain shell loop on the same target, in turn.

Prints the time added per run beyond the planned load, and ratios of throughputs, level by level and in all, with a 95%
interval (bootstrap over rounds; the seed is printed). There are three sides: BenchHub; a loop that gives pgbench the
same options (-P 1, and -l as the last run at the level had it), which has the limit; and a bare loop that neither
reports progress nor logs, which shows what pgbench's own reporting costs. They take turns level by level, and who goes
first moves on: a shared machine drifts by several per cent within a minute. A turn of BenchHub is an experiment of its
own, so the time added includes planning it. Turns during which the hypervisor took CPU time say nothing of any side and
are taken again (benchmarks/machine.py). Limits: at most 2 s added per run; interval against the same options within
0.98 to 1.02.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
OURS, SAME, BARE = "BenchHub", "loop with the same options", "bare loop"
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
        loop = partial(PlainLoop, bench.described, bench.private_key, options.duration)
        sides: dict[str, Side] = {OURS: bench, SAME: loop(bench.options), BARE: loop(lambda _: "")}
        bench.load()
        for level in options.levels:
            bench.run(level)  # the first run at a level chooses how much is logged
        rounds = []
        for number in range(options.rounds):
            rounds.append(in_turn(sides, options.levels, number))
            print(f"round {number + 1}/{options.rounds}: {summary(rounds[-1])}", flush=True)
    return report(rounds, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--duration", type=int, default=3, help="seconds of load per run")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 4, 8], help="client levels")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    return parser.parse_args()


def in_turn(sides: Mapping[str, Side], levels: Sequence[int], number: int) -> dict[str, Round]:
    """Run one round of all sides, level by level; who goes first moves on with the level, and from round to round."""
    turns_by_side: dict[str, list[Turn]] = {name: [] for name in sides}
    for index, level in enumerate(levels):
        first = (number + index) % len(sides)
        order = [*sides][first:] + [*sides][:first]
        for name, turn in zip(order, turns([sides[name] for name in order], level), strict=True):
            turns_by_side[name].append(turn)
    return {name: mean_round(side_turns) for name, side_turns in turns_by_side.items()}


def turns(sides: Sequence[Side], level: int) -> list[Turn]:
    return undisturbed(lambda: [side.run(level) for side in sides], f"{level} clients")


def mean_round(turns: Sequence[Turn]) -> Round:
    return Round({turn.level: turn.tps for turn in turns}, statistics.mean(turn.added_s for turn in turns))


@contextmanager
def servers() -> Iterator[Demo]:
    """Yield the servers of a demonstration, in a place of their own, without its experiment."""
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
        self.shares: dict[int, float] = {}
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
        self.shares[level] = run.histograms.first().sampling_rate
        taken_s = (run.ended_at - run.experiment.created_at).total_seconds()
        return Turn(level, run.result.throughput, taken_s - self.duration_s)

    def options(self, level: int) -> str:
        """Return the words that the last run at this level gave pgbench beside those of a bare one."""
        return f"-P 1 -l --sampling-rate={self.shares[level]:.15g}"

    def _run(self, level: int, duration_s: int) -> Any:
        from benchhub.bench.models import Experiment
        from benchhub.catalog.models import Workload

        experiment = Experiment(
            name="Overhead",
            is_demonstration=True,
            workload=Workload.objects.current().get(name="pgbench select-only, scale 10"),
            client_build=self.build,
            client_bin_directory=self.instance["bin_directory"],
            client_levels=[level],
            duration_s=duration_s,
        )
        return self.carried_out(experiment)

    def carried_out(self, experiment: Any, *, is_load_due: bool = False) -> Any:
        """Queue the experiment and return the run of its one level, when all its runs have ended well."""
        from benchhub.bench.models import Run
        from benchhub.bench.plan import plan
        from benchhub.celery import wake

        plan.queue(experiment, [self.system], [self.system] if is_load_due else None)
        wake()
        time.sleep(experiment.duration_s)  # to ask during the load would take CPU time from it
        while experiment.runs.exclude(state__in=["succeeded", "failed", "lost"]).exists():
            time.sleep(POLL_S)  # the worker tells the database alone that a run has ended
        bad = experiment.runs.exclude(state="succeeded").first()
        if bad:
            sys.exit(f"{bad}: {bad.state}. {bad.reason}")
        return experiment.runs.select_related("result", "experiment").get(kind=Run.Kind.MEASURE)


class PlainLoop:
    """The same matrix by a shell loop over ssh with a kept master connection."""

    def __init__(
        self, described: dict[str, Any], private_key: str, duration_s: int, options: Callable[[int], str]
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="overhead-"))
        self.duration_s = duration_s
        key, known_hosts = self.folder / "key", self.folder / "known_hosts"
        key.touch(mode=0o600)
        key.write_text(private_key)
        known_hosts.write_text(f"[{described['address']}]:{described['port']} {described['host_key']}\n")
        instance = described["instances"][-1]
        self.password = instance["password"] or ""
        self.options = options
        self.words = [
            *(str(self.folder), str(described["port"]), str(key), str(known_hosts)),
            f"{described['username']}@{described['address']}",
            *(instance["bin_directory"], str(instance["port"]), instance["database"], instance["username"]),
            str(duration_s),
        ]

    def run(self, level: int) -> Turn:
        started = time.monotonic()
        environment = {**os.environ, "PGPASSWORD": self.password, "OPTIONS": self.options(level)}
        subprocess.run(["/bin/sh", str(LOOP), *self.words, str(level)], env=environment, check=True)
        taken_s = time.monotonic() - started
        return Turn(level, self._tps(level), taken_s - self.duration_s)

    def _tps(self, level: int) -> float:
        text = (self.folder / f"{level}.out").read_text()
        match = re.search(r"^tps = ([0-9.]+) \(without initial", text, re.MULTILINE)
        if not match:
            sys.exit(f"The plain loop gave no TPS at {level} clients: {text}")
        return float(match[1])


def summary(sides: Mapping[str, Round]) -> str:
    ratios_text = ", ".join(f"{level}: {sides[OURS].tps[level] / tps:.3f}" for level, tps in sides[SAME].tps.items())
    added_text = f"added {sides[SAME].added_s:.2f} s by the loop, {sides[OURS].added_s:.2f} s by BenchHub"
    return f"{added_text}; TPS ratios {ratios_text}"


def report(rounds: Sequence[Mapping[str, Round]], options: argparse.Namespace) -> int:
    loop_s, ours_s = (statistics.mean(sides[name].added_s for sides in rounds) for name in (SAME, OURS))
    print(f"\nadded per run beyond the load: plain loop {loop_s:.2f} s, BenchHub {ours_s:.2f} s", end=" ")
    print(f"(limit {LIMIT_ADDED_S} s)")
    low, high = ratios(rounds, OURS, SAME, options)
    ratios(rounds, OURS, BARE, options)
    ratios(rounds, SAME, BARE, options)
    print(f"{len(rounds)} rounds, bootstrap seed {options.seed}")
    is_within = ours_s <= LIMIT_ADDED_S and low >= 1 - LIMIT_RATIO and high <= 1 + LIMIT_RATIO
    print("within the limits" if is_within else "NOT within the limits")
    return 0 if is_within else 1


def ratios(
    rounds: Sequence[Mapping[str, Round]], over: str, under: str, options: argparse.Namespace
) -> tuple[float, float]:
    """Print the ratios of throughput of two sides, by level and in all; return the interval over all levels."""
    logs = [[log(sides[over].tps[level] / sides[under].tps[level]) for level in options.levels] for sides in rounds]
    print(f"TPS ratio {over} / {under}:")
    for level, values in zip(options.levels, zip(*logs, strict=True), strict=True):
        print(f"  {level} clients: {interval(values, options.seed)[0]}")
    text, low, high = interval([statistics.mean(row) for row in logs], options.seed)
    print(f"  all levels: {text}")
    return low, high


def interval(values: Sequence[float], seed: int) -> tuple[str, float, float]:
    """Return in words the geometric mean of ratios given as logarithms, with its 95% bootstrap interval."""
    chance = random.Random(seed)
    means = sorted(statistics.mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = exp(means[round(0.025 * RESAMPLES)]), exp(means[round(0.975 * RESAMPLES) - 1])
    return f"{exp(statistics.mean(values)):.4f} (95% interval {low:.4f} to {high:.4f})", low, high


if __name__ == "__main__":
    sys.exit(main())
