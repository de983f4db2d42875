"""Looks at many runs under way at once: what they need by two queries, and what they saw by one statement.

Nearly all of a worker's steps are looks that find a load still running. Only those are shortened here; a look that
has anything else to say is written like every other answer (answers.py). Where the exec that waits for a run's
end says that all is as it was, no look is needed at all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta

from django.db import connection
from django.db.models import Prefetch, QuerySet

from benchhub.bench.models import Attempt, Run
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue

from .steps.contract import Answer, Job, Looked
from .steps.watch import LastSign

LOOK_EVERY = queue.LEASE / 6
RETRY_AFTER = queue.LEASE / 4
# What fails once is mostly over soon, and a host that could be at work stands idle until then.
FIRST_RETRY_AFTER = min(timedelta(seconds=2), RETRY_AFTER)
QUIET = """
UPDATE bench_watch AS w
SET next_look_at = now() + make_interval(secs => %s), lease_until = NULL, last_contact_at = now(), contact_error = '',
    unreachable_since = NULL, step = seen.step
FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS seen(run_id, fence, step)
WHERE w.run_id = seen.run_id AND w.fence = seen.fence
"""


# A look that somebody asked for is due at once, and is left alone.
SIGNS = """
UPDATE bench_watch AS w
SET last_contact_at = greatest(w.last_contact_at, now() - make_interval(secs => seen.age_s)),
    next_look_at = CASE
        WHEN seen.is_steady AND w.progress_offset = seen.err_size AND w.out_offset = seen.out_size
        THEN greatest(w.next_look_at, now() + make_interval(secs => %s - seen.age_s))
        ELSE w.next_look_at END
FROM unnest(%s::bigint[], %s::float[], %s::bool[], %s::bigint[], %s::bigint[])
    AS seen(run_id, age_s, is_steady, err_size, out_size), bench_run AS r
WHERE w.run_id = seen.run_id AND r.id = seen.run_id AND r.state = 'running' AND r.cancel_asked_at IS NULL
    AND w.lease_until IS NULL AND w.next_look_at > now() AND w.contact_error = ''
"""
STEADY = 3  # so many signs alike: a look came in between, and has seen what changed before them


def note_signs(signs: Mapping[int, LastSign], look_every: timedelta) -> None:
    """Note a contact with each run whose wait says that it is alive, and put off a look that could see no more."""
    if not signs:
        return
    now_s = time.monotonic()
    rows = (
        (run_id, now_s - last.at_s, last.times >= STEADY, last.sign.err_size, last.sign.out_size)
        for run_id, last in signs.items()
    )
    with connection.cursor() as cursor:
        cursor.execute(SIGNS, [2 * look_every.total_seconds(), *map(list, zip(*rows, strict=True))])


def under_way(claims: Iterable[queue.Claim]) -> QuerySet[Run]:
    """Return the claimed runs that are to be looked at, with all that a look needs: nothing is written before it."""
    opened = Prefetch("attempts", Attempt.objects.filter(ended_at=None), to_attr="open_attempts")
    runs = Run.objects.filter(pk__in=[claim.run_id for claim in claims], state=State.RUNNING, cancel_asked_at=None)
    hosts = ("system__driver", "system__instance__host")
    return (
        runs.select_related("watch", *hosts)
        .defer(*(f"{host}__{field}" for host in hosts for field in ("facts", "public_key")), "system__description")
        .prefetch_related(opened)
    )


def opened(run: Run) -> list[Attempt]:
    """Return the one open attempt of a run that under_way() has fetched; empty where it has none."""
    attempts: list[Attempt] = run.open_attempts  # type: ignore[attr-defined]  # the name it is fetched under
    return attempts


def is_quiet(job_: Job, future: Future[Answer]) -> bool:
    """Tell whether the look saw the load run as before, and nothing new of its logs or its host."""
    if future.exception() is not None or not isinstance(answer := future.result(), Looked):
        return False
    look = answer.look
    is_same = answer.verdict.state == "running" and look.boot_id == job_.boot_id
    was_well = not job_.away and not job_.hidden_at
    return is_same and was_well and not look.is_hidden and not look.chunk and not look.out_chunk


def write(quiet: Sequence[tuple[Job, Looked]], after: timedelta) -> None:
    """Give these runs back until their next looks; nothing is done for a claim that is stale."""
    if not quiet:
        return
    columns = zip(*((job_.claim.run_id, job_.claim.fence, observed.look.step) for job_, observed in quiet), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(QUIET, [after.total_seconds(), *map(list, columns)])
