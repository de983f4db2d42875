"""Drive many hosts at once by one worker: CPU, memory, age of the last contact, and how long hosts stand idle.

Each target is an address of its own (127.7.x.y; OpenSSH daemons that listen on 16 of them each, one account with sh)
with a work directory of its own. On it lie a `pgbench` that sleeps as long as it is asked to measure, and then prints
what a real one once printed, and a `psql` that knows only the data set's answer: all of the protocol is real, the load
is not. Starts are spread over one load's length, so that ends come evenly, as in a fleet long at work.

Counted are BenchHub's own processes: worker, ticker and broker. The warehouse's share is printed beside them. Idle
time is what the target's own files say: from an attempt's exit code to the start of the next. Limits: half a core,
250 MB (PSS), 95% of contacts at most 15 s old, 95% of idle times at most 1 s.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchhub.bench.plan.systems import system_under_test
from benchhub.embedded import ports
from benchhub.embedded.processes import Child
from benchmarks.memory import family, pss_mb
from benchmarks.standing import standing
from tests.faults.rig import CLONE, Machine, Rig

if TYPE_CHECKING:
    from benchhub.bench.models import System

LEASE_S = 60.0
ADDRESSES_PER_DAEMON = 16  # sshd listens on no more
LIMIT_CPU, LIMIT_MB, LIMIT_CONTACT_S, LIMIT_IDLE_S = 0.5, 250.0, 15.0, 1.0
RUNS = 4
RECORDED = CLONE / "runners" / "tools" / "recorded" / "16" / "plain" / "out.log"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

PGBENCH = """\
#!/bin/sh
while [ "$1" != -T ]; do shift; done
sleep "$2"
cat <<'END'
{printed}END
"""
PSQL = """\
#!/bin/sh
case "$*" in
*"SELECT 'scale '"*)
    printf '%s, ' 'scale 1' 'accounts 100000' 'primary keys 1' 'foreign keys false' 'partitions 0' 'unlogged false'
    echo 'fillfactor 100, init none' ;;
