"""Names in the texts of a document that may have to be hidden, each with its alias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.addresses import forms
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.redaction import is_ordinary, names_in
from benchhub.bench.models import System
from benchhub.catalog.models import Host, Instance
from benchhub.reports.comparison.comparison import Comparison

from .offers import discount_texts, price_texts
from .systems import OF_VENDORS

# Accounts, folders and addresses that are on every machine give nobody away.
COMMON_ACCOUNTS = frozenset({"", "postgres", "root"})
COMMON_FOLDERS = (
    "/usr/bin",
    "/usr/local/bin",
    "/usr/lib/postgresql",
    "/dev/",
    "/proc",
    "/sys",
    "/run/",
    "/boot",
    "/tmp",  # nosec B108
)
# What a price without a licence is called unless somebody calls it otherwise.
UNLICENSED = "Hardware only"
EVERYWHERE = frozenset({"localhost", "127.0.0.1", "::1"})
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PORT_WORDS = (
    *("port", "port=", "port:", "port is", "port no.", "port no", "port number", "port #", "ports", "-p"),
    *("listens on", "listening on", "listen on"),
)
PORT_ALIAS = ": port"
LAST_MINUTE = 59  # a colon and two digits are part of a time


def of_comparison(comparison: Comparison, typed: Iterable[Node]) -> list[Node]:
    """Return the names of hosts, instances, addresses, machines, licences, prices and vendors in a comparison.

    Of hosts that are of none of its systems, those in the texts that were typed are among them.
    """
    systems = [entry.system for entry in comparison.entries]
    pks = [system.pk for system in systems]
    hosts = list(Host.objects.filter(Q(instances__system__in=pks) | Q(system__in=pks)).distinct().order_by("pk"))
    instances = list(dict.fromkeys(system.instance for system in systems))
    machines = list(dict.fromkeys(machine for system in systems for machine in system.machines))
    models = comparison.prices.price_book.licence_models
    licences = [model for model in models if model.is_licensed]
    free = [model for model in models if not model.is_licensed and model.name != UNLICENSED]
    return _without_repeats(
        [
            *_aliases("host", "host", ([host.name, _short(host.name), _short(host.address)] for host in hosts)),
            *_aliases("host", "instance", ([instance.name] for instance in instances)),
            *_aliases("host", "name", ([name, _short(name)] for system in systems for name in _former_names(system))),
            *_aliases("host", "account", ([account] for account in _accounts(hosts, instances))),
            *_aliases("host", "folder", ([folder] for folder in _folders(comparison, hosts, instances))),
            *_aliases("address", "address", map(_spellings, _addresses(hosts, instances))),
            *_others(hosts, typed),
            *(nodes.name("address", *texts) for port in _ports(hosts, instances) for texts in _port_texts(port)),
            *_aliases("vendor", "machine", ([machine.name, machine.processor] for machine in machines)),
            *_aliases("vendor", "other machine", ([name] for system in systems for name in _former_machines(system))),
            *_aliases("vendor", "disks", ([machine.disks] for machine in machines)),
            *_aliases("vendor", "licence", ([model.name, model.product] for model in licences)),
            *_aliases("vendor", UNLICENSED, ([model.name, model.product] for model in free)),
            *_aliases("vendor", "price", price_texts(comparison.prices)),
            *_aliases("discount", "discount", discount_texts(comparison.prices)),
            *_aliases("vendor", "vendor", ([text] for row in comparison.facts.values() for text in _made_by(row.host))),
        ]
    )


def _others(hosts: Sequence[Host], typed: Iterable[Node]) -> Iterator[Node]:
    """Yield the names and addresses of all other hosts, of those that a typed text holds."""
    others = Host.objects.exclude(pk__in=[host.pk for host in hosts]).order_by("pk")
    rows = list(others.values_list("name", "address"))
    text = "\n".join(node["text"] for node in typed)
    spellings = (part for row in rows for name in row for part in (name, _short(name)) if part not in EVERYWHERE)
    held = set(names_in(text, spellings))
    names = (
        [part for part in (name, _short(name), _short(address)) if not is_ordinary(part)] for name, address in rows
    )
    yield from _aliases("host", "other host", (parts for parts in names if not held.isdisjoint(parts)))
    yield from _aliases("address", "other address", (_spellings(address) for _, address in rows if address in held))


def _aliases(about: str, word: str, groups: Iterable[Sequence[str]]) -> Iterator[Node]:
    """Yield one alias for all the names of a thing."""
    for number, names in enumerate(groups):
        turn, place = divmod(number, len(LETTERS))
        alias = f"{word} {LETTERS[place]}{turn + 1 if turn else ''}"  # A to Z, then A2, B2 and so on
        yield from (nodes.name(about, name, alias) for name in names if name)


def _former_names(system: System) -> list[str]:
    """Return the names of hosts and instance as they were when the system was first planned."""
    return [str(system.description.get(field) or "") for field in ("instance", "server", "driver")]


def _former_machines(system: System) -> list[str]:
    """Return the names of the machines of server and pooler as they were when the system was first planned."""
    hardware, pooler = (system.description.get(field) for field in ("hardware", "pooler"))
    own, beside = (part if isinstance(part, Mapping) else {} for part in (hardware, pooler))
    return [str(own.get("name") or ""), str(beside.get("machine") or "")]


def _short(address: str) -> str:
    """Return db1 of db1.example.org; empty for a number or a name without dots."""
    first, _, domain = address.partition(".")
    return first if domain and not first.isdecimal() else ""


def _addresses(hosts: Sequence[Host], instances: Sequence[Instance]) -> list[str]:
    """Return each address once, without those that are folders of sockets."""
    texts = [*(host.address for host in hosts), *(instance.address for instance in instances)]
    texts += [instance.pooler_address for instance in instances]
    return list(dict.fromkeys(text for text in texts if text and text[:1] != "/" and text not in EVERYWHERE))


def _spellings(address: str) -> list[str]:
    return [address, _short(address), *forms(address)]


def _accounts(hosts: Sequence[Host], instances: Sequence[Instance]) -> list[str]:
    accounts = [*(host.username for host in hosts), *(instance.username for instance in instances)]
    return [account for account in dict.fromkeys(accounts) if account not in COMMON_ACCOUNTS]


def _folders(comparison: Comparison, hosts: Sequence[Host], instances: Sequence[Instance]) -> list[str]:
    """Return folders that are of one host's own: of data, programs, sockets, work, and where its disks are mounted."""
    texts = [
        *(host.work_directory for host in hosts),
        *(text for host in hosts for text in host.bin_directories.split()),
    ]
    texts += [text for instance in instances for text in (instance.data_directory, instance.bin_directory)]
    texts += [instance.address for instance in instances if instance.address[:1] == "/"]
    texts += [instance.pooler_address for instance in instances if instance.pooler_address[:1] == "/"]
    texts += [entry.experiment.client_bin_directory for entry in comparison.entries]
    texts += [text for row in comparison.facts.values() for text in _mounted(row.host)]
    return [text for text in dict.fromkeys(texts) if text.count("/") > 1 and not text.startswith(COMMON_FOLDERS)]


