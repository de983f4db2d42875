"""Looks at many runs under way at once: what they need by two queries, and what they saw by one statement.

Nearly all of a worker's steps are looks that find a load still running. Only those are shortened here; a look that
has anything else to say is written like every other answer (bench/execution.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from datetime import timedelta

from django.db import connection
from django.db.models import Prefetch, QuerySet

from . import queue
from .models import Attempt, Run
from .states import State
from .steps import Answer, Job, Looked

QUIET = """
UPDATE bench_watch AS w
SET next_look_at = now() + make_interval(secs => %s), lease_until = NULL, last_contact_at = now(), contact_error = '',
    unreachable_since = NULL, step = seen.step
FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS seen(run_id, fence, step)
WHERE w.run_id = seen.run_id AND w.fence = seen.fence
"""


def under_way(claims: Iterable[queue.Claim]) -> QuerySet[Run]:
    """Of the claimed runs those to be looked at, with all that a look needs; nothing has to be written before it."""
    opened = Prefetch("attempts", Attempt.objects.filter(ended_at=None), to_attr="open_attempts")
    runs = Run.objects.filter(pk__in=[claim.run_id for claim in claims], state=State.RUNNING, cancel_asked_at=None)
    hosts = ("system__driver", "system__instance__host")
    return (
        runs.select_related("watch", *hosts)
        .defer(*(f"{host}__{field}" for host in hosts for field in ("facts", "public_key")), "system__description")
        .prefetch_related(opened)
    )


def is_quiet(job_: Job, future: Future[Answer]) -> bool:
    """Whether the look found the load running as before, and nothing new of its logs or its host."""
    if future.exception() is not None or not isinstance(answer := future.result(), Looked):
        return False
    look = answer.look
    is_same = answer.verdict.state == "running" and look.boot_id == job_.boot_id and not job_.away
    return is_same and not look.chunk and not look.out_chunk


def write(quiet: Sequence[tuple[Job, Looked]], after: timedelta) -> None:
    """Give these runs back until their next looks; nothing is done for a claim that is stale."""
    if not quiet:
        return
    columns = zip(*((job_.claim.run_id, job_.claim.fence, seen.look.step) for job_, seen in quiet), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(QUIET, [after.total_seconds(), *map(list, columns)])