*"-f -"*) cat > /dev/null ;;
*) echo 0 ;;
esac
"""


@dataclass(frozen=True)
class Daemon(Machine):
    """One sshd on several addresses."""

    addresses: tuple[str, ...] = ("127.0.0.1",)

    def _openssh_configuration(self) -> str:
        lines = "".join(f"ListenAddress {address}:{self.port}\n" for address in self.addresses)
        return super()._openssh_configuration().replace(f"ListenAddress 127.0.0.1:{self.port}\n", lines)


@dataclass
class Samples:
    """Samples taken while the whole fleet was at work."""

    contact_ages_s: list[float] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    cpu_s: dict[str, float] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Interrupted."))
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with standing("fleet", LEASE_S) as (rig, _):
        work = rig.account.make_folder(rig.folder / "work")
        systems = enrolled(rig, work, options.targets)
        children = {"worker": rig.worker(), "ticker": rig.ticker(), "broker": rig.processes._children["broker"]}
        print(f"{options.targets} targets, loads of {options.seconds} s", flush=True)
        ramp(systems, options.seconds)
        until_settled(options.targets, options.seconds)
        begun = time.time()
        samples = observed({**children, "warehouse": warehouse_child(rig)}, options.seconds * options.periods)
        return report(samples, idle_s(work, begun), options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=300, help="length of a load")
    parser.add_argument("--periods", type=float, default=1.0, help="lengths of a load that are observed")
    return parser.parse_args()


# --- the targets -------------------------------------------------------------------------------------------------


def enrolled(rig: Rig, work: Path, count: int) -> list[System]:
    """Make daemons, work directories and rows of so many targets, each approved and probed; return their systems."""
    from runners.keys import make_key_pair

    programs = stand_ins(rig)
    pair, port = make_key_pair("fleet"), ports.free_port()
    systems = []
    for first in range(0, count, ADDRESSES_PER_DAEMON):
        numbers = range(first, min(first + ADDRESSES_PER_DAEMON, count))
        daemon = started(rig, port, [address(number) for number in numbers], pair.public_key)
        systems += [enrol(daemon, number, work, programs, pair.private_key) for number in numbers]
    return systems


def address(number: int) -> str:
    return f"127.7.{number // 250}.{number % 250 + 1}"


def stand_ins(rig: Rig) -> Path:
    folder = rig.account.make_folder(rig.folder / "bin")
    for name, text in (("pgbench", PGBENCH.format(printed=RECORDED.read_text())), ("psql", PSQL)):
        rig.account.write(folder / name, text).chmod(0o700)
    return folder


def started(rig: Rig, port: int, addresses: list[str], public_key: str) -> Daemon:
    name = f"sshd-{addresses[0]}"
    marker = f"{rig.processes.marker}-target"
    daemon = Daemon(rig.folder / name, port, rig.account, marker, name=name, addresses=tuple(addresses))
    daemon.create()
    daemon.authorize(public_key)
    program = daemon._openssh()
    assert program, "the fleet needs OpenSSH"
    command = daemon._openssh_command(program)
    rig.running.append(rig.processes.start(name, command, folder=daemon.folder, account=rig.account))
    return daemon


def enrol(daemon: Daemon, number: int, work: Path, programs: Path, private_key: str) -> System:
    from django.db.models.functions import Now

    from benchhub.analysis.protocol import digest
    from benchhub.catalog.models import Configuration, DataSet, Hardware, Host, Instance, PgBuild
    from runners import tools

    host = Host.objects.create(
        name=f"target {number}",
        address=address(number),
        port=daemon.port,
        username=daemon.username,
        host_key=daemon.host_key,
        trust=Host.Trust.PINNED,
        private_key=private_key,
        work_directory=str(work / f"{number:04}"),
        facts={"kernel": "not probed"},
        facts_at=Now(),
    )
    build, _ = PgBuild.objects.get_or_create(binary_digest="16", defaults={"version": "16.14", "version_num": 160014})
    machine, _ = Hardware.objects.get_or_create(name="machine", defaults={"sockets": 1, "cores_per_socket": 2})
    configuration, _ = Configuration.objects.get_or_create(name="defaults")
    place = {"address": "127.0.0.1", "database": "bench", "username": "bench", "bin_directory": str(programs)}
    instance = Instance.objects.create(
        name=host.name, host=host, build=build, configuration=configuration, password="secret", **place
    )
    recipe = dict(tools.get("pgbench").data_set(PARAMETERS))
    loaded = {"recipe": recipe, "recipe_digest": digest.digest(recipe), "size_bytes": 1, "checksum": "1"}
    DataSet.objects.create(instance=instance, build=build, **loaded)
    return system_under_test(instance, driver=host, hardware=machine, path="loopback", label=host.name)


PARAMETERS: dict[str, Any] = {"script": "select-only", "query_mode": "simple", "scale": 1}


# --- driving and looking -------------------------------------------------------------------------------------------


def ramp(systems: Sequence[System], seconds: int) -> None:
    """Queue some loads on each target, one target after the other, spread over the length of a load."""
    from benchhub.bench.models import Experiment
    from benchhub.bench.plan import plan
    from benchhub.catalog.models import Workload
    from benchhub.celery import wake

    workload = Workload.objects.create(name="select-only", tool="pgbench", parameters=PARAMETERS)
    start = time.monotonic()
    for number, system in enumerate(systems):
        time.sleep(max(0.0, start + seconds * number / len(systems) - time.monotonic()))
        experiment = Experiment(
            name=system.label,
            workload=workload,
            client_build=system.build,
            client_bin_directory=system.instance.bin_directory,
            client_levels=[2],
            repeats=RUNS,
            duration_s=seconds,
        )
        plan.queue(experiment, [system])
        wake()  # as the pages do: else the starts of a tick's length would come, and end, together


def until_settled(targets: int, seconds: int) -> None:
    """Wait until nearly all are at work; those between two runs are missing."""
    from benchhub.bench.models import Run

    deadline = time.monotonic() + seconds
    while (running := Run.objects.filter(state="running").count()) < 0.98 * targets:
        if time.monotonic() > deadline:
            sys.exit(f"Only {running} of {targets} targets are at work.")
        time.sleep(0.5)


def observed(children: dict[str, Child], seconds: float) -> Samples:
    """Return CPU over the whole time, memory at its end, and ages of contact every second."""
    from benchhub.bench.models import Run
    from benchhub.bench.operations import vitals

    samples, begun = Samples(), time.monotonic()
    before = {name: cpu_s(child) for name, child in children.items()}
    while (elapsed_s := time.monotonic() - begun) < seconds:
        samples.contact_ages_s += vitals.contact_ages_s()
        samples.running.append(Run.objects.filter(state="running").count())
        time.sleep(1)
    samples.seconds = elapsed_s
    samples.cpu_s = {name: cpu_s(child) - before[name] for name, child in children.items()}
    samples.memory_mb = {name: sum(map(alive_mb, family(child.identity.pid))) for name, child in children.items()}
    return samples


def cpu_s(child: Child) -> float:
    """Return user and system time of a process and those below it, ended ones included where they were waited for."""
    total = 0.0
    for pid in family(child.identity.pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended: its parent has its time
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            total += sum(int(field) for field in fields[11:15]) / TICKS_PER_S
    return total


def alive_mb(pid: int) -> float:
    try:
        return pss_mb(pid)
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return 0.0


def warehouse_child(rig: Rig) -> Child:
    return rig.processes._children["warehouse"]


def idle_s(work: Path, begun: float) -> list[tuple[float, str]]:
    """Return the seconds between an attempt's exit code and the next attempt's start, on each target, since `begun`.

    Each with the UUID of the run that it came before.
    """
    gaps = []
    for target in work.iterdir():
        attempts = sorted(target.glob("runs/*/*"), key=lambda folder: modified(folder / "started"))
        for earlier, later in pairwise(attempts):
            if (earlier / "rc").exists() and modified(later / "started") > begun:
                gaps.append((modified(later / "started") - modified(earlier / "rc"), later.parent.name))
    return gaps


def modified(file: Path) -> float:
    return file.stat().st_mtime if file.exists() else float("inf")


def quantile(values: Iterable[float], share: float) -> float:
    ascending = sorted(values)
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))] if ascending else float("nan")


def story(run: str) -> Iterator[str]:
    """Yield the lines that BenchHub wrote of a run until it was at work."""
    from benchhub.bench.models import Event

    for event in Event.objects.filter(run__uuid=run).order_by("pk")[:5]:
        yield f"    {event.at:%H:%M:%S.%f}"[:-3] + f" {event} {event.reason}"


def report(samples: Samples, gaps: list[tuple[float, str]], options: argparse.Namespace) -> int:
    own, gaps_s = ("worker", "ticker", "broker"), [gap_s for gap_s, _ in gaps]
    cpu = {name: used / samples.seconds for name, used in samples.cpu_s.items()}
    total_cpu, total_mb = sum(cpu[name] for name in own), sum(samples.memory_mb[name] for name in own)
    contact_s, between_s = quantile(samples.contact_ages_s, 0.95), quantile(gaps_s, 0.95)
    for name, share in cpu.items():
        print(f"{name:10} {share:6.3f} of a core, {samples.memory_mb[name]:6.1f} MB")
    print(
        f"at work: {min(samples.running)} to {max(samples.running)} of {options.targets}, over {samples.seconds:.0f} s"
    )
    print(f"CPU of BenchHub       {total_cpu:8.3f} of a core (limit {LIMIT_CPU})")
    print(f"memory of BenchHub    {total_mb:8.1f} MB PSS (limit {LIMIT_MB:g})")
    print(
        f"p95 age of contact    {contact_s:8.1f} s (limit {LIMIT_CONTACT_S:g}), {len(samples.contact_ages_s)} samples"
    )
    print(f"p95 idle between runs {between_s:8.2f} s (limit {LIMIT_IDLE_S:g}), {len(gaps_s)} gaps, median", end=" ")
    print(f"{quantile(gaps_s, 0.5):.2f} s, longest {max(gaps_s, default=float('nan')):.2f} s")
    if gaps and max(gaps_s) > LIMIT_IDLE_S:
        print("  the run after the longest:", *story(max(gaps)[1]), sep="\n")
    pairs = ((total_cpu, LIMIT_CPU), (total_mb, LIMIT_MB), (contact_s, LIMIT_CONTACT_S), (between_s, LIMIT_IDLE_S))
    is_within = all(value <= limit for value, limit in pairs)
    print("within the limits" if is_within else "NOT within the limits")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
