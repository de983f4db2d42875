"""TATP under BenchHub: what it adds to the load, whether success shares lie in their bands, how fast logs are read.

    ratio      throughput at 1, 2, 4 and 8 clients with everything BenchHub adds (outcomes told, log, telemetry, its
               own processes) against a bare pgbench that sends the same statements. As refused writes
               are the same share of both, it is the ratio of their MQTh. The two take turns level by level, and who
               goes first alternates. Limit: the lower end of the ratio's 95% interval is at least 0.98.
    costs      which of these costs what: a bare pgbench that sends the same statements with each by itself, and
               pgbench's progress, which BenchHub does without; at the first of the levels. TPS, and pgbench's CPU time.
    shares     a minute on 4 clients: each transaction's share of success in its band.
    parse      lines of a log read per second on one core. numpy reads kept logs, where BenchHub is: limit 4 million,
               with memory flat: ten times the lines take at most 16 MiB more. awk reduces the log where it was
               written, on the driver, after the run: no limit, it is for information.
    variants   how INSERT_CALL_FORWARDING may accept its failures: statements that insert nothing (what BenchHub does),
               a PL/pgSQL function that catches the error, and SQLSTATE 40001 for pgbench to count (15 and newer).
    load       seconds to load a population, by its size. Limit: at the rate of a million in 5 minutes.

Turns during which the hypervisor took CPU time are taken again (benchmarks/machine.py). Checkpoints and autovacuum come
when they like, so the server here has none during turns, and is vacuumed before each.
Without names all are run but costs and load. Each prints its numbers; exit code 1 where a limit is missed.
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
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from math import exp, log
from pathlib import Path
from typing import Any

from benchmarks.machine import undisturbed
from benchmarks.overhead import BenchHub, interval, servers
from runners.tools import tatp_read
from runners.tools.tatp_log import REDUCE_AWK
from runners.tools.tatp_parameters import TRANSACTIONS, Parameters
from runners.tools.tatp_population import TABLES
from runners.tools.tatp_scripts import SQL, Script, scripts

LOWEST_RATIO = 0.98
FEWEST_LINES_PER_S = 4_000_000
MOST_LOAD_S = 300  # of a million subscribers
# More for ten times the lines: what an allocator may keep of a few chunks.
MOST_GROWTH_BYTES = 16 * 2**20
PARSED_LINES = 1_000_000
PARAMETERS = Parameters(subscribers=100_000)
CLIENTS = 4  # of variants
SHORT_S = 1  # of the run after a load
# What BenchHub passes for a fast load.
FAST_EVERY = 10
LOGGED = ("-l", "--log-prefix={folder}/log", f"--sampling-rate={1 / FAST_EVERY}")
AT_ITS_OWN_TIME = {"autovacuum": "off", "checkpoint_timeout": "1h", "max_wal_size": "8GB"}
SUMMARY = (
    r"tps = ([0-9.]+)",
    r"number of transactions actually processed: (\d+)",
    r"number of failed transactions: (\d+)",
)
TELLING = (r"\set tx ", r"\set told ")


def main() -> int:
    parts = {"ratio": ratio, "costs": costs, "shares": shares, "variants": variants, "load": load}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="all but costs and load, unless named")
    parser.add_argument("--rounds", type=int, default=15, help="of ratio (45 s each), costs and variants")
    parser.add_argument("--duration", type=int, default=5, help="seconds of load of a turn")
    parser.add_argument(
        "--levels", type=int, nargs="+", default=[1, 2, 4, 8], help="client levels of ratio; the first of costs"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="subscribers of load")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    options = parser.parse_args()
    named = options.parts or ["ratio", "shares", "parse", "variants"]
    is_good = True
    if "parse" in named:
        is_good = parse(options)
    if rest := [name for name in named if name != "parse"]:
        with servers() as demo:
            bench = Tatp(demo, options.duration)
            for name in rest:
                is_good = parts[name](bench, options) and is_good
    return 0 if is_good else 1


class Tatp(BenchHub):
    """BenchHub with TATP as its workload, and a bare pgbench beside it on the same server."""

    def __init__(self, demo: Any, duration_s: int) -> None:
        super().__init__(demo, duration_s)
        self.folder = Path(tempfile.mkdtemp(prefix="tatp-"))
        os.environ.update(
            PGHOST=self.described["address"],
            PGPORT=str(self.instance["port"]),
            PGUSER=self.instance["username"],
            PGDATABASE=self.instance["database"],
            PGPASSWORD=self.instance["password"] or "",
        )
        for name, value in AT_ITS_OWN_TIME.items():
            self.psql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.psql("SELECT pg_reload_conf()")

    def load(self) -> None:
        """Load the population before anything is compared, and write out what that left to be written."""
        self.measured(1, SHORT_S)
        self.psql("CHECKPOINT")

    def loaded_s(self, subscribers: int) -> float:
        from benchhub.bench.models import Run

        run = self.measured(1, SHORT_S, is_load_due=True, subscribers=subscribers)
        load = run.experiment.runs.get(kind=Run.Kind.LOAD)
        return float((load.ended_at - load.started_at).total_seconds())

    def tidy(self) -> None:
        self.psql("VACUUM " + ", ".join(TABLES))

    def measured(self, clients: int, duration_s: int, *, is_load_due: bool = False, **parameters: Any) -> Any:
        """The run, ended well, of an experiment of its own; a population that is missing, or due, is loaded first."""
        from benchhub.bench import plan
        from benchhub.bench.models import Experiment, Run
        from benchhub.catalog.models import Workload
        from benchhub.celery import wake

        asked = {"subscribers": PARAMETERS.subscribers, **parameters}
        workload, _ = Workload.objects.get_or_create(
            name=f"TATP {asked}", defaults={"tool": "tatp", "parameters": asked}
        )
        experiment = Experiment(
            name="TATP",
            is_demonstration=True,
            workload=workload,
            client_build=self.build,
            client_bin_directory=self.instance["bin_directory"],
            client_levels=[clients],
            thread_rule="clients/2" if clients > 1 else "clients",
            duration_s=duration_s,
        )
        plan.queue(experiment, [self.system], [self.system] if is_load_due else None)
        wake()
        time.sleep(duration_s)
        while experiment.runs.exclude(state__in=["succeeded", "failed", "lost"]).exists():
            time.sleep(0.5)
        bad = experiment.runs.exclude(state="succeeded").first()
        if bad:
            sys.exit(f"{bad}: {bad.state}. {bad.reason}")
        return experiment.runs.select_related("result").get(kind=Run.Kind.MEASURE)

    def tps(self, clients: int, duration_s: int) -> float:
        """TPS of a run under BenchHub, as its pgbench sums it up: that of a bare one is computed the same way."""
        from benchhub.bench.models import Evidence

        run = self.measured(clients, duration_s)
        return summed_up(Evidence.objects.get(attempt__run=run, name="out.log").text)

    def bare(self, clients: int, duration_s: int, sent: Sequence[Script], options: Sequence[str] = ()) -> float:
        """TPS of a bare pgbench: no log, nothing told, unless by the options and scripts."""
        words = [f"{self.instance['bin_directory']}/pgbench", "-n", "-M", "prepared", "-T", str(duration_s)]
        words += ["-c", str(clients), "-j", str(max(1, clients // 2))]
        words += [option.format(folder=self.folder) for option in options]
        for number, script in enumerate(sent):
            path = self.folder / f"{number}.sql"
            path.write_text(script.text)
            words += ["-f", f"{path}@{script.weight}"]
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=said, text=True, check=True)
        for path in self.folder.glob("log.*"):
            path.unlink()
        return summed_up(done.stdout)

    def psql(self, sql: str) -> None:
        command = [f"{self.instance['bin_directory']}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def untold() -> list[Script]:
    """The scripts without what tells outcomes: they send the same statements."""
    return [
        Script("".join(f"{line}\n" for line in script.text.splitlines() if not line.startswith(TELLING)), weight)
        for script, weight in zip(scripts(PARAMETERS, FAST_EVERY), PARAMETERS.weighed, strict=False)
    ]


def summed_up(stdout: str) -> float:
    """Transactions per second that ended, with those that failed: pgbench's TPS leaves these out."""
    tps, processed, failed = (re.search(rf"^{line}", stdout, re.MULTILINE) for line in SUMMARY)
    if not (tps and processed):
        sys.exit(stdout)
    return float(tps[1]) * (1 + int(failed[1] if failed else 0) / int(processed[1]))


