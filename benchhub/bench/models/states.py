"""The life of a run, in one place. The database enforces the same moves (migrations 0001 and 0006)."""

from django.db import models


class State(models.TextChoices):
    QUEUED = "queued", "queued"
    RESERVED = "reserved", "reserved"
    STARTING = "starting", "starting"
    RUNNING = "running", "running"
    COLLECTING = "collecting", "collecting"
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"
    LOST = "lost", "lost"


ACTIVE = (State.RESERVED, State.STARTING, State.RUNNING, State.COLLECTING)
FINAL = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.LOST)

# A run that was reserved or starting goes back to the queue only while nothing can have begun on the target; one that
# found another data set, behind a load of its own; one that was lost or has failed, as a new attempt. What succeeded
# or was cancelled stays so.
MOVES: dict[str, frozenset[str]] = {
    State.QUEUED: frozenset({State.RESERVED, State.FAILED, State.CANCELLED}),
    State.RESERVED: frozenset({State.STARTING, State.QUEUED, State.FAILED, State.CANCELLED}),
    State.STARTING: frozenset({State.RUNNING, State.QUEUED, State.FAILED, State.CANCELLED, State.LOST}),
    State.RUNNING: frozenset({State.COLLECTING, State.FAILED, State.CANCELLED, State.LOST}),
    State.COLLECTING: frozenset({State.SUCCEEDED, State.QUEUED, State.FAILED, State.CANCELLED}),
    State.LOST: frozenset({State.QUEUED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset({State.QUEUED}),
    State.CANCELLED: frozenset(),
}


def may_move(old: str, new: str) -> bool:
    return new in MOVES[State(old)]
