"""Names that stand in the texts of a document and may have to be hidden, each with what stands in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.catalog.models import Host, LicenceModel
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.prices.table import Table

from .systems import OF_VENDORS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def of_comparison(comparison: Comparison) -> list[Node]:
    """Return the names of hosts, instances, addresses, machines, licences, prices and vendors in a comparison."""
    systems = [entry.system for entry in comparison.entries]
    pks = [system.pk for system in systems]
    hosts = list(Host.objects.filter(Q(instances__system__in=pks) | Q(system__in=pks)).distinct().order_by("pk"))
    instances = list(dict.fromkeys(system.instance for system in systems))
    machines = list(dict.fromkeys(system.hardware for system in systems))
    models = comparison.prices.price_book.licence_models
    licences = [model for model in models if model.metric != LicenceModel.Metric.NONE]
    return _without_repeats(
        [
            *_named("host", "host", ([host.name, _short(host.name), _short(host.address)] for host in hosts)),
            *_named("host", "instance", ([instance.name] for instance in instances)),
            *_named("address", "address", ([host.address] for host in hosts)),
            *_named(
                "address", "address", ([instance.address] for instance in instances if instance.address[:1] != "/")
            ),
            *_named("vendor", "machine", ([machine.name, machine.processor] for machine in machines)),
            *_named("vendor", "licence", ([model.name, model.product] for model in licences)),
            *_named("vendor", "price", ([*texts] for texts in _priced(comparison.prices))),
            *_named("vendor", "vendor", ([text] for row in comparison.facts.values() for text in _made_by(row.host))),
        ]
    )


def _named(about: str, word: str, groups: Iterable[Sequence[str]]) -> Iterator[Node]:
    """One alias for all the names of a thing."""
    for number, names in enumerate(groups):
        yield from (nodes.name(about, name, f"{word} {_letter(number)}") for name in names if name)


def _letter(number: int) -> str:
    """A to Z, then A2, B2 and so on."""
    turn, place = divmod(number, len(LETTERS))
    return LETTERS[place] + (str(turn + 1) if turn else "")


def _short(address: str) -> str:
    """db1 of db1.example.org; nothing of a number or of what has no dots."""
    first, _, rest = address.partition(".")
    return first if rest and not first.isdecimal() else ""


def _priced(priced: Table) -> Iterator[list[str]]:
    for row in priced.price_book.rows:
        yield [row.description, row.source, row.part_number]
    for sheets in (priced.price_book.sheets or {}).values():
        for sheet in sheets:
            yield [sheet.name, sheet.source]


def _made_by(value: Any) -> Iterator[str]:
    """Whatever a probe found under a name that says who made something."""
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
