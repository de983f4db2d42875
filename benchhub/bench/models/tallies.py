"""How many runs of an experiment are alike. Those that ended are counted where they end: there may be years of them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db import connection, models, transaction
from django.db.models import Q, Subquery, Sum
from django.db.models.functions import Coalesce

from .states import State

# Runs that agree in these columns are alike.
ALIKE = ("experiment_id", "system_id", "protocol_digest", "kind", "clients", "rate_tps", "state", "is_aside")
SUMS = ("runs", "load_s", "timed", "taken", "timed_load_s")
Reference = partial(
    models.ForeignKey, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
)


class Alike(models.Model):
    """Runs that agree in ALIKE: their number, and the seconds of all their loads.

    `timed` of them have a start and an end, and took `taken` in all for loads of `timed_load_s`. No constraint leads to
    experiment, system and protocol: those of the runs do.
    """

    experiment = Reference("bench.Experiment")
    system = Reference("bench.System")
    protocol = Reference("bench.Protocol", db_column="protocol_digest")
    kind = models.CharField(max_length=10)
    clients = models.PositiveIntegerField()
    rate_tps = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State)
    is_aside = models.BooleanField()
    runs = models.BigIntegerField()
    load_s = models.BigIntegerField()
    timed = models.BigIntegerField()
    taken = models.DurationField()
    timed_load_s = models.BigIntegerField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.runs:+} {self.kind}, {self.state}"


class EndedTallyQuerySet(models.QuerySet["EndedTally"]):
    MOST_ROWS = 500
    FOLD = f"""
        WITH folded AS (
            DELETE FROM bench_endedtally WHERE id IN (
                SELECT id FROM bench_endedtally WHERE NOT is_folded ORDER BY id LIMIT 20000 FOR UPDATE SKIP LOCKED
            ) RETURNING *
        )
        INSERT INTO bench_endedtally AS tally ({", ".join((*ALIKE, *SUMS))}, is_folded)
            SELECT {", ".join(ALIKE)}, {", ".join(f"sum({name})" for name in SUMS)}, true
            FROM folded GROUP BY {", ".join(ALIKE)} ORDER BY {", ".join(ALIKE)}
        ON CONFLICT ({", ".join(ALIKE)}) WHERE is_folded
            DO UPDATE SET {", ".join(f"{name} = tally.{name} + excluded.{name}" for name in SUMS)}
    """
    IS_ZERO = Q(runs=0, load_s=0, timed=0, taken=timedelta(), timed_load_s=0)

    def fold(self) -> None:
        """Add up the rows of runs that are alike, where there are many, and remove what comes to nothing.

        Readers see them before it or after it.
        """
        if self.filter(is_folded=False)[: self.MOST_ROWS + 1].count() > self.MOST_ROWS:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(self.FOLD)
                self.filter(self.IS_ZERO, is_folded=True).delete()


class EndedTally(Alike):
    """What a statement added to the ended runs that are alike, less what it took; the sum is their number.

    Triggers of the database add rows in the transaction that moves the runs, for the reason that EndedCount gives.
    """

    is_folded = models.BooleanField(default=False, db_default=False)

    objects = EndedTallyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["experiment", "system", "protocol", *ALIKE[3:]], condition=Q(is_folded=True), name="ended_tally"
            ),
        ]
        indexes = [
            models.Index(fields=["experiment"], name="ended_tally_of"),
            models.Index(fields=["id"], condition=Q(is_folded=False), name="ended_tally_new"),
        ]


class RunTallyQuerySet(models.QuerySet["RunTally"]):
    def number(self) -> Coalesce:
        """Return the number of these runs, all of one experiment, as a subquery."""
        totals = self.order_by().values("experiment").annotate(total=Sum("runs")).values("total")
        return Coalesce(Subquery(totals), 0, output_field=models.BigIntegerField())


class RunTally(Alike):
    """A view of all runs: a row each of those that have not ended, and what was counted of those that have.

    Add the rows up, and leave out what comes to 0 runs. The key of a row that is a run is that of the run, negative.
    A migration that changes the type of a column of runs that is here drops the view before and makes it again.
    """

    cancelling = models.BigIntegerField(help_text="Runs that a person asked to end, of those that have not ended.")

    objects = RunTallyQuerySet.as_manager()

    class Meta:
        managed = False
        db_table = "bench_runtally"
