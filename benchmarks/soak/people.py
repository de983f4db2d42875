"""What people do meanwhile: they cancel, spoil a key, queue what needs other data, and resume what was paused."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .hosts import SoakHost
from .storm import NOT_YET, Storm

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from benchhub.bench.models import Run, System

LONG_S = 300
ATTEMPTS = 9
OTHER_SCALE = 2


def cancel_run(storm: Storm) -> None:
    """Cancel a run that may have begun: of those that only wait nothing would have to be ended."""
    from django.db import OperationalError, connection

    from benchhub.bench.models.states import ACTIVE

    try:
        active = list(_ours(storm).filter(state__in=ACTIVE).order_by("pk"))
        if active:
            _ask(storm, storm.chance.choice(active))
    except OperationalError:  # the warehouse is away: whether it was asked shows in its state
        connection.close()


def cancel_long(storm: Storm) -> None:
    """Cancel what is to last for minutes, at some moment after it has begun."""
    from django.db import OperationalError, connection

    from benchhub.bench.models.states import ACTIVE

    try:
        runs = _ours(storm).filter(experiment__duration_s=LONG_S, state__in=ACTIVE, cancel_asked_at=None)
        for run in runs:
            if storm.chance.random() < 0.5:
                _ask(storm, run)
    except OperationalError:  # the warehouse is away
        connection.close()


def _ours(storm: Storm) -> QuerySet[Run]:
    from benchhub.bench.models import Run

    return Run.objects.filter(pk__in=[run.pk for _, run in storm.runs])


def _ask(storm: Storm, run: Run) -> None:
    """Ask for the cancel of a run. A paused worker may hold its row, and only the warehouse ends that."""
    from benchhub.bench.models import Run
    from benchhub.bench.queue import queue

    storm.cancelled.add(run.pk)
    begun_s = time.monotonic()
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    storm.longest_ask_s = max(storm.longest_ask_s, time.monotonic() - begun_s)


def resume(storm: Storm) -> None:
    """Resume each host that BenchHub has set apart, once what was wrong there is mended, and each experiment."""
    from django.db import OperationalError, connection

    from benchhub.bench.models import Experiment
    from benchhub.bench.queue import queue
    from benchhub.catalog.models import Host

    try:
        for host in Host.objects.filter(paused_at__isnull=False):
            if not storm.troubles.is_blocked(host.name):
                storm.resumed[host.name] += 1
                host.resume()
                storm.momentary("resume", [own for own in storm.all_hosts if own.name == host.name])
        for experiment in Experiment.objects.filter(paused_at__isnull=False):
            storm.resumed[experiment.name] += 1
            queue.resume(experiment)
    except OperationalError:  # the warehouse is away
        connection.close()


def spoil_key(storm: Storm) -> None:
    """Make the private key of a host unreadable: nothing else may stop for it."""
    host = storm.any_host()
    if _exchange_key(host, "'x' || private_key"):
        storm.lasting("spoil_key", lambda: _mend_key(host), [host])


def _mend_key(host: SoakHost) -> object:
    return None if _exchange_key(host, "substr(private_key, 2)") else NOT_YET


def _exchange_key(host: SoakHost, expression: str) -> bool:
    from django.db import OperationalError, connection

    try:
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE catalog_host SET private_key = {expression} WHERE name = %s", [host.name])
    except OperationalError:
        connection.close()
        return False
    return True


def queue_other_data(storm: Storm) -> None:
    """Queue an experiment of another scale and higher priority on the first host, which has data of its own."""
    from django.db import OperationalError, connection

    from benchhub.bench.models import System
    from tests.faults import rows

    host = storm.hosts[0]
    try:
        if all(rows.state(run) in ("succeeded", "cancelled", "failed") for run in storm.campaign):
            storm.campaign = other_data(System.objects.get(driver__name=host.name))
            storm.runs += [(host, run) for run in storm.campaign]
    except OperationalError:  # the warehouse is away
        connection.close()
    storm.momentary("queue_other_data", [host])


def other_data(system: System) -> list[Run]:
    """Return the runs that measure, of an experiment that comes between; the load of its data goes before them."""
    from benchhub.bench.models import Run
    from benchhub.catalog.models import Workload
    from tests.faults import rows

    parameters = {**rows.PARAMETERS, "scale": OTHER_SCALE}
    workload, _ = Workload.objects.get_or_create(name="other", defaults={"tool": "pgbench", "parameters": parameters})
    policy = {"priority": 9, "data_set_policy": "between", "attempts_if_lost": ATTEMPTS}
    runs = rows.queue(system, 2, duration_s=1, workload=workload, **policy)
    return [run for run in runs if run.kind == Run.Kind.MEASURE]