def _mounted(facts: Any) -> Iterator[str]:
    """Yield the folders under which a probe found file systems."""
    for host in facts.values() if isinstance(facts, Mapping) else ():
        mounts = host.get("filesystems") if isinstance(host, Mapping) else None
        for mount in mounts if isinstance(mounts, list) else ():
            yield str(mount.get("folder", "")) if isinstance(mount, Mapping) else ""


def _ports(hosts: Sequence[Host], instances: Sequence[Instance]) -> list[int]:
    poolers = (instance.pooler_port for instance in instances if instance.pooler)
    return list(dict.fromkeys([*(host.port for host in hosts), *(instance.port for instance in instances), *poolers]))


def _port_texts(port: int) -> Iterator[tuple[str, str]]:
    """Yield the ways to write a port, each with its alias: a bare number may be anything else."""
    yield from ((f"{word} {port}", "port") for word in PORT_WORDS)
    yield from ((text, "port") for text in (f"{port}/tcp", f"tcp/{port}", f".s.PGSQL.{port}"))
    if port > LAST_MINUTE:
        yield f":{port}", PORT_ALIAS


def _made_by(value: Any) -> Iterator[str]:
    """Yield whatever a probe found under a name that says who made something."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in OF_VENDORS and isinstance(inner, str):
                yield inner
            else:
                yield from _made_by(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _made_by(inner)


def _without_repeats(names: Iterable[Node]) -> list[Node]:
    by_name: dict[tuple[str, str], Node] = {}
    for name in names:
        by_name.setdefault((name["about"], name["name"].casefold()), name)
    return list(by_name.values())
