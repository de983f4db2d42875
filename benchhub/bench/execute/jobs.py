"""Jobs out of claims: commit what must be true before a target is spoken to, and gather what its step needs."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Max, Q
from django.db.models.functions import Now

from benchhub.bench.models import Attempt, Hold, Run, System
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.queue import queue
from benchhub.catalog.instances import grants
from benchhub.catalog.models import Host
from runners import job
from runners.contract import RunSpec
from runners.readings import short
from runners.ssh import Target

from . import looks, visits
from .looks import RETRY_AFTER
from .steps.contract import Job
from .steps.end import UNASKED
from .steps.step import STEP_TIMEOUT_S
from .visits import folders_of, target_of

logger = logging.getLogger(__name__)

FACTS_LAST = timedelta(hours=1)
# What a host takes to end what has met its deadline, with its sessions on the server.
AFTER_DEADLINE_S = 120
UNSEEN = "Its load ends by its deadline at the latest: until then the run holds its server, and a cancel waits."
ENDED_UNSEEN = "Its load has ended by now: it is collected once that is mended, or cancelled at once."
SERVER_FREED = "Its server was given to others while nothing could be sent to its driver: its start is taken back."

_unseen_since_s: dict[int, float] = {}  # by attempt


def prepare(claims: Sequence[queue.Claim]) -> list[Job]:
    """Return what is to be done for these claims; none for a claim that is stale or has nothing to do now.

    Looks are prepared together; before anything else is said to a target something may have to be committed.
    """
    running = {run.pk: run for run in looks.under_way(claims) if looks.opened(run)}
    return [job_ for claim in claims if (job_ := _prepare_safely(claim, running.get(claim.run_id)))]


def _prepare_safely(claim: queue.Claim, running: Run | None) -> Job | None:
    try:
        if running is None or _reached(running.system.driver)[0] is None:
            return prepare_step(claim)
        [attempt] = looks.opened(running)
        _unseen_since_s.pop(attempt.pk, None)
        return make_job(running, claim, attempt)
    except Exception as error:  # one run's trouble must not keep the others of the batch waiting
        logger.exception("A step of run %s cannot be prepared", claim.run_id)
        try_later(claim, error)
        return None


def try_later(claim: queue.Claim, error: Exception) -> None:
    """Have the run looked at again after an error of BenchHub's own, which its page tells meanwhile."""
    queue.look_again(claim, RETRY_AFTER, contact_error=short(f"BenchHub failed at this step: {error!r}."))


def prepare_step(claim: queue.Claim) -> Job | None:
    """Commit what must be true before the target is spoken to, and gather plain data; None where nothing is to do."""
    try:
        with queue.fenced(claim) as run:
            too_late = (queue.why_not_now(run) or _without_its_server(run)) if run.state == State.STARTING else ""
            is_new = run.state == State.RESERVED
            if is_new and (_is_unreadable(run, claim) or not _enter_starting(run, claim)):
                return None
            if _stays_away(run, claim):
                return None
            return replace(make_job(run, claim, run.attempts.latest("number"), too_late), is_new=is_new)
    except queue.StaleFenceError:
        return None


def _without_its_server(run: Run) -> str:
    """Say that the run holds its driver alone (`_free_unseen`), as another run may load the server now."""
    names = set(Hold.objects.filter(run=run).values_list("resource", flat=True))
    return SERVER_FREED if names and f"instance:{run.system.instance_id}" not in names else ""


def _is_unreadable(run: Run, claim: queue.Claim) -> bool:
    """Give the run back where a secret or its plan cannot be read, before an attempt of it exists; tell whether.

    Who can mend that is a person: until then nothing that others need is held for it.
    """
    reason = "" if run.cancel_asked_at else pause_unreadable(run)
    if reason:
        queue.give_back(run, claim, reason)
    return bool(reason)


def pause_unreadable(run: Run) -> str:
    """Pause the host whose key, or the experiment whose plan or password, cannot be read; return why, or nothing."""
    for host in hosts_of(run):
        target, untold = _reached(host)
        if target is None and host.trust == Host.Trust.PINNED:
            _pause_unreadable_host(host, untold)
            return untold
    reason = _unread_plan(run) or _password(run)[1]
    if reason:
        queue.pause(run.experiment, f"{reason} Mend that, then resume the experiment.")
    return reason


