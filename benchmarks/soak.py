"""Inject random faults over short runs on several hosts: each run ends with a result, none is lost or executed twice.

Real workers, tickers, SSH daemons, PostgreSQL and pgbench on loopback, with a lease of a few seconds. The hosts share
one account (and, as far as processes go, one machine); each has its own daemon, line and work directory. A job that is
killed on its host is lost with its attempt and run again as a new one, which is its policy here: an execution is
doubled when a host has counted more of them than the run had attempts. Some runs are cancelled, whatever is broken just
then: each of them ends. Runs of five minutes among them are all cancelled once they have begun: had a cancel been
ignored, such a run would have succeeded, or kept its host. Ends within 10 minutes; the exit code says how.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Child
from benchmarks.standing import standing
from tests.faults.rig import Rig, Site, crash, kill, pause, wake_up

if TYPE_CHECKING:
    from benchhub.bench.models import Run

LEASE_S = 6.0
LIMIT_S = 590
SETTLE_S = 200  # of the limit: faults end early enough for every run to end
ATTEMPTS = 9
LONG_S = 300
LONG_PER_HOST = 2
WRITERS_COME_S = 0.7  # for the worker to come to the row that is locked and wait there within its transaction


def main() -> int:
    options = arguments()
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    print(f"soak: {options.runs} runs on {options.hosts} hosts, lease {LEASE_S:g} s, seed {seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Interrupted."))
    deadline = time.monotonic() + LIMIT_S
    with standing("soak", LEASE_S) as (rig, warehouse):
        sites = [rig.site(f"host{number}") for number in range(options.hosts)]
        runs = queued(rig, sites, options.runs)
        faults = Faults(rig, warehouse, sites, [run for _, run in runs], random.Random(seed), options.pause)
        faults.start()
        while not all_ended(runs) and time.monotonic() < deadline - SETTLE_S:
            faults.inject()
            faults.cancel_long()
        faults.mend()
        while not all_ended(runs) and time.monotonic() < deadline:
            faults.cancel_long()
            time.sleep(1)
        return report(runs, faults, seed, LIMIT_S - (deadline - time.monotonic()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--seed", type=int, help="of the faults; a random one is printed")
    parser.add_argument("--pause", type=float, default=1.5, help="seconds between two faults, on average")
    return parser.parse_args()


def queued(rig: Rig, sites: list[Site], count: int) -> list[tuple[Site, Run]]:
    """Queue so many runs of a second in all, spread over the sites, each half before a long one; return each with its
    site."""
    from tests.faults import rows

    runs = []
    for number, site in enumerate(sites):
        share = count // len(sites) + (number < count % len(sites))
        system = rows.enrol(site, rig.server)
        for part in range(LONG_PER_HOST):
            short = share // LONG_PER_HOST + (part < share % LONG_PER_HOST)
            made = rows.queue(system, short, duration_s=1, attempts_if_lost=ATTEMPTS)
            made += rows.queue(system, 1, duration_s=LONG_S, attempts_if_lost=ATTEMPTS)
            runs += [(site, run) for run in made]
    return runs


@dataclass
class Faults:
    """The faults around the runs, injected one at a time, of which several may last at once."""

    rig: Rig
    warehouse: Cluster
    sites: list[Site]
    runs: list[Run]
    chance: random.Random
    pause_s: float
    workers: dict[str, Child] = field(default_factory=dict)
    tickers: dict[str, Child] = field(default_factory=dict)
    later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    longest_ask_s: float = 0.0

    def start(self) -> None:
        for name in ("one", "two"):
            self.tickers[name] = self.rig.ticker(f"ticker-{name}")
            self.workers[name] = self.rig.worker(f"worker-{name}")

    def inject(self) -> None:
        """Inject one fault, wait a while, and mend those whose time is over."""
        name = self.chance.choice([name for name in FAULTS if name not in self.broken])
        self.done[name] += 1
        FAULTS[name](self)
        time.sleep(self.chance.uniform(0.3, 2 * self.pause_s - 0.3))
        self._mend_until(time.monotonic())

    def mend(self) -> None:
        """End every fault that lasts; some can be ended only after another."""
        while self.later:
            self._mend_until(float("inf"))

    def lasting(self, name: str, mend: Callable[[], object], most_leases: float = 2) -> None:
        """Keep up one fault for a while; the same one is not injected again meanwhile."""
        self.broken.add(name)

        def over() -> None:
            mend()
            self.broken.discard(name)

        self.later.append((time.monotonic() + self.chance.uniform(0.2, most_leases) * LEASE_S, over))

    def _mend_until(self, now_s: float) -> None:
        due = [entry for entry in self.later if entry[0] <= now_s]
        self.later = [entry for entry in self.later if entry[0] > now_s]
        for _, over in due:
            over()

    # --- BenchHub's own processes ------------------------------------------------------------------------------

    def kill_worker(self) -> None:
        name = self.chance.choice(list(self.workers))
        kill(self.workers[name])
        self.workers[name] = self.rig._celery(f"worker-{name}", "worker", *WORKER_OPTIONS, "-n", f"{name}@x")

    def pause_worker(self) -> None:
        child = self.workers[self.chance.choice(list(self.workers))]
        with suppress(ProcessLookupError):
            pause(child)
        self.lasting("pause_worker", lambda: child.exit_code is None and wake_up(child))

    def freeze_writer(self) -> None:
        """Freeze a worker where it has written and not committed, if one writes just now."""
        import psycopg

        from tests.faults import rows

        child = self.workers[self.chance.choice(list(self.workers))]
        with suppress(psycopg.OperationalError, ProcessLookupError), rows.locked("bench_event"):
            time.sleep(WRITERS_COME_S)
            pause(child)
        self.lasting("freeze_writer", lambda: child.exit_code is None and wake_up(child), 3)

    def kill_ticker(self) -> None:
        name = self.chance.choice(list(self.tickers))
        kill(self.tickers[name])
        self.lasting("kill_ticker", lambda: self.tickers.update({name: self.rig.ticker(f"ticker-{name}")}), 1)

    def flush_broker(self) -> None:
        import redis

        with suppress(redis.RedisError), redis.from_url(self.rig.broker.url) as broker:
            broker.flushall()

    def stop_broker(self) -> None:
        self.rig.processes.stop_named(self.rig.broker.name)
        self.lasting("stop_broker", lambda: self.rig.broker.start(self.rig.processes))

    def crash_warehouse(self) -> None:
        crash(self.warehouse)
        self.lasting("crash_warehouse", lambda: self.warehouse.start(self.rig.processes), 1)

    # --- the line to a host, and the host ----------------------------------------------------------------------

    def drop_connections(self) -> None:
        self.chance.choice(self.sites).proxy.drop()

    def part_line(self) -> None:
        site = self.chance.choice(self.sites)
        site.proxy.part()
        self.lasting("part_line", site.proxy.mend)

    def hold_answers(self) -> None:
        site = self.chance.choice(self.sites)
        site.proxy.hold_answers()
        self.lasting("hold_answers", site.proxy.mend)

    def refuse_line(self) -> None:
        site = self.chance.choice(self.sites)
        site.proxy.stop()
        self.lasting("refuse_line", site.proxy.start)

    def kill_daemon(self) -> None:
        site = self.chance.choice(self.sites)
        self.rig.stop_daemon(site)
        options = self.chance.choice(["", "MaxSessions 1\n"])
        self.lasting("kill_daemon", lambda: self.rig.start_daemon(site, options), 1)

    def kill_job(self) -> None:
        """Kill wrapper and load of a host's newest attempt, as the kernel does when memory is short."""
        site = self.chance.choice(self.sites)
        files = sorted(site.machine.work_directory.glob("runs/*/*/pid"), key=lambda path: path.stat().st_mtime)
        if files and not (files[-1].parent / "rc").exists():
            _, wrapper, _, command, _ = (files[-1].read_text().split() + ["0"] * 5)[:5]
            for target in (int(wrapper), -int(command)):
                if target not in (0, 1, -1):
                    with suppress(ProcessLookupError):
                        os.kill(target, signal.SIGKILL)

    # --- what people do ----------------------------------------------------------------------------------------

    def cancel_run(self) -> None:
        """Cancel a run that may have begun: of those that only wait nothing would have to be ended."""
        from django.db import OperationalError, connection

        from benchhub.bench.models import Run
        from benchhub.bench.models.states import ACTIVE

        try:
            active = list(Run.objects.filter(pk__in=[run.pk for run in self.runs], state__in=ACTIVE).order_by("pk"))
            if active:
                self._ask(self.chance.choice(active))
        except OperationalError:  # the warehouse is away: whether it was asked shows in its state
            connection.close()

    def cancel_long(self) -> None:
        """Cancel what is to last for minutes, at some moment after it has begun."""
        from django.db import OperationalError, connection

        from benchhub.bench.models import Run
        from benchhub.bench.models.states import ACTIVE

        try:
            runs = Run.objects.filter(pk__in=[run.pk for run in self.runs], experiment__duration_s=LONG_S)
            for run in runs.filter(state__in=ACTIVE, cancel_asked_at=None):
                if self.chance.random() < 0.5:
                    self._ask(run)
        except OperationalError:  # the warehouse is away
            connection.close()

    def _ask(self, run: Run) -> None:
        """Ask for the cancel of a run. A paused worker may hold its row, and only the warehouse ends that."""
        from benchhub.bench.models import Run
        from benchhub.bench.queue import queue

        self.cancelled.add(run.pk)
        begun_s = time.monotonic()
        queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
        self.longest_ask_s = max(self.longest_ask_s, time.monotonic() - begun_s)

    def spoil_key(self) -> None:
        """Make the private key of a host unreadable: nothing else may stop for it."""
        site = self.chance.choice(self.sites)
        if self._exchange_key(site, "'x' || private_key"):
            self.lasting("spoil_key", lambda: self._mend_key(site))

    def _mend_key(self, site: Site) -> None:
        if not self._exchange_key(site, "substr(private_key, 2)"):  # the warehouse is away: once more, later
            self.lasting("spoil_key", lambda: self._mend_key(site))

    def _exchange_key(self, site: Site, expression: str) -> bool:
        from django.db import OperationalError, connection

        try:
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE catalog_host SET private_key = {expression} WHERE name = %s", [site.name])
        except OperationalError:
            connection.close()
            return False
        return True


