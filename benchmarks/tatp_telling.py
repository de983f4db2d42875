"""Measure what it costs to tell outcomes, by type of transaction. Part of benchmarks/tatp.py.

One pgbench with one client runs each script in two forms, as a fast load is sent it and without what tells, on one CPU
with its server: both forms then find the same machine, which differs from one run to the next by more than what is
looked for. As some work of one transaction is done within the next, its time is from the end of the one before it to
the end of the one after it: in that the forms differ by what the one costs.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.tatp_bench import FAST_EVERY, PARAMETERS, READY, Tatp, untold
from runners.tools.tatp.command import MOST_READS_TO_A_LOOK
from runners.tools.tatp.log import LOOKED_AT
from runners.tools.tatp.parameters import TRANSACTIONS
from runners.tools.tatp.scripts import MOST_TOLD_AT_ONCE, Script, scripts

RUN_S, SERIES = 30, 6
# Of the times, the longest: waits of the machine.
LEFT_OUT = 0.01


class Mean(NamedTuple):
    us: float
    error_us: float


def telling(bench: Tatp, options: argparse.Namespace) -> bool:
    """Print the cost by script, and for a transaction of the default mix with 95%; there is no limit."""
    bench.load()
    telling_scripts = scripts(PARAMETERS, MOST_READS_TO_A_LOOK, MOST_TOLD_AT_ONCE)
    bare_scripts = [Script(script.text, script.weight * MOST_READS_TO_A_LOOK) for script in untold()]
    with _one_cpu(bench), bench.without_waits():
        times = _times(bench, [*telling_scripts, *bare_scripts], random.Random(options.seed))
    means = {number: _mean(sorted(values)) for number, values in times.items()}
    plain_us = _printed([script.weight for script in telling_scripts], means)
    print(f"A transaction that tells nothing takes {plain_us:.1f} us. Not in this is the log, 1 line for {FAST_EVERY}.")
    return True


def _printed(weights: Sequence[int], means: Mapping[int, Mean]) -> float:
    cost_us = variance = plain_us = 0.0
    for number, weight in enumerate(weights):
        name, share = LOOKED_AT.get(number, number), weight / sum(weights)
        telling_mean, bare_mean = means[number], means[len(weights) + name]
        more_us, error_us = telling_mean.us - bare_mean.us, math.hypot(telling_mean.error_us, bare_mean.error_us)
        looks = " that looks" if number in LOOKED_AT else ""
        print(f"{TRANSACTIONS[name] + looks:32} {100 * share:6.2f}% of all: {more_us:+6.2f} us (± {2 * error_us:.2f})")
        cost_us, variance = cost_us + share * more_us, variance + (share * error_us) ** 2
        plain_us += share * bare_mean.us / 2  # each time is that of two transactions
    off_us = 2 * math.sqrt(variance)
    print(f"all: {cost_us:+.3f} us (± {off_us:.3f}), {100 * cost_us / plain_us:.2f}% (± {100 * off_us / plain_us:.2f})")
    return plain_us


def _mean(values: Sequence[float]) -> Mean:
    shortest = values[: math.ceil(len(values) * (1 - LEFT_OUT))]
    return Mean(statistics.fmean(shortest), statistics.stdev(shortest) / math.sqrt(len(shortest)))


def _times(bench: Tatp, sent: Sequence[Script], order: random.Random) -> dict[int, list[float]]:
    """Return microseconds by place in `sent`. Scripts come in a new order each time, as a late one is slower."""
    times_us: dict[int, list[float]] = {number: [] for number in range(len(sent))}
    for series in range(SERIES):
        bench.tidy()
        places = order.sample(range(len(sent)), len(sent))
        for script, us in _neighbours(bench, [sent[place] for place in places]):
            times_us[places[script]].append(us)
        print(f"series {series + 1}/{SERIES}", flush=True)
    return times_us


def _neighbours(bench: Tatp, sent: Sequence[Script]) -> Iterator[tuple[int, float]]:
    words = [*bench.words(1, RUN_S, sent, bench.folder), *READY, "-l", f"--log-prefix={bench.folder}/log"]
    with (bench.folder / "said").open("wb") as stderr:
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=stderr, check=True)
    [path] = bench.folder.glob("log.*")
    rows = [line.split() for line in path.read_text().splitlines()]
    path.unlink()
    ended_us = [int(row[4]) * 10**6 + int(row[5]) for row in rows]
    for place in range(1, len(rows) - 1):
        yield int(rows[place][3]), ended_us[place + 1] - ended_us[place - 1]


@contextmanager
def _one_cpu(bench: Tatp) -> Iterator[None]:
    """Keep this process, those that it starts, and the server's new sessions to one CPU."""
    server, all_cpus = int(bench.psql("SELECT pg_read_file('postmaster.pid')").split()[0]), os.sched_getaffinity(0)
    for process in (0, server):
        os.sched_setaffinity(process, {min(all_cpus)})
    try:
        yield
    finally:
        for process in (0, server):
            os.sched_setaffinity(process, all_cpus)
