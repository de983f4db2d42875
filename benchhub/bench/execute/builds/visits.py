"""Visits to builds of PostgreSQL on their hosts: begun, looked at, cancelled, collected and removed by any worker."""

from __future__ import annotations

import logging
from concurrent.futures import Future, as_completed
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db.models import QuerySet
from django.db.models.functions import Now

from benchhub.bench.additions.builds import BUSY, UNTRUSTED
from benchhub.bench.execute import loop
from benchhub.bench.execute.connections import connections
from benchhub.bench.execute.visits import note_reached, note_unreached, quarantine, target_of
from benchhub.bench.models import Run
from benchhub.catalog.models import Host, SourceBuild
from benchhub.catalog.models.moments import may_visit
from runners.builds.work import Order
from runners.clusters.visit import HostBusyError
from runners.job import Attempt
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable

from . import outcomes
from .steps import Answer, Purpose, Visit, step

logger = logging.getLogger(__name__)

State = SourceBuild.State
VISIT_LEASE = timedelta(seconds=180)
LOOK_AFTER, BUSY_FOR, RETRY_AFTER = timedelta(seconds=2), timedelta(seconds=15), timedelta(seconds=30)
LONGEST_ERROR = 2000
# What another visit may have written since the list of builds was read; a tag becomes a commit by the first.
REFRESHED = (
    *("visit_until", "is_cancel_asked", "started_at", "log_offset", "is_suspected"),
    *("revision", "digest", "source_facts"),
)
NEEDED = "Runs that wait or are under way take its programs: it is removed when they have ended, or are cancelled."
USED = "An instance uses its programs: remove or retire that first."


def visit_builds() -> int:
    """Take the next step of each build that is due; return how many were visited. Any worker may do it again."""
    builds = [build for build in SourceBuild.objects.to_visit() if _claim(build) and _is_allowed(build)]
    visits = {loop.submit(_visit(build)): build for build in builds}
    for future in as_completed(visits):
        _note(visits[future], future)
    return len(builds)


async def _visit(build: SourceBuild) -> Answer:
    return await step(connections(), visit_of(build))


def visit_of(build: SourceBuild) -> Visit:
    """Return what is to be done next for the build."""
    # What was built is removed where it lies, wherever runs leave their folders by now.
    work_directory = build.bin_directory.rpartition("/builds/")[0] if build.state == State.REMOVING else ""
    attempt = Attempt(f"build-{build.key}", build.number, work_directory or build.host.work_directory)
    order = Order(build.recipe, build.jobs, SourceBuild.DEADLINE_S)
    target, is_cancelled = target_of(build.host), build.state == State.CANCELLED
    return Visit(_purpose(build), target, attempt, order, build.log_offset, build.is_suspected, is_cancelled)


def _purpose(build: SourceBuild) -> Purpose:
    if build.state == State.REMOVING:
        return "remove"
    if build.state != State.BUILDING:
        return "tidy"
    if build.is_cancel_asked:
        return "cancel"
    if build.started_at:
        return "look"
    return "resolve" if build.recipe.is_of_tag else "start"


def _claim(build: SourceBuild) -> bool:
    """Claim the visit until a moment that is written down: who still finds it there afterwards may write."""
    same = {"pk": build.pk, "state": build.state, "number": build.number}
    is_claimed = bool(SourceBuild.objects.filter(may_visit(), **same).update(visit_until=Now() + VISIT_LEASE))
    if is_claimed:
        build.refresh_from_db(fields=[*REFRESHED])
    return is_claimed


def claimed(build: SourceBuild) -> QuerySet[SourceBuild]:
    """Return the row while the claim on it is the newest: a cancel, and another worker's visit, end it."""
    same = {"pk": build.pk, "state": build.state, "number": build.number, "visit_until": build.visit_until}
    return SourceBuild.objects.filter(**same)


def _is_allowed(build: SourceBuild) -> bool:
    if build.host.trust != Host.Trust.PINNED:
        claimed(build).update(visit_until=Now() + RETRY_AFTER, contact_error=UNTRUSTED)
        return False
    refusal = refusal_to_remove(build) if build.state == State.REMOVING else ""
    if refusal:
        outcomes.keep(build, claimed(build), refusal)
    return not refusal


def refusal_to_remove(build: SourceBuild) -> str:
    """Say what needs the programs of the build; empty for nothing."""
    if build.users().exists():
        return USED
    runs = Run.objects.unfinished().filter(spec__bin_directory=build.bin_directory)
    return NEEDED if runs.exists() else ""


def _note(build: SourceBuild, future: Future[Answer]) -> None:
    """Write what came of a visit, unless something else was asked for since."""
    try:
        answer = future.result()
        note_reached([build.host_id])
        outcomes.store(build, claimed(build), answer, LOOK_AFTER, BUSY_FOR)
    except HostBusyError:
        _again(build, BUSY_FOR, BUSY)
    except HostKeyChanged as error:
        quarantine([build.host_id], error)
        _again(build, RETRY_AFTER, UNTRUSTED)
    except (Unreachable, TimeoutError) as error:
        sentence = str(error) or "The host did not answer in time."
        note_unreached([build.host_id], sentence)
        _again(build, RETRY_AFTER, sentence)
    except ImproperlyConfigured as error:
        _again(build, RETRY_AFTER, f"Nothing was sent: the key of its host cannot be read. {error}")
    except (RemoteFailure, ValueError) as error:
        _refused(build, str(error))
    except DatabaseError:
        raise
    except Exception as error:  # what one host answers must not keep the others, nor the runs, waiting
        logger.exception("What %s answered cannot be read", build)
        _refused(build, f"BenchHub cannot read what the host answered: {error!r}.")


def _again(build: SourceBuild, after: timedelta, sentence: str) -> None:
    """Leave the build as it is, and visit it again: that a host is away says nothing of what goes on there."""
    claimed(build).update(visit_until=Now() + after, contact_error=sentence[:LONGEST_ERROR].replace("\0", ""))


def _refused(build: SourceBuild, sentence: str) -> None:
    """Give a removal up, which a person may ask for again; all else is tried again."""
    if build.state != State.REMOVING:
        return _again(build, RETRY_AFTER, sentence)
    error = sentence[:LONGEST_ERROR].replace("\0", "")
    outcomes.keep(build, claimed(build), error)
    return None
