"""Warn of loads that a pooler, pooling as it was last seen to, refuses or holds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchhub.analysis.words import count

SESSION, STATEMENT = "session", "statement"
INSTANCE_TLS = "choose another TLS to the pooler at the instance."
TLS_ALONE = ("require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True)
class Pooled:
    """A load through a pooler: how that pools, as its console said when it was tested, and what the load asks of it.

    `settings` are empty where nobody has seen them. `path` is the system's: that from the driver to the server.
    `is_on_driver`: the driver reaches the pooler without a network. `begins_together`: the load generator waits until
    each client has a session.
    """

    kind: str
    instance: str
    settings: Mapping[str, str]
    clients: int
    prepares: bool = False
    path: str = "network"
    is_on_driver: bool = False
    begins_together: bool = False

    @property
    def mode(self) -> str:
        return self.settings.get("pool_mode", "")

    @property
    def has_tls(self) -> bool:
        """Tell whether the load asks for TLS: as the instance says, or as to the server, but not on the driver."""
        choice = self.settings.get("tls", "")
        return choice == "require" if choice else self.path == "tls" and not self.is_on_driver

    @property
    def name(self) -> str:
        return f"{self.kind} in front of {self.instance}"

    def number(self, name: str) -> int:
        """Return a setting that is a number; 0 where it is not known."""
        text = self.settings.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    @property
    def pool_size(self) -> int:
        return self.number("pool_size") or self.number("default_pool_size")

    @property
    def sessions(self) -> int:
        """Return how many sessions of the server the clients can take at most."""
        return min(self.clients, self.pool_size or self.clients)


def mode_unseen(load: Pooled) -> str:
    if load.mode:
        return ""
    return f"Nobody has seen how {load.name} pools: test the instance, so that its systems are told apart by it."


def prepared_without_support(load: Pooled) -> str:
    if not load.prepares or load.mode in ("", SESSION) or load.number("max_prepared_statements"):
        return ""
    return (
        f"The load prepares statements, and {load.name} pools by {load.mode} without max_prepared_statements: its runs "
        "would fail. Set that there (from 1.21 on) and test the instance again, let it pool by session, or choose a "
        "load that prepares none."
    )


def transactions_refused(load: Pooled) -> str:
    if load.mode != STATEMENT:
        return ""
    return f"{load.name} pools by statement: it refuses transactions of several statements."


def beyond_clients(load: Pooled) -> str:
    most = load.number("max_client_conn")
    if not most or load.clients <= most:
        return ""
    return f"{count(load.clients, 'client')} are more than {load.name} lets in: its max_client_conn is {most:,}."


def path_disagrees(load: Pooled) -> str:
    """Compare the path of the system, by which its curves are known, with the way that the load really takes."""
    if not load.is_on_driver and load.path in ("socket", "loopback"):
        return f"{load.name} is on another machine, so the load crosses a network: choose the path network."
    if load.is_on_driver and load.path == "tls" and load.settings.get("server_tls_sslmode") == "disable":
        return f"{load.name} goes on to the server without TLS: its server_tls_sslmode is disable. Choose another path."
    return ""


def tls_refused(load: Pooled) -> str:
    """Say where the load would be refused because of TLS."""
    mode = load.settings.get("client_tls_sslmode", "")
    if load.has_tls and mode == "disable":
        return f"{load.name} takes no TLS, so runs would fail: change its client_tls_sslmode, or {INSTANCE_TLS}"
    if not load.has_tls and mode in TLS_ALONE:
        return f"{load.name} takes nothing but TLS, so runs would fail: {INSTANCE_TLS}"
    return ""


def sessions_awaited(load: Pooled) -> str:
    if load.mode != SESSION or load.clients <= load.sessions:
        return ""
    sessions = f"{load.name} pools by session, {load.pool_size:,} at a time: "
    if load.begins_together:
        return (
            f"{sessions}the load generator begins when each of {count(load.clients, 'client')} has one, so runs would "
            "fail. Plan fewer clients, or give it a larger pool."
        )
    return (
        f"{sessions}of {count(load.clients, 'client')} the others wait until those have ended, so higher levels "
        "measure no more clients."
    )


WARNINGS: tuple[Callable[[Pooled], str], ...] = (
    mode_unseen,
    prepared_without_support,
    transactions_refused,
    beyond_clients,
    sessions_awaited,
    path_disagrees,
    tls_refused,
)


def warnings(load: Pooled) -> Iterator[str]:
    yield from filter(None, (warning(load) for warning in WARNINGS))
