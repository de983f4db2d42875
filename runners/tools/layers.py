"""Tell which layer a load failed at, by the messages that it left: the server, the network, a disk, a statement.

Where no message blames anything else, the reason names the load generator or the step itself, and stands alone.
A new layer is one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """What failed, in one sentence, and the messages of libpq, PostgreSQL or the operating system that say so."""

    sentence: str
    messages: re.Pattern[str]


def _layer(sentence: str, *messages: str) -> Layer:
    return Layer(sentence, re.compile("|".join(messages), re.IGNORECASE))


NO_SLOT = _layer("PostgreSQL had no connection left.", "too many clients already", "remaining connection slots")
NO_NAME = _layer("PostgreSQL's host could not be found by its name.", "could not translate host name")
REFUSED = _layer(
    "PostgreSQL refused the log-in.",
    "password authentication failed",
    "no pg_hba.conf entry",
    "no password supplied",
    "(?:peer|ident|gssapi|ldap|pam|radius|cert|certificate) authentication failed",
    r'FATAL: +(?:role|database) "[^"\n]{0,80}" does not exist',
    "authentication method requirement",
    "permission denied for database",
    "is not permitted to log in",
    "is not currently accepting connections",
    "SSL error",
    "server does not support SSL",
    "SSL required",
)
ENDED = _layer(
    "PostgreSQL ended the connection.",
    "server closed the connection",
    "terminating connection",
    "crash of another server process",
    "the database system is (?:shutting down|starting up|in recovery|not yet accepting)",
    "could not receive data from server",
    "could not send data to server",
    "perhaps the backend died",
    "PANIC: ",
)
AWAY = _layer(
    "PostgreSQL could not be reached from the driver.",
    "Connection refused",
    "timeout expired",
    "Connection timed out",
    "No route to host",
    "Network is unreachable",
    "Is the server running",
    "could not connect to server",
    "did not answer within",
)
NO_CLIENT = _layer("The pooler let no more clients in.", "no more connections allowed")
NO_SERVER_CONNECTION = _layer(
    "The pooler had no connection to the server in time.",
    "query_wait_timeout",
    "server login has been failing",
    "server_login_retry",
)
# Where nothing has begun yet, a later try may do better.
NO_CONNECTION = (NO_CLIENT, NO_SERVER_CONNECTION, NO_SLOT, NO_NAME, REFUSED, ENDED, AWAY)

# The first that matches is to blame: a server that has no room says so before what it brings down.
LAYERS = (
    _layer(
        "BenchHub may not change settings of the operating system there: its helper and the rule for sudo are missing.",
        "OS rule error: ",
    ),
    _layer("The operating system did not take a setting.", "OS setting error: "),
    _layer("The server did not take a setting.", "Server setting error: "),
    _layer("The load cannot go through the pooler.", "The check of the pooler failed"),
    NO_CLIENT,
    NO_SERVER_CONNECTION,
    _layer(
        "The disk of PostgreSQL's host is full.",
        r"(?:ERROR|FATAL|PANIC): [^\n]{0,300}(?:No space left on device|Disk quota exceeded)",
    ),
    _layer(
        "PostgreSQL's host ran out of memory.",
        r"(?:ERROR|FATAL|PANIC): +(?:out of memory|out of shared memory|could not resize shared memory)",
    ),
    NO_SLOT,
    NO_NAME,
    REFUSED,
    ENDED,
    AWAY,
    _layer(
        "A pooler mixed up prepared statements: it needs max_prepared_statements, or to pool by session.",
        r'prepared statement "[^"\n]{0,80}" (?:already exists|does not exist)',
    ),
    _layer("PostgreSQL refused a statement.", "(?-i:ERROR|FATAL): "),
    _layer("The account on the driver may write no larger files.", "File size limit exceeded", "File too large"),
    _layer("The driver's disk is full.", "No space left on device", "Disk quota exceeded"),
    _layer("The driver ran out of memory.", "out of memory", "Cannot allocate memory"),
    _layer(
        "The driver allows too few open files or processes.",
        "Too many open files",
        "Resource temporarily unavail",
        "Cannot fork",
    ),
)


def layer_of(text: str) -> Layer | None:
    """Return the layer that the messages blame; None where they blame none."""
    return next((layer for layer in LAYERS if layer.messages.search(text)), None)


def with_layer(reason: str) -> str:
    """Return the reason behind the sentence of the layer that its messages blame; as it is where they blame none."""
    layer = layer_of(reason)
    return f"{layer.sentence} {reason}" if layer else reason
