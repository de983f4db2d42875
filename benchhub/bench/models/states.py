"""The life of a run, in one place. The database enforces the same moves (migrations 0001 and 0006).

How many runs have ended in each state is counted where they end: to count years of runs takes too long.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection, models


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


class Standing:
    """How a run stands, by its columns: of the table of runs, or of the rows that curves are made of."""

    __slots__ = ()

    kind: str
    state: str
    rate_tps: int
    set_aside_at: datetime | None
    delivery_id: int | None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_imported(self) -> bool:
        return self.delivery_id is not None

    @property
    def is_of_curve(self) -> bool:
        """Tell whether it is a point of a curve if it has a result."""
        ended_well = self.kind == "measure" and self.state == State.SUCCEEDED
        return ended_well and not self.rate_tps and self.set_aside_at is None


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


class EndedCountQuerySet(models.QuerySet["EndedCount"]):
    MOST_ROWS = 200
    FOLD = """
        WITH folded AS (
            DELETE FROM bench_endedcount WHERE id IN (SELECT id FROM bench_endedcount FOR UPDATE SKIP LOCKED)
            RETURNING state, number
        ) INSERT INTO bench_endedcount (state, number) SELECT state, sum(number) FROM folded GROUP BY state
    """

    def fold(self) -> None:
        """Add up the rows of each state, where there are many. Readers see them before or after it, never between."""
        if self.count() > self.MOST_ROWS:
            with connection.cursor() as cursor:
                cursor.execute(self.FOLD)


class EndedCount(models.Model):
    """How many runs a statement brought into a state of FINAL, less those that it took out; the sum is their number.

    Triggers of the database add a row in the transaction that moves the runs. One row for each state would have all
    transactions that end a run wait for each other.
    """

    state = models.CharField(max_length=12, choices=State)
    number = models.BigIntegerField()

    objects = EndedCountQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.number:+} {self.state}"