def _unread_plan(run: Run) -> str:
    try:
        specs.spec_of(run)
    except (KeyError, TypeError, ValueError) as error:
        return short(f"What was planned of run {run.pk} cannot be read: {error!r}.")
    return ""


def _enter_starting(run: Run, claim: queue.Claim) -> bool:
    Host.lock(_host_keys(run))  # an edit of where jobs lie comes before this start, or sees that it is under way
    if run.cancel_asked_at:
        queue.finish(run, claim, State.CANCELLED, "Cancelled before it started.")
        return False
    if reason := queue.slept_over(run):
        queue.give_back(run, claim, reason)
        return False
    number = (run.attempts.aggregate(last=Max("number"))["last"] or 0) + 1
    Attempt.objects.create(run=run, number=number, work_directory=run.system.driver.work_directory)
    queue.move(run, State.STARTING, fence=claim.fence)
    return True


def _host_keys(run: Run) -> list[int]:
    keys = System.objects.values_list("driver_id", "instance__host_id").get(pk=run.system_id)
    return [key for key in keys if key]


def _stays_away(run: Run, claim: queue.Claim) -> bool:
    """Put the run off, and return True, where the driver's key changed, or nobody can read BenchHub's own.

    Until a person has decided, or mended that, not even a look is sent. The host is paused with the reason.
    All that has begun is known to the driver alone: the server's host keeps runs from starting, and from nothing else.
    Once its load has ended for certain, the run holds that driver alone, and a cancel waits for nobody.
    """
    attempt = run.attempts.latest("number")
    target, untold = _reached(run.system.driver)
    if target is not None:
        _unseen_since_s.pop(attempt.pk, None)
        return False
    _pause_unreadable_host(run.system.driver, untold)
    if not _has_ended_unseen(run, attempt):
        queue.look_again(claim, RETRY_AFTER, contact_error=f"{untold} {UNSEEN}")
    elif run.cancel_asked_at:
        _set_server_apart(run)
        queue.finish(run, claim, State.CANCELLED, f"Cancelled: its results stay on the host. {untold}")
    else:
        _free_unseen(run)
        queue.look_again(claim, RETRY_AFTER, contact_error=f"{untold} {ENDED_UNSEEN}")
    return True


def _has_ended_unseen(run: Run, attempt: Attempt) -> bool:
    """Tell whether the load must have ended on a host to which nothing is sent: it was seen to, or by its deadline.

    By this process's own monotonic clock since it has first met the run so: no clock that is set makes that too soon.
    Anew where the last word of the run was another: a worker has reached the host since, and may have begun the load.
    """
    if run.state == State.COLLECTING:
        return True
    if not run.watch.contact_error.endswith((UNSEEN, ENDED_UNSEEN)):
        _unseen_since_s.pop(attempt.pk, None)
    deadline_s = 0 if _unread_plan(run) else specs.spec_of(run).deadline_s
    if not deadline_s:
        return False
    begins_within_s = STEP_TIMEOUT_S if run.state == State.STARTING else 0
    now_s = time.monotonic()
    return now_s - _unseen_since_s.setdefault(attempt.pk, now_s) > deadline_s + AFTER_DEADLINE_S + begins_within_s


def _free_unseen(run: Run) -> None:
    """Free all but the driver; not a server whose settings the run changed, as nobody knows whether they are back.

    Its host's counters are no longer of this run alone.
    """
    if not _may_have_changed(run):
        queue.release(run, without=f"host:{run.system.driver_id}")
        run.attempts.filter(ended_at=None).update(host_before=None)


def _set_server_apart(run: Run) -> None:
    """Let nothing start, until a person has looked, on a server that may have the settings of a run yet."""
    host = run.system.instance.host
    if host is not None and _may_have_changed(run):
        host.pause(f"{UNASKED} Mend that, then resume the host.")


def _may_have_changed(run: Run) -> bool:
    """Tell whether the run may have changed settings of its server: without its plan nobody knows."""
    return bool(_unread_plan(run)) or specs.spec_of(run).server_settings is not None


