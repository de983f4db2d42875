"""TATP under BenchHub: what it adds to the load, whether success shares lie in their bands, how fast logs are read.

    ratio      throughput at 1, 2, 4 and 8 clients with everything BenchHub adds (outcomes told, log, telemetry) against
               a plain pgbench with scripts that send the same statements and tell nothing. As refused writes are the
               same share of both, it is the ratio of their MQTh. Limit: the lower end of its 95% interval is at
               least 0.98. Both share 30 s, in slices of a fraction of a second (benchmarks/slices.py), each on a
               database of its own: copies of one population. With the load stops all else of the run on the target;
               BenchHub's servers do not, and burden both alike. The server does not wait for its disk here (fsync is
               off): such waits differ by more than what is looked for, and would hide a part of it.
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
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from benchmarks.machine import undisturbed
from benchmarks.overhead import BenchHub, interval, servers
from benchmarks.slices import Load, running, summed_up, throughputs
from benchmarks.tatp_logs import parse
from runners.tools.tatp_parameters import TRANSACTIONS, Parameters
from runners.tools.tatp_population import TABLES
from runners.tools.tatp_scripts import COUNTER, MISSED, READS_SEEN, SQL, Script, scripts

LOWEST_RATIO = 0.98
MOST_LOAD_S = 300  # of a million subscribers
PARAMETERS = Parameters(subscribers=100_000)
CLIENTS = 4  # of variants
SHORT_S = 1  # of the run after a load
# What BenchHub passes where it expects 20,000 transactions a second.
FAST_EVERY = 10
LOGGED = ("-l", "--log-prefix={folder}/log", f"--sampling-rate={1 / FAST_EVERY}")
READY = ("-D", f"{READS_SEEN}=0", "-D", f"{MISSED}=0")
OURS, BARE = "BenchHub", "scripts that tell nothing"
BARE_DATABASE = "bare"
# Of the sides of `ratio` together, which share the time; a word that only the pgbench of a run is given.
SLICED_S = 30
SCRIPT_OF_A_RUN = "--log-prefix=log/pgbench_log"
LOOK_EVERY_S = 0.005
WARM_S = 1
AT_ITS_OWN_TIME = {"autovacuum": "off", "checkpoint_timeout": "1h", "max_wal_size": "8GB"}
TELLING = (rf"\set {COUNTER} ", "debug(")


def main() -> int:
    parts = {"ratio": ratio, "costs": costs, "shares": shares, "variants": variants, "load": load}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="all but costs and load, unless named")
    parser.add_argument("--rounds", type=int, default=15, help="of ratio (150 s each), costs and variants")
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
        is_good = parse(PARAMETERS.weighed, options.seed)
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
        self.pool = ThreadPoolExecutor(1)
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

    def tidy(self, database: str = "") -> None:
        self.psql("VACUUM " + ", ".join(TABLES), database)

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

    def bare(self, clients: int, duration_s: int, sent: Sequence[Script], options: Sequence[str] = ()) -> float:
        """TPS of a bare pgbench, with those that failed: no log, nothing told, unless by the options and scripts."""
        words = self.words(clients, duration_s, sent, self.folder)
        words += [option.format(folder=self.folder) for option in options]
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=said, text=True, check=True)
        for path in self.folder.glob("log.*"):
            path.unlink()
        value = summed_up(done.stdout)
        return value["tps"] * (1 + value.get("failed_transactions", 0) / value["transactions"])

    def words(self, clients: int, duration_s: int, sent: Sequence[Script], folder: Path) -> list[str]:
        """The command of a pgbench that sends these scripts, which are written to the folder."""
        words = [f"{self.instance['bin_directory']}/pgbench", "-n", "-M", "prepared", "-T", str(duration_s)]
        words += ["-c", str(clients), "-j", str(max(1, clients // 2))]
        for number, script in enumerate(sent):
            path = folder / f"{number}.sql"
            path.write_text(script.text)
            words += ["-f", f"{path}@{script.weight}"]
        return words

    def started(self, clients: int, order: random.Random) -> dict[str, Callable[[], Load]]:
        """What starts the sides of `ratio`, in an order that is drawn: the first may be slower than the others."""
        sides = {
            OURS: partial(self._started_run, clients),
            BARE: partial(self._started_bare, clients),
        }
        return {name: sides[name] for name in order.sample([*sides], len(sides))}

    def _started_run(self, clients: int) -> Load:
        from benchhub.bench.models import Evidence

        run = self.pool.submit(self.measured, clients, SLICED_S)

        def summary() -> str:
            return str(Evidence.objects.get(attempt__run=run.result(), name="out.log").text)

        while not (pid := running(SCRIPT_OF_A_RUN)):
            if run.done():
                sys.exit(f"{run.result()} ended without a load.")
            time.sleep(LOOK_EVERY_S)  # a run takes a second or two to reach its load
        return Load(pid, summary, partial(self._backends, self.instance["database"]))

    def _started_bare(self, clients: int) -> Load:
        words = self.words(clients, SLICED_S, untold(), self.folder)
        environment = {**os.environ, "PGDATABASE": BARE_DATABASE}
        to_file = (self.folder / "said").open("wb")
        # Linux shares CPU time out by session (autogroup), and a run has one of its own.
        own: dict[str, Any] = {"env": environment, "start_new_session": True, "text": True}
        with to_file as said:
            bare = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, **own)
        return Load(bare.pid, lambda: bare.communicate()[0], partial(self._backends, BARE_DATABASE))

    def _backends(self, database: str) -> list[int]:
        """The server's processes for a pgbench on this database, which only the load there uses."""
        sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        return [int(line) for line in self.psql(sql, "postgres").split()]

    def copy(self) -> None:
        """A database for the load beside BenchHub's, the same to the byte; neither waits for its disk from now on."""
        template = self.instance["database"]
        self.psql(f'CREATE DATABASE "{BARE_DATABASE}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        self.psql("ALTER SYSTEM SET fsync = off")
        self.psql("SELECT pg_reload_conf()")

    def drop_copy(self) -> None:
        self.psql(f'DROP DATABASE "{BARE_DATABASE}" WITH (FORCE)')
        self.psql("ALTER SYSTEM RESET fsync")
        self.psql("SELECT pg_reload_conf()")

    def psql(self, sql: str, database: str = "") -> str:
        command = [f"{self.instance['bin_directory']}/psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", sql]
        command += ["-d", database] if database else []
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def untold() -> list[Script]:
    """The scripts without what tells outcomes: they send the same statements, and ask for no time."""
    plain = scripts(PARAMETERS, FAST_EVERY)[: len(TRANSACTIONS)]
    lines = [[line for line in script.text.splitlines() if not any(map(line.count, TELLING))] for script in plain]
    return [Script("\n".join([*text, ""]), weight) for text, weight in zip(lines, PARAMETERS.weighed, strict=True)]


def ratio(bench: Tatp, options: argparse.Namespace) -> bool:
    bench.load()
    bench.copy()
    try:
        bench.measured(max(options.levels), options.duration)  # how much is logged depends on what was seen before
        found = rounds(bench, options)
    finally:
        bench.drop_copy()
    low = compared(found, options)
    print(f"{options.rounds} rounds (limit: from {LOWEST_RATIO}, over all levels)")
    return low >= LOWEST_RATIO


def rounds(bench: Tatp, options: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
    """TPS of both sides, by level and round."""
    order = random.Random(options.seed)
    found: dict[int, list[dict[str, float]]] = {level: [] for level in options.levels}
    for number in range(options.rounds):
        for level, rates in found.items():
            for database in (bench.instance["database"], BARE_DATABASE):
                bench.tidy(database)
                bench.bare(level, WARM_S, untold(), [database])  # what the first load after a vacuum does
            rates.append(throughputs(bench.started(level, order), SLICED_S, order))
        told = ", ".join(f"{level}: {rates[-1][OURS] / rates[-1][BARE]:.3f}" for level, rates in found.items())
        print(f"round {number + 1}/{options.rounds}: {told}", flush=True)
    return found


def compared(found: Mapping[int, list[dict[str, float]]], options: argparse.Namespace) -> float:
    """Print the ratio of throughputs of both sides, by level and over all; the lower end of the latter's interval."""
    logs = {level: [log(rates[OURS] / rates[BARE]) for rates in rows] for level, rows in found.items()}
    print(f"throughput {OURS} / {BARE}:")
    for level, values in logs.items():
        print(f"  {level} clients: {interval(values, options.seed)[0]}")
    text, low, _ = interval([statistics.mean(row) for row in zip(*logs.values(), strict=True)], options.seed)
    print(f"  over all levels: {text}")
    return low


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
    told, sent = scripts(PARAMETERS, FAST_EVERY, by_moment=True), untold()

    def side(sent: Sequence[Script], *words: str) -> Callable[[], float]:
        return partial(bench.bare, options.levels[0], options.duration, sent, words)

    sides = {
        "bare": side(sent),
        "bare again": side(sent),
        "sampled log": side(sent, *LOGGED),
        "outcomes told": side(told, *READY),
        "both": side(told, *READY, *LOGGED),
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
