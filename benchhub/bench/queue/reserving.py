"""The rows of the runs that one tick reserves: their holds and their moves, in as many statements as for one run.

All of it stands in the transaction of the caller, and is undone with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from benchhub.bench.models import Event, Experiment, Hold, Run, Watch
from benchhub.bench.models.states import FINAL, State

from . import gates, tenancies

FRESH_WATCH = {
    "next_look_at": Now(),
    "last_contact_at": None,
    "contact_error": "",
    "unreachable_since": None,
    "step": "",
    "progress_offset": 0,
    "out_offset": 0,
    "live_tps": None,
}
# By their names in order, so that no two workers wait for each other. Only what this very statement has inserted is
# ours: a row of the same run may be another worker's, which was first.
HOLD = """
    INSERT INTO bench_hold (resource, run_id)
    SELECT * FROM unnest(%s::text[], %s::bigint[]) AS needed(resource, run_id) ORDER BY resource
    ON CONFLICT DO NOTHING RETURNING resource
"""


def take(runs: Sequence[Run]) -> list[int]:
    """Reserve those of these runs that may start; return their keys. Where two need one thing the first gets it.

    What another worker has or changes just now is left to the next tick.
    """
    needs = _needs(runs)
    inserted = _hold({name: key for key, names in needs.items() for name in names})
    held = [run for run in runs if run.pk in needs and inserted.issuperset(needs[run.pk])]
    queued = Run.objects.queued().filter(pk__in=[run.pk for run in held]).order_by("pk")
    # Not waited for: who changes many queued runs, such as a cancel, locks them in an order of its own.
    locked = set(queued.select_for_update(of=("self",), skip_locked=True, no_key=True).values_list("pk", flat=True))
    waiting = [run for run in held if run.pk in locked]
    shut = _shut([run for run in waiting if run.experiment.failure_policy != Experiment.FailurePolicy.CONTINUE])
    keys = [run.pk for run in tenancies.take([run for run in waiting if run.pk not in shut])]
    in_use = {name for key in keys for name in needs[key]}
    if not_needed := inserted - in_use:
        Hold.objects.filter(resource__in=not_needed).delete()
    _move(keys)
    return keys


def unprepared(runs: Iterable[Run]) -> set[int]:
    """Return the keys of those with a load or a warm-up before them that did not end well, be it the newest or not."""
    alike = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system"))
    others = [state for state in FINAL if state != State.SUCCEEDED]
    failed = alike.filter(
        position__lt=OuterRef("position"), kind__in=[Run.Kind.LOAD, Run.Kind.WARMUP], state__in=others
    )
    rows = Run.objects.filter(Exists(failed), pk__in=[run.pk for run in runs]).exclude(kind=Run.Kind.LOAD)
    return set(rows.values_list("pk", flat=True))


def _needs(runs: Iterable[Run]) -> dict[int, list[str]]:
    """Return what the runs need, by key; a run that needs what one before it does is left out."""
    needs: dict[int, list[str]] = {}
    names: set[str] = set()
    for run in runs:
        resources = gates.resources(run.system)
        if names.isdisjoint(resources):
            names.update(resources)
            needs[run.pk] = resources
    return needs


def _hold(runs: Mapping[str, int]) -> set[str]:
    """Hold resources for runs, where nobody else does; return the resources."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [list(runs), list(runs.values())])
        return {name for (name,) in cursor.fetchall()}


def _shut(runs: Collection[Run]) -> set[int]:
    """Ask again when the hosts are ours: what ended on them a moment ago may have been one failure too many.

    Return the keys of the runs that may not start.
    """
    if not runs:
        return set()
    # In this order: what another worker pauses between the two has either tripped already or is seen as paused.
    tripped = set(Experiment.objects.tripped().filter(runs__in=runs).values_list("pk", flat=True))
    open_keys = gates.open_keys([run.pk for run in runs])
    return {run.pk for run in runs if run.experiment_id in tripped or run.pk not in open_keys}


def _move(keys: Collection[int]) -> None:
    if not keys:
        return
    Event.objects.bulk_create(Event(run_id=key, old_state=State.QUEUED, new_state=State.RESERVED) for key in keys)
    Run.objects.filter(pk__in=keys).update(state=State.RESERVED, reason="")
    watches = [Watch(run_id=key, **FRESH_WATCH) for key in keys]
    Watch.objects.bulk_create(watches, update_conflicts=True, unique_fields=["run"], update_fields=list(FRESH_WATCH))