def _pause_unreadable_host(host: Host, untold: str) -> None:
    if host.trust == Host.Trust.PINNED:
        host.pause(f"{untold} Mend that, then resume the host.")


def _untrusted(host: Host) -> str:
    return f"Nothing is sent to {host.name}: its host key has changed. Compare and approve it on the host's page."


def hosts_of(run: Run) -> list[Host]:
    """Return the run's driver, and behind it the server's host where that is another one that BenchHub knows."""
    system = run.system
    other = [] if system.instance.host is None or system.driven_locally else [system.instance.host]
    return [system.driver, *other]


def make_job(run: Run, claim: queue.Claim, attempt: Attempt, too_late: str = "") -> Job:
    watch, hosts, is_starting = run.watch, hosts_of(run), run.state == State.STARTING
    driver, server_hosts = hosts[0], hosts[1:]
    server, untold = _reached(server_hosts[0]) if server_hosts else (None, "")
    password, unread = _password(run) if is_starting and not run.cancel_asked_at else (None, "")
    unplanned = _unread_plan(run) if is_starting or run.cancel_asked_at else ""
    spec = specs.REMAINS if unplanned else specs.spec_now(run) if is_starting else specs.spec_of(run)
    targets = {driver.pk: target_of(driver), **{host.pk: server for host in server_hosts if server}}
    return Job(
        claim=claim,
        state=run.state,
        target=targets[driver.pk],
        server=server,
        is_server_apart=bool(server_hosts),
        attempt=visits.place_of(run, attempt),
        spec=spec,
        password=password,
        expected_s=run.expected_s,
        offset=watch.progress_offset,
        out_offset=watch.out_offset,
        boot_id=attempt.boot_id,
        hidden_at=attempt.hidden_at,
        waits=attempt.waits,
        cancel_asked=run.cancel_asked_at is not None,
        host_before=attempt.host_before,
        to_probe=_stale_hosts(targets) if is_starting else {},
        hosts=targets,
        earlier=_uncollected(run, attempt) if is_starting else (),
        away=frozenset(host.pk for host in hosts if host.unreachable_since),
        too_late=too_late,
        blocked=untold or unread or unplanned or (is_starting and _withdrawn(run, spec)) or "",
        server_work_directory=server_hosts[0].work_directory if server_hosts else "",
        server_data_directory=run.system.instance.data_directory,
        server_version=run.system.build.version if run.state == State.COLLECTING else "",
    )


def _uncollected(run: Run, attempt: Attempt) -> tuple[job.Attempt, ...]:
    """Return the earlier attempts that left no exit code with BenchHub: the others cannot begin again."""
    earlier = run.attempts.filter(number__lt=attempt.number, returncode=None, acknowledged_at=None)
    return tuple(visits.place_of(run, row) for row in earlier.order_by("number"))


def _reached(host: Host) -> tuple[Target | None, str]:
    """Return how a server's host is reached; or None, and why nothing may be sent there."""
    if host.trust != Host.Trust.PINNED:
        return None, _untrusted(host)
    try:
        return target_of(host), ""
    except ImproperlyConfigured as error:
        return None, f"Nothing is sent to {host.name}: {error}"


def _password(run: Run) -> tuple[str | None, str]:
    """Return the password that a start needs, if any; or None, and why it cannot be read."""
    try:
        return run.system.instance.password or None, ""
    except ImproperlyConfigured as error:
        return None, f"The password of {run.system.instance} cannot be used: {error}"


def _withdrawn(run: Run, spec: RunSpec) -> str:
    return grants.withdrawn(run.system.instance, spec.server_settings) if spec.server_settings else ""


def _stale_hosts(targets: Mapping[int, Target]) -> dict[int, tuple[Target, list[str]]]:
    """Return by host what to probe, where the facts are too old by the warehouse's clock to be called the run's."""
    too_old = Q(facts_at=None) | Q(facts_at__lt=Now() - FACTS_LAST)
    stale = Host.objects.filter(too_old, pk__in=targets)
    return {host.pk: (targets[host.pk], folders_of(host)) for host in stale}
