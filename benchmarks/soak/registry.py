"""The faults of a soak, a line each."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults import clocks

from . import people, processes, targets
from .hosts import can_mount
from .storm import Storm

EVERY = (
    processes.kill_worker,
    processes.pause_worker,
    processes.freeze_writer,
    processes.kill_ticker,
    processes.set_clock,
    processes.flush_broker,
    processes.stop_broker,
    processes.crash_warehouse,
    targets.drop_connections,
    targets.part_line,
    targets.hold_answers,
    targets.refuse_line,
    targets.kill_daemon,
    targets.few_log_ins,
    targets.close_account,
    targets.change_shell,
    targets.server_away,
    targets.break_disk,
    targets.hang_load,
    targets.kill_job,
    people.cancel_run,
    people.spoil_key,
    people.queue_other_data,
)
# What some machines lack the means for.
MEANS = {"set_clock": clocks.can_be_set, "break_disk": can_mount}


def available() -> dict[str, Callable[[Storm], None]]:
    """Return the faults that this machine can inject, by name, and say which it cannot."""
    faults = {fault.__name__: fault for fault in EVERY}
    for name, is_there in MEANS.items():
        if not is_there():
            print(f"left out on this machine: {name}", flush=True)
            del faults[name]
    return faults