WORKER_OPTIONS = ("-P", "threads", "-c", "12", "-l", "INFO", "--without-gossip", "--without-mingle")
FAULTS: dict[str, Callable[[Faults], None]] = {
    function.__name__: function
    for function in (
        Faults.kill_worker,
        Faults.pause_worker,
        Faults.freeze_writer,
        Faults.kill_ticker,
        Faults.flush_broker,
        Faults.stop_broker,
        Faults.crash_warehouse,
        Faults.drop_connections,
        Faults.part_line,
        Faults.hold_answers,
        Faults.refuse_line,
        Faults.kill_daemon,
        Faults.kill_job,
        Faults.cancel_run,
        Faults.spoil_key,
    )
}


def all_ended(runs: list[tuple[Site, Run]]) -> bool:
    """Tell whether all runs have ended; False as well while the warehouse does not answer."""
    from django.db import OperationalError, connection

    from benchhub.bench.models import Run
    from benchhub.bench.models.states import FINAL

    try:
        return not Run.objects.filter(pk__in=[run.pk for _, run in runs]).exclude(state__in=FINAL).exists()
    except OperationalError:
        connection.close()
        return False


@dataclass(frozen=True)
class Tally:
    """What the warehouse has of the runs, beside what their hosts have counted; runs by key."""

    states: Counter[str]
    attempts: Counter[int]
    executions: dict[int, int]
    results: int
    expected: int
    held: int
    cancelled: set[int]
    ignored: list[int]
    cancels_s: list[float]

    @property
    def doubled(self) -> list[int]:
        return [pk for pk, count in self.executions.items() if count > self.attempts[pk]]

    @property
    def unexecuted(self) -> list[int]:
        return [pk for pk, count in self.executions.items() if not count and pk not in self.cancelled]


