"""What goes into a step of a run on its targets, and what comes out of it, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchhub.bench.queue.queue import Claim
from benchhub.bench.results.readings import Readings
from runners import job
from runners.collection import Collected
from runners.contract import RunSpec
from runners.ssh import Target
from runners.verdict import Look, Verdict


@dataclass(frozen=True, slots=True)
class Job:
    """All that a step on the target needs to know, as plain data.

    `is_new`: its attempt was committed just now, and nothing was sent for it.
    `earlier` are attempts of the run of which nothing was collected: something of them may begin yet.
    `hidden_at`: when its load was last seen at work in a folder that was not where it should be,
    `waits`: at how many looks it has waited for that folder since.
    `away` are the hosts, by key, that could not be reached at the last try. `too_late` says why the run may not
    start any more, if that is so: it goes back to the queue unless it has begun. `blocked` says why nothing may be
    started for now: what has begun is looked after all the same, by its driver alone.
    """

    claim: Claim
    state: str
    target: Target
    server: Target | None
    attempt: job.Attempt
    spec: RunSpec
    password: str | None = field(repr=False)
    expected_s: int
    offset: int
    out_offset: int
    boot_id: str
    cancel_asked: bool
    host_before: Mapping[str, Any] | None
    to_probe: Mapping[int, tuple[Target, list[str]]]
    hosts: Mapping[int, Target]
    is_new: bool = False
    earlier: tuple[job.Attempt, ...] = ()
    hidden_at: datetime | None = None
    waits: int = 0
    away: frozenset[int] = frozenset()
    too_late: str = ""
    blocked: str = ""
    is_server_apart: bool = False
    server_work_directory: str = ""
    server_data_directory: str = ""
    server_version: str = ""

    @property
    def has_plan(self) -> bool:
        """Tell whether its plan could be read: else what is left of it ends the run, and nobody could read results."""
        return bool(self.spec.tool)


@dataclass(frozen=True, slots=True)
class Started:
    """`facts` are those of hosts that were probed again before the start, by the host's key."""

    outcome: job.StartOutcome
    facts: Mapping[int, Mapping[str, Any]]
    host_before: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end as seen on the target, with everything it left.

    `unrestored` says why the attempt's change of a server could not be put back; empty where it could.
    """

    collected: Collected
    host_after: Mapping[str, Any] | None
    readings: Readings
    unrestored: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """`unrestored` says why a lost attempt's change of a server could not be put back; empty where it could.

    `is_awaited`: its folder was moved under its load, and nothing is done there as long as it may be put back.
    """

    look: Look
    verdict: Verdict
    unrestored: str = ""
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """`unrestored` says why the attempt's change of a server could not be put back; empty where it could."""

    unrestored: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nothing of the attempt had begun, and nothing of it can begin any more."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The target has cleaned up after an attempt whose evidence is stored."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The host would not start the attempt, for reasons of its own, and nothing of it has begun.

    `target` is another host than the driver, where it is that one.
    """

    reason: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class ServerAway:
    """The host of the server is away or refuses, nothing of the attempt had begun, and nothing of it can any more.

    `is_unreached` tells which of the two it is.
    """

    reason: str
    is_unreached: bool


@dataclass(frozen=True, slots=True)
class Uncollectable:
    """The host has refused again and again to hand over what a finished attempt left. `unrestored`: as of `Ended`.

    `senseless` is the host whose answer could not be read, where that was why.
    """

    reason: str
    unrestored: str = ""
    senseless: Target | None = None


Answer = Started | Looked | Ended | Cancelled | Withdrawn | Refused | ServerAway | Uncollectable | Acknowledged
