"""Compare what the warehouse has of the runs of a soak with what their hosts have counted, and print both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from .people import LONG_S
from .recovery import Recovery
from .storm import Storm

if TYPE_CHECKING:
    from benchhub.bench.models import Run

# docs/faults.md, "How long a cancel takes": two leases and a minute, and what only some hosts need.
CANCEL_LEASES, CANCEL_S = 2, 60
MORE_S = {"few_log_ins": 25, "server_away": 10}
# A load that met its deadline, or a disk on which nothing could be written any more, fails: that is their reason.
DEADLINE_WORDS = ("deadline",)
DISK_WORDS = ("full", "No space", "ead-only", "written")


@dataclass(frozen=True)
class Cancel:
    """How long a cancel took, from its asking or from the healing of what kept everybody from the host.

    `taken_s` is counted in the installation's ticks, as recovery is; `asked_s` is from the asking, by the clock.
    """

    run: int
    asked_s: float
    taken_s: float
    bound_s: float


@dataclass(frozen=True)
class Tally:
    """Runs by key. Excused are the failed ones whose reason is a fault that was injected there."""

    states: Counter[str]
    attempts: Counter[int]
    executions: dict[int, int]
    results: int
    expected: int
    held: int
    cancelled: set[int]
    ignored: list[int]
    unfinished: Counter[str]
    cancels: list[Cancel]
    excused: dict[int, str]
    failures: dict[int, str]

    @property
    def doubled(self) -> list[int]:
        return [pk for pk, count in self.executions.items() if count > self.attempts[pk]]

    @property
    def unexecuted(self) -> list[int]:
        ended_before = {*self.cancelled, *self.excused}
        return [pk for pk, count in self.executions.items() if not count and pk not in ended_before]

    @property
    def late(self) -> list[Cancel]:
        return [cancel for cancel in self.cancels if cancel.taken_s > cancel.bound_s]


def tally(storm: Storm, recovery: Recovery) -> Tally:
    from benchhub.bench.models import Attempt, Hold, Result, Run

    places = {run.pk: host for host, run in storm.runs}
    rows = list(Run.objects.filter(pk__in=list(places)).select_related("experiment"))
    long_runs = [row for row in rows if row.experiment.duration_s == LONG_S]
    failed = [row for row in rows if row.state == "failed"]
    excused = {row.pk: row.reason for row in failed if is_excused(row, storm)}
    cancelled = {row.pk for row in rows if row.state == "cancelled"}
    without_result = {*cancelled, *excused, *(row.pk for row in long_runs if row.state == "lost")}
    return Tally(
        states=Counter(row.state for row in rows),
        attempts=Counter(Attempt.objects.values_list("run", flat=True)),
        executions={run.pk: host.site.executions(run) for host, run in storm.runs},
        results=Result.objects.filter(run__in=rows).count(),
        expected=len(rows) - len(without_result),
        held=Hold.objects.count(),
        cancelled=cancelled,
        ignored=[row.pk for row in long_runs if row.pk not in without_result and row.started_at],
        unfinished=Counter(row.state for row in rows if not row.is_final),
        cancels=[cancel(row, storm, recovery) for row in rows if row.cancel_asked_at and row.ended_at],
        excused=excused,
        failures={row.pk: row.reason for row in failed if row.pk not in excused},
    )


def is_excused(run: Run, storm: Storm) -> bool:
    [host] = [host for host, own in storm.runs if own.pk == run.pk]
    if f"benchhub-{run.uuid}" in host.hung():
        return any(words in run.reason for words in DEADLINE_WORDS)
    is_broken = any(trouble.name == "break_disk" for trouble in storm.troubles.of(host.name))
    return is_broken and any(words in run.reason for words in DISK_WORDS)


def cancel(run: Run, storm: Storm, recovery: Recovery) -> Cancel:
    """Measure from the asking, or from the last healing of what blocked the host between that and the end."""
    asked_at, ended_at = run.cancel_asked_at, run.ended_at
    assert asked_at and ended_at
    [name] = [host.name for host, own in storm.runs if own.pk == run.pk]
    meanwhile = [t for t in storm.troubles.of(name) if t.begun_at <= ended_at and (t.healed_at or ended_at) >= asked_at]
    heals: list[datetime] = [min(t.healed_at or ended_at, ended_at) for t in meanwhile if t.blocks]
    more_s = sum(seconds for fault, seconds in MORE_S.items() if any(t.name == fault for t in meanwhile))
    return Cancel(
        run.pk,
        (ended_at - asked_at).total_seconds(),
        recovery.ticked_between_s(max([asked_at, *heals]), ended_at),
        CANCEL_LEASES * storm.lease_s + CANCEL_S + more_s,
    )


def report(storm: Storm, recovery: Recovery, seed: int, taken_s: float) -> int:
    counts = tally(storm, recovery)
    attempts = sum(counts.attempts[run.pk] for _, run in storm.runs)
    begun = sum(bool(counts.attempts[run.pk]) for _, run in storm.runs)
    print(f"faults: {', '.join(f'{name} {count}' for name, count in sorted(storm.done.items()))}")
    print(f"states: {dict(counts.states)}; {sum(counts.executions.values())} executions counted by the hosts")
    print(f"attempts: {attempts}, {attempts - begun} of them after a loss or a return to the queue")
    print(f"failed by a fault that ends a run: {dict(Counter(counts.excused.values()))}")
    print(f"resumed by a person: {dict(storm.resumed)}")
    _print_cancels(counts, storm)
    _print_recovery(recovery, storm.lease_s)
    print(f"{counts.results} results of {counts.expected}, {counts.expected - counts.results} lost", end=", ")
    print(f"{len(counts.doubled)} doubled, {len(counts.unexecuted)} never executed; {taken_s:.0f} s, seed {seed}")
    wrong = {
        "not ended": dict(counts.unfinished),
        "failed": counts.failures,
        "doubled": counts.doubled,
        "never executed": counts.unexecuted,
        "cancels ignored": counts.ignored,
        "cancels late": counts.late,
        "recovered late": recovery.late,
        "ended by itself": dict(storm.ended),
        "never seen to recover": [f"{wait.host} after {wait.trouble.name}" for wait in recovery.waits],
    }
    is_as_asked = counts.results == counts.expected and counts.cancelled <= storm.cancelled and not counts.held
    is_within = is_as_asked and not any(wrong.values())
    print("within the limits" if is_within else f"NOT within the limits: { {k: v for k, v in wrong.items() if v} }")
    return 0 if is_within else 1


def _print_cancels(counts: Tally, storm: Storm) -> None:
    print(f"{len(counts.cancelled)} cancelled of {len(storm.cancelled)} that were asked to; {counts.held} hosts held")
    asked_s = max((cancel.asked_s for cancel in counts.cancels), default=0.0)
    taken_s = max((cancel.taken_s for cancel in counts.cancels), default=0.0)
    print(f"of runs of {LONG_S} s: {len(counts.ignored)} cancels ignored; of all, {len(counts.late)} late", end=", ")
    print(f"{len(counts.cancels)} within {asked_s:.1f} s of the asking, {taken_s:.1f} s of the healing", end=", ")
    print(f"each asked for within {storm.longest_ask_s:.1f} s")


def _print_recovery(recovery: Recovery, lease_s: float) -> None:
    print("recovery, in leases of the installation's ticks (times, median, longest):")
    for name, waited_s in sorted(recovery.longest.items()):
        leases = sorted(seconds / lease_s for seconds in waited_s)
        print(f"  {name:18} {len(leases):4} {leases[len(leases) // 2]:6.2f} {leases[-1]:6.2f}")
    print(f"  {recovery.idle} hosts had nothing more to do, {len(recovery.late)} late")
