"""Each worker process tells of itself at the ticker's ticks: that it lives, what it is, how its clock stands."""

from __future__ import annotations

import itertools
import os
import socket
import time
from datetime import timedelta

from django.db import connection
from django.db.models.functions import Now

from benchhub.bench.models import Worker
from benchhub.release import release

from . import loop

FORGET_AFTER = timedelta(days=1)

_ssh_errors = itertools.count(1)
_error_count = [0]


def count_ssh_error() -> None:
    """Count that a host could not be reached, refused, or has another key."""
    _error_count[0] = next(_ssh_errors)


def note() -> None:
    """Write this process's row, and delete rows of processes that ended long ago."""
    vitals = {
        "release": release(),
        "clock_ahead_s": clock_ahead_s(),
        "ssh_errors": _error_count[0],
        "loop_silent_s": loop.silent_s(),
    }
    name = f"{socket.gethostname()[:120]}-{os.getpid()}"
    Worker.objects.update_or_create(name=name, defaults={**vitals, "ticked_at": Now()})
    Worker.objects.filter(ticked_at__lt=Now() - FORGET_AFTER).delete()


def clock_ahead_s() -> float:
    """Return this machine's clock minus the warehouse's, give or take half of the round trip."""
    before_s = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        [warehouse_s] = cursor.fetchone()
    return (before_s + time.time()) / 2 - float(warehouse_s)