def ratio(bench: Tatp, options: argparse.Namespace) -> bool:
    sent = untold()
    assert not any("debug" in script.text or ":tx" in script.text for script in sent)
    bench.load()
    found: dict[int, list[float]] = {level: [] for level in options.levels}
    for number in range(options.rounds):
        for place, level in enumerate(options.levels):
            sides: dict[str, Callable[[], float]] = {
                "bare": partial(bench.bare, level, options.duration, sent),
                "ours": partial(bench.tps, level, options.duration),
            }
            rates = in_turn(bench, sides, number + place, f"{level} clients")
            found[level].append(log(rates["ours"] / rates["bare"]))
        told = ", ".join(f"{level}: {exp(values[-1]):.3f}" for level, values in found.items())
        print(f"round {number + 1}/{options.rounds}: {told}", flush=True)
    for level, values in found.items():
        print(f"throughput BenchHub / bare pgbench at {level} clients: {interval(values, options.seed)[0]}")
    means = [statistics.mean(column) for column in zip(*found.values(), strict=True)]
    text, low, _ = interval(means, options.seed)
    print(f"over all levels: {text}, {len(means)} rounds (limit: from {LOWEST_RATIO})")
    return low >= LOWEST_RATIO


def in_turn(bench: Tatp, sides: Mapping[str, Callable[[], float]], number: int, name: str) -> dict[str, float]:
    """TPS of each side, which take turns in the order given, or back to front where the number is odd."""
    order = list(reversed(sides)) if number % 2 else list(sides)

    def turns() -> dict[str, float]:
        rates = {}
        for side in order:
            bench.tidy()
            rates[side] = sides[side]()
        return rates

    return undisturbed(turns, name)


