"""Cancels of runs under way, and what must be so afterwards."""

from __future__ import annotations

from benchhub.bench.models import Event, Run
from benchhub.bench.queue import queue
from benchhub.embedded import proc

from . import rows
from .rig import MARKER, until

FOREVER_S = 300


def cancel(run) -> None:
    assert queue.ask_to_cancel(Run.objects.filter(pk=run.pk)) == 1


def loads_on(site) -> list[str]:
    """Return the command lines of load generators that jobs of the rig have running."""
    lines = [" ".join(proc.command_line(process.pid)) for process in proc.marked(MARKER, site.machine.marker)]
    return [line for line in lines if "/pgbench" in line]


def is_cancelled_within(run, site, seconds: float) -> None:
    rows.until_state(run, "cancelled", patience_s=seconds)
    assert Event.objects.filter(run=run, new_state__in=["cancelled", "succeeded", "failed", "lost"]).count() == 1
    assert not hasattr(Run.objects.get(pk=run.pk), "result")
    assert not loads_on(site)


def goes_on(site, system) -> None:
    """The next run gets the host, so that nothing of the cancelled one holds it."""
    [following] = rows.queue(system, duration_s=1)
    [ended] = rows.until_final([following])
    assert (ended.state, site.executions(following)) == ("succeeded", 1), ended.reason


def under_way(site, system):
    [run] = rows.queue(system, duration_s=FOREVER_S)
    rows.until_state(run, "running")
    until(lambda: site.executions(run) == 1)
    return run
