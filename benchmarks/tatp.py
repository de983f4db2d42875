"""Measure TATP under BenchHub: what it adds to the load, success shares and their bands, how fast logs are read.

    ratio      throughput at 1, 2, 4 and 8 clients of BenchHub's runs, with log and telemetry, beside two plain
               pgbenches with neither: one with the scripts of the same run, and one whose scripts send the same
               statements and tell nothing. As refused writes are the same share of all, these are the ratios of their
               MQTh. Limit of each: the lower end of its 95% interval is at least 0.98. All three share 60 s of one
               CPU, in slices of a fraction of a second (benchmarks/slices.py), each on a database of its own: copies
               of one population. With the load stops all else of the run on the target; BenchHub's servers do not,
               and burden all alike. The server does not wait for its disk here (fsync is off): such waits differ by
               more than what is looked for, and would hide a part of it.
    telling    what it costs to tell outcomes, by type of transaction: both forms of each script in one pgbench.
    costs      what a sampled log costs a bare pgbench that sends the same statements, and pgbench's progress, which
               BenchHub does without; at the first of the levels. TPS, and pgbench's CPU time.
    shares     a minute on 4 clients: each transaction's share of success in its band.
    parse      lines of a log read per second on one core. numpy reads kept logs, where BenchHub is: limit 4 million,
               with memory flat: ten times the lines take at most 16 MiB more. awk reduces the log where it was
               written, on the driver, after the run: no limit, it is for information.
    variants   how INSERT_CALL_FORWARDING may accept its failures: statements that insert nothing (what BenchHub does),
               a PL/pgSQL function that catches the error, and SQLSTATE 40001 for pgbench to count (15 and newer).
    load       seconds to load a population, by its size. Limit: at the rate of a million in 5 minutes.

Turns during which the hypervisor took CPU time are taken again (benchmarks/machine.py). Checkpoints and autovacuum come
when they like, so the server here has none during turns, and is vacuumed before each.
Without names all are run but telling, costs and load. Each prints its numbers; exit code 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log

from benchmarks.machine import undisturbed
from benchmarks.overhead import interval, servers
from benchmarks.tatp_bench import FAST_EVERY, PARAMETERS, Tatp, untold
from benchmarks.tatp_logs import parse
from benchmarks.tatp_ratio import ratio
from benchmarks.tatp_telling import telling
from runners.tools.tatp.parameters import TRANSACTIONS
from runners.tools.tatp.scripts import SQL, Script

MOST_LOAD_S = 300  # of a million subscribers
CLIENTS = 4  # of variants
LOGGED = ("-l", "--log-prefix={folder}/log", f"--sampling-rate={1 / FAST_EVERY}")


def main() -> int:
    parts = {"ratio": ratio, "telling": telling, "costs": costs, "shares": shares, "variants": variants, "load": load}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="all but telling, costs and load, unless named")
    parser.add_argument(
        "--rounds", type=int, default=9, help="of ratio (5 minutes each; each 3 give every side every database)"
    )
    parser.add_argument("--duration", type=int, default=5, help="seconds of load of a turn")
    parser.add_argument(
        "--levels", type=int, nargs="+", default=[1, 2, 4, 8], help="client levels of ratio; the first of costs"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="subscribers of load")
    parser.add_argument("--seed", type=int, default=1, help="of the bootstrap")
    options = parser.parse_args()
    part_names = options.parts or ["ratio", "shares", "parse", "variants"]
    is_good = True
    if "parse" in part_names:
        is_good = parse(PARAMETERS.weighed, options.seed)
    if bench_parts := [name for name in part_names if name != "parse"]:
        with servers() as demo:
            bench = Tatp(demo, options.duration)
            for name in bench_parts:
                is_good = parts[name](bench, options) and is_good
    return 0 if is_good else 1


def in_turn(bench: Tatp, sides: Mapping[str, Callable[[], float]], number: int, name: str) -> dict[str, float]:
    """Return the TPS of each side, which take turns in the order given, or back to front where the number is odd."""
    order = list(reversed(sides)) if number % 2 else list(sides)

    def turns() -> dict[str, float]:
        rates = {}
        for side in order:
            bench.tidy()
            rates[side] = sides[side]()
        return rates

    return undisturbed(turns, name)


def costs(bench: Tatp, options: argparse.Namespace) -> bool:
    sent = untold()

    def side(sent: Sequence[Script], *words: str) -> Callable[[], float]:
        return partial(bench.bare, options.levels[0], options.duration, sent, words)

    sides = {
        "bare": side(sent),
        "bare again": side(sent),
        "sampled log": side(sent, *LOGGED),
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
    """Return the TPS of the side; append the CPU time of its program, for each transaction, to the list."""
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
    """Run INSERT_CALL_FORWARDING and DELETE_CALL_FORWARDING in equal number; each variant in turn."""
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
    """Time rows, keys, vacuum and check of each population; the smallest, the last, stays for other parts."""
    rates = []
    for subscribers in sorted(options.sizes, reverse=True):
        taken_s = bench.loaded_s(subscribers)
        rates.append(subscribers / taken_s)
        print(f"{subscribers:>9,} subscribers: {taken_s:.0f} s, {rates[-1]:,.0f} a second", flush=True)
    print(f"limit: a million in {MOST_LOAD_S} s, which is {1e6 / MOST_LOAD_S:,.0f} a second")
    return min(rates) >= 1e6 / MOST_LOAD_S


if __name__ == "__main__":
    sys.exit(main())
