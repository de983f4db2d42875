"""Jobs out of claims: commit what must be true before a target is spoken to, and gather what its step needs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Max, Q
from django.db.models.functions import Now

from benchhub.bench.models import Attempt, Run, System
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
from .visits import folders_of, target_of

logger = logging.getLogger(__name__)

FACTS_LAST = timedelta(hours=1)


def prepare(claims: Sequence[queue.Claim]) -> list[Job]:
    """Return what is to be done for these claims; none for a claim that is stale or has nothing to do now.

    Looks are prepared together; before anything else is said to a target something may have to be committed.
    """
    running = {run.pk: run for run in looks.under_way(claims) if looks.opened(run)}
    return [job_ for claim in claims if (job_ := _prepare_safely(claim, running.get(claim.run_id)))]


def _prepare_safely(claim: queue.Claim, running: Run | None) -> Job | None:
    try:
        if running is None:
            return prepare_step(claim)
        [attempt] = looks.opened(running)
        return None if _stays_away(running, claim) else make_job(running, claim, attempt)
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
            too_late = queue.why_not_now(run) if run.state == State.STARTING else ""
            is_new = run.state == State.RESERVED
            if is_new and (_is_unreadable(run, claim) or not _enter_starting(run, claim)):
                return None
            if _needs_no_host(run, claim) or _stays_away(run, claim):
                return None
            return replace(make_job(run, claim, run.attempts.latest("number"), too_late), is_new=is_new)
    except queue.StaleFenceError:
        return None


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
    """
    target, untold = _reached(run.system.driver)
    if target is None:
        _pause_unreadable_host(run.system.driver, untold)
        queue.look_again(claim, RETRY_AFTER, contact_error=untold)
    return target is None


def _pause_unreadable_host(host: Host, untold: str) -> None:
    if host.trust == Host.Trust.PINNED:
        host.pause(f"{untold} Mend that, then resume the host.")


def _needs_no_host(run: Run, claim: queue.Claim) -> bool:
    """End a run that is to be cancelled and has ended already, where nothing can be sent to its host; tell whether."""
    if run.state != State.COLLECTING or not run.cancel_asked_at:
        return False
    target, untold = _reached(run.system.driver)
    if target is None:
        queue.finish(run, claim, State.CANCELLED, f"Cancelled: its results stay on the host. {untold}")
    return target is None


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
