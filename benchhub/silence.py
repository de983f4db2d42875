"""The warehouse ends a transaction whose process is silent: frozen, or lost with its machine. Its locks go with it.

Whoever waits for them, as a cancel does for the row of its run, waits for so long at most. The process finds its
connection gone when it wakes up, and nothing written; a later tick does the work again.

Each connection asks for it by a statement: poolers refuse what they do not know among the options of a start.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created

LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', %s, %s)"


def listen() -> None:
    """Limit the silence within a transaction on every connection to the warehouse that is made from here on."""
    connection_created.connect(_limit, dispatch_uid="silence")


def _limit(connection: Any, **_: Any) -> None:
    connection.connection.execute(LIMIT, [_milliseconds(settings.LONGEST_SILENCE_S), False])


def allow(seconds: float) -> None:
    """Let the process be silent for so long within the current transaction; 0 is for ever.

    It is for a transaction that holds no lock which a run or its cancel would wait for.
    """
    with connection.cursor() as cursor:
        cursor.execute(LIMIT, [_milliseconds(seconds), True])


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