def costs(bench: Tatp, options: argparse.Namespace) -> bool:
    told, sent = scripts(PARAMETERS, FAST_EVERY), untold()

    def side(sent: Sequence[Script], *words: str) -> Callable[[], float]:
        return partial(bench.bare, options.levels[0], options.duration, sent, words)

    ready = ("-D", "tx=0", "-D", "reads=0")
    sides = {
        "bare": side(sent),
        "bare again": side(sent),
        "sampled log": side(sent, *LOGGED),
        "outcomes told": side(told, *ready),
        "both": side(told, *ready, *LOGGED),
        "progress, -P 1": side(sent, "-P", "1"),
    }
    bench.load()
    spent_us: dict[str, list[float]] = {name: [] for name in sides}
    metered = {name: partial(_metered, side, options.duration, spent_us[name]) for name, side in sides.items()}
    compare(bench, metered, options)
    for name, values in spent_us.items():
        print(f"{name:24} {statistics.median(values):8.2f} us of pgbench's CPU time for each transaction")
    return True


def _metered(side: Callable[[], float], duration_s: int, spent_us: list[float]) -> float:
    """TPS of the side; the CPU time of the program that it ran, for each transaction, is added to the list."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    tps = side()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    spent_us.append(1e6 * taken_s / (tps * duration_s))
    return tps


def compare(bench: Tatp, sides: Mapping[str, Callable[[], float]], options: argparse.Namespace) -> None:
    """Print the throughput of each side, and its ratio to that of the first."""
    rounds = [in_turn(bench, sides, number, f"round {number + 1}") for number in range(options.rounds)]
    first = next(iter(sides))
    for name in sides:
        ratios = [log(rates[name] / rates[first]) for rates in rounds]
        median = statistics.median(rates[name] for rates in rounds)
        print(f"{name:24} {median:8,.0f} TPS, ratio {interval(ratios, options.seed)[0]}")


def shares(bench: Tatp, options: argparse.Namespace) -> bool:
    del options
    result = bench.measured(4, 60).result
    value = {name: measure["value"] for name, measure in result.measures.items()}
    print(f"{result.throughput:,.0f} MQTh, strict {value['strict_mqth']:,.0f}, 4 clients, 60 s")
    for name in map(str.lower, TRANSACTIONS):
        low, high = value[f"success_low_{name}"], value[f"success_high_{name}"]
        print(f"  {name:24} {value[f'success_{name}']:7.3f}% of {value[f'executions_{name}']:>9,.0f}", end="")
        print(f", must be {low:.3f}% to {high:.3f}%")
    doubts = [doubt["text"] for doubt in result.doubts if doubt["code"] == "success-share"]
    print("\n".join(doubts) or "all within their bands")
    return not doubts


# --- reading logs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Speed:
    lines_per_s: float
    grown_bytes: int


def parse(options: argparse.Namespace) -> bool:
    log_text, marks = made_log(PARSED_LINES, options.seed)
    numpy_read(log_text[: log_text.index(b"\n") + 1], b"")  # numpy is imported before the clock starts
    once = max((numpy_read(log_text, marks) for _ in range(3)), key=lambda speed: speed.lines_per_s)
    tenfold = numpy_read(log_text, marks, times=10)
    limit = f"limit: from {FEWEST_LINES_PER_S / 1e6:.0f}"
    print(f"kept logs, read by numpy: {once.lines_per_s / 1e6:.2f} million lines/s of one core ({limit});", end=" ")
    grown = f"peak memory + {tenfold.grown_bytes / 2**20:.0f} MiB (limit: to {MOST_GROWTH_BYTES / 2**20:.0f})"
    print(f"ten times the lines: {tenfold.lines_per_s / 1e6:.2f}, {grown}")
    awk = awk_read(log_text, marks) / 1e6
    print(f"every log, reduced by awk on the driver after the run: {awk:.2f} million lines/s of one core (no limit)")
    return once.lines_per_s >= FEWEST_LINES_PER_S and tenfold.grown_bytes <= MOST_GROWTH_BYTES


def made_log(lines: int, seed: int) -> tuple[bytes, bytes]:
    chance, log_lines, marks = random.Random(seed), [], []
    chosen = chance.choices(range(7), PARAMETERS.weighed, k=lines)
    for place, script in enumerate(chosen):
        client, number = place % 8, place // 8 + 1
        latency_us = int(chance.lognormvariate(5, 1))
        log_lines.append(f"{client} {number} {latency_us} {script} {1_700_000_000 + place // 30_000} {place % 10**6}\n")
        if script in (3, 5, 6):
            marks.append(f"{client} {number} {script} {chance.randrange(2)}\n")
    return "".join(log_lines).encode(), "".join(marks).encode()


def numpy_read(log_text: bytes, marks: bytes, times: int = 1) -> Speed:
    """What was read, and by how much the peak of this program's memory grew meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    streams = (chunk for _ in range(times) for chunk in tatp_read.chunks(BytesIO(log_text)))
    found = tatp_read.reduce(streams, tatp_read.chunks(BytesIO(marks)), 1_700_000_001)
    taken_s = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Speed(found.lines / taken_s, grown * 1024)


