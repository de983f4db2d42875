"""Inject random faults over short runs on several hosts: each run ends with a result, none is lost or executed twice.

Real workers, tickers, SSH daemons, PostgreSQL and pgbench on loopback, with a lease of a few seconds. The hosts share
one account (and, as far as processes go, one machine); each has its own daemon, line, disk and work directory. The
first has a database of its own, whose data set is exchanged; the last is the driver of a server on another host. A job
that is killed on its host is lost with its attempt and run again as a new one, which is its policy here: an execution
is doubled when a host has counted more of them than the run had attempts. Some runs are cancelled, whatever is broken
just then: each of them ends within the bound that docs/faults.md states. Runs of five minutes among them are all
cancelled once they have begun: had a cancel been ignored, such a run would have succeeded, or kept its host. From time
to time all faults are mended at once: within two leases each host is at work again. Ends within 10 minutes from the
moment when all stands; the exit code says how.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import sys
import time
from typing import TYPE_CHECKING

from benchhub.embedded.postgres import Cluster
from benchmarks.standing import standing
from tests.faults.rig import Rig, load_data_set

from . import people, registry
from .hosts import SoakHost, database_apart, unmount

if TYPE_CHECKING:
    from benchhub.bench.models import Run

    from .recovery import Recovery
    from .storm import Storm

LEASE_S = 6.0
DEADLINE_S = 20  # of a load that hangs; the honest ones take a few seconds
LIMIT_S = 590
SETTLE = 1 / 3  # of the limit: faults end early enough for every run to end
LONG_PER_HOST = 2
FAULTS_PER_LULL = 25
LULL_S = 60


def main() -> int:
    options = arguments()
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    print(f"soak: {options.runs} runs on {options.hosts} hosts, lease {options.lease:g} s, seed {seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Interrupted."))
    os.environ["LEAST_DEADLINE_SECONDS"] = str(DEADLINE_S)
    with standing("soak", options.lease) as (rig, warehouse):
        try:
            return soak(rig, warehouse, options, seed)
        finally:
            unmount(rig.folder)


def soak(rig: Rig, warehouse: Cluster, options: argparse.Namespace, seed: int) -> int:
    from .recovery import Recovery
    from .storm import Storm
    from .tally import report
    from .troubles import Troubles

    hosts = [SoakHost(rig, rig.site(f"host{number}")) for number in range(options.hosts)]
    beside = SoakHost(rig, rig.site("beside"))
    for host in (*hosts, beside):
        host.furnish()
    runs = queued(rig, hosts, beside, options.runs)
    recovery = Recovery(Troubles(), options.lease)
    chance, ticked_s = random.Random(seed), lambda: recovery.ticked_s
    storm = Storm(
        rig, warehouse, hosts, beside, runs, chance, options.pause, options.lease, ticked_s, troubles=recovery.troubles
    )
    storm.start()
    recovery.start()
    deadline = time.monotonic() + options.limit
    faults = registry.available()
    while not all_ended(storm.runs) and time.monotonic() < deadline - options.limit * SETTLE:
        storm.inject(faults)
        attend(storm)
        if storm.done.total() % FAULTS_PER_LULL == 0:
            lull(storm, recovery)
    storm.mend()
    while not all_ended(storm.runs) and time.monotonic() < deadline:
        attend(storm)
        time.sleep(1)  # between two looks
    lull(storm, recovery)
    recovery.stop()
    return report(storm, recovery, seed, options.limit - (deadline - time.monotonic()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--seed", type=int, help="of the faults; a random one is printed")
    parser.add_argument("--pause", type=float, default=1.5, help="seconds between two faults, on average")
    parser.add_argument("--lease", type=float, default=LEASE_S, help="seconds; a busy machine needs a longer one")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds until all has to have ended")
    return parser.parse_args()


def attend(storm: Storm) -> None:
    storm.supervise()
    people.cancel_long(storm)
    people.resume(storm)


def lull(storm: Storm, recovery: Recovery) -> None:
    """Mend everything, and wait until each host has been seen to go on, or has not within its bound."""
    storm.mend()
    end_s = time.monotonic() + LULL_S
    time.sleep(1)  # what was mended is seen first
    while recovery.waits and time.monotonic() < end_s:
        attend(storm)
        time.sleep(0.5)  # between two looks


def queued(rig: Rig, hosts: list[SoakHost], beside: SoakHost, count: int) -> list[tuple[SoakHost, Run]]:
    """Queue so many runs of a second in all, spread over the hosts, each half before a long one; return each with its
    host."""
    from tests.faults import rows

    runs = []
    for number, host in enumerate(hosts):
        share = count // len(hosts) + (number < count % len(hosts))
        own = database_apart(rig.server, "apart", load_data_set) if number == 0 else rig.server
        system = rows.enrol(host.site, own)
        if host is hosts[-1]:
            system = rows.enrol_apart(host.site, beside.site, rig.server)
        programs = {"client_bin_directory": str(host.site.bin_directory), "attempts_if_lost": people.ATTEMPTS}
        for part in range(LONG_PER_HOST):
            short = share // LONG_PER_HOST + (part < share % LONG_PER_HOST)
            made = rows.queue(system, short, duration_s=1, **programs)
            made += rows.queue(system, 1, duration_s=people.LONG_S, **programs)
            runs += [(host, run) for run in made]
    return runs


def all_ended(runs: list[tuple[SoakHost, Run]]) -> bool:
    """Tell whether all runs have ended; False as well while the warehouse does not answer."""
    from django.db import OperationalError, connection

    from benchhub.bench.models import Run
    from benchhub.bench.models.states import FINAL

    try:
        return not Run.objects.filter(pk__in=[run.pk for _, run in runs]).exclude(state__in=FINAL).exists()
    except OperationalError:
        connection.close()
        return False


if __name__ == "__main__":
    sys.exit(main())