def tally(runs: list[tuple[Site, Run]]) -> Tally:
    from benchhub.bench.models import Attempt, Hold, Result, Run

    rows = list(Run.objects.filter(pk__in=[run.pk for _, run in runs]).select_related("experiment"))
    long_runs = [row for row in rows if row.experiment.duration_s == LONG_S]
    without_result = [row for row in rows if row.state == "cancelled" or (row in long_runs and row.state == "lost")]
    ends = [row for row in long_runs if row.ended_at and row.cancel_asked_at]
    return Tally(
        states=Counter(row.state for row in rows),
        attempts=Counter(Attempt.objects.values_list("run", flat=True)),
        executions={run.pk: site.executions(run) for site, run in runs},
        results=Result.objects.filter(run__in=rows).count(),
        expected=len(rows) - len(without_result),
        held=Hold.objects.count(),
        cancelled={row.pk for row in rows if row.state == "cancelled"},
        ignored=[row.pk for row in long_runs if row not in without_result],
        cancels_s=[(row.ended_at - row.cancel_asked_at).total_seconds() for row in ends],
    )


def report(runs: list[tuple[Site, Run]], faults: Faults, seed: int, taken_s: float) -> int:
    counts = tally(runs)
    attempts = sum(counts.attempts.values())
    print(f"faults: {', '.join(f'{name} {count}' for name, count in sorted(faults.done.items()))}")
    print(f"states: {dict(counts.states)}; {sum(counts.executions.values())} executions counted by the hosts")
    print(f"attempts: {attempts}, {attempts - len(counts.attempts)} of them after a loss")
    print(f"{len(counts.cancelled)} cancelled of {len(faults.cancelled)} that were asked to; {counts.held} hosts held")
    print(f"of runs of {LONG_S} s: {len(counts.ignored)} cancels ignored", end=", ")
    print(f"{len(counts.cancels_s)} heeded, within {max(counts.cancels_s, default=0):.1f} s", end=", ")
    print(f"each asked for within {faults.longest_ask_s:.1f} s")
    print(f"{counts.results} results of {counts.expected}, {counts.expected - counts.results} lost", end=", ")
    print(f"{len(counts.doubled)} doubled, {len(counts.unexecuted)} never executed; {taken_s:.0f} s, seed {seed}")
    wrong = {"doubled": counts.doubled, "never executed": counts.unexecuted, "cancels ignored": counts.ignored}
    is_as_asked = counts.results == counts.expected and counts.cancelled <= faults.cancelled and not counts.held
    is_within = is_as_asked and not any(wrong.values())
    print("within the limits" if is_within else f"NOT within the limits: {wrong}")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