def awk_read(log_text: bytes, marks: bytes) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pgbench_log.1").write_bytes(log_text)
        (folder / "marks").write_bytes(marks)
        values = "marks=marks clients=8 threads=1 start=1700000000 warmup=0 every=1 progress=progress told=told reads="
        values += f" transactions={PARSED_LINES} seconds=34 rows=34"
        words = ["awk", *(word for value in values.split() for word in ("-v", value)), REDUCE_AWK]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*words, "pgbench_log.1"], cwd=folder, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return PARSED_LINES / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


# --- how failures may be accepted -----------------------------------------------------------------------------

CATCHES = """
CREATE OR REPLACE FUNCTION tatp_insert(s int, t int, st int, et int, n text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO call_forwarding VALUES (s, t, st, et, n); RETURN 1;
EXCEPTION WHEN unique_violation OR foreign_key_violation THEN RETURN 0; END $$;
CREATE OR REPLACE FUNCTION tatp_raise(s int, t int, st int, et int, n text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO call_forwarding VALUES (s, t, st, et, n); RETURN 1;
EXCEPTION WHEN unique_violation OR foreign_key_violation THEN RAISE SQLSTATE '40001'; END $$
"""
CALL = "SELECT {} (:s_id, :sf_type, :start_time, :end_time, lpad(:numberx::text, 15, '0')) AS ok"


def variants(bench: Tatp, options: argparse.Namespace) -> bool:
    """INSERT_CALL_FORWARDING and DELETE_CALL_FORWARDING in equal number; each variant in turn."""
    bench.load()
    bench.psql(CATCHES)
    ours, delete = (script.text for script in untold()[5:])
    sent = SQL["INSERT_CALL_FORWARDING"][2]
    catching = ours.replace(sent, CALL.format("tatp_insert"))
    raising = ours.replace(sent, CALL.format("tatp_raise"))
    assert ours != catching != raising
    inserts = {"inserts nothing": ours, "function that catches": catching, "SQLSTATE 40001": raising}
    sides = {
        name: partial(bench.bare, CLIENTS, options.duration, (Script(insert, 1), Script(delete, 1)))
        for name, insert in inserts.items()
    }
    compare(bench, sides, options)
    print("Transactions that were refused count too. With SQLSTATE 40001 the server logs each of them.")
    return True


def load(bench: Tatp, options: argparse.Namespace) -> bool:
    """Rows, keys, vacuum and check of each population; the smallest last is what other parts then find."""
    rates = []
    for subscribers in sorted(options.sizes, reverse=True):
        taken_s = bench.loaded_s(subscribers)
        rates.append(subscribers / taken_s)
        print(f"{subscribers:>9,} subscribers: {taken_s:.0f} s, {rates[-1]:,.0f} a second", flush=True)
    print(f"limit: a million in {MOST_LOAD_S} s, which is {1e6 / MOST_LOAD_S:,.0f} a second")
    return min(rates) >= 1e6 / MOST_LOAD_S


if __name__ == "__main__":
    sys.exit(main())
