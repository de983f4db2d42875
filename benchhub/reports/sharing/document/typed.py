"""What people typed, or hosts sent, freely: whoever publishes it reads this first, as no rule knows all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.bench.run_page import bundle
from benchhub.reports.comparison.answers.systems import Side
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.tuning.series import Series

from . import systems

# What says nothing of its own, whoever sends it.
TELLS_NOTHING = re.compile(r"(?:-?[0-9][0-9.,]*(?: ?(?:[kKMGT]?i?B|[mµ]?s|min|MHz|%))?|on|off|yes|no|not read|–|)")


def of_comparison(
    comparison: Comparison, title: str, remarks: str, bundles: list[Node], series: Series | None
) -> list[Node]:
    """Return each text once, with where it stands."""
    places: dict[str, str] = {}
    own = [
        *_texts(comparison, title, remarks),
        *(("Name of a step", name) for name in (series.names if series else ())),
    ]
    texts = (*own, *_priced(comparison), *_sent(comparison), *_of_bundles(bundles))
    for where, text in texts:
        places.setdefault(text, where)
    return [nodes.typed(where, text) for text, where in places.items() if text]


def _texts(comparison: Comparison, title: str, remarks: str) -> Iterator[tuple[str, str]]:
    yield "Title", title
    yield from (("Remarks", part.strip()) for part in remarks.replace("\r", "").split("\n\n") if part.strip())
    yield from (("Why unlike protocols are compared", row.reason) for row in comparison.declarations)
    yield from (("What hosts say of themselves", text) for text in comparison.environment_remarks)
    versions = (str(row.server.get("version") or "") for row in comparison.facts.values())
    yield from (("What servers say of themselves", text) for text in versions if text)
    for entry in comparison.entries:
        yield "Name of a curve", entry.label
        yield "Name of an experiment", entry.experiment.name
        yield "Name of a workload", str(entry.experiment.workload)
        yield "Name of a configuration", str(entry.system.configuration)
        yield from (("Where it was imported from", source) for source in entry.sources)


def _priced(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield from (("Names of machines", text) for text in _by_curve(comparison.hardware, range(len(comparison.entries))))
    for row in comparison.prices.price_book.rows:
        yield "Source of a price", " ".join(filter(None, (row.description, row.source, row.part_number)))
    for model in comparison.prices.price_book.licence_models:
        yield "Name of a licence", " ".join(dict.fromkeys((model.name, model.product)))


def _sent(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what hosts, servers and load generators sent and a page shows: a text for each curve, and its doubts."""
    curves = range(len(comparison.entries))
    yield from (("What was found on hosts", text) for text in _by_curve(systems.found_sides(comparison), curves))
    yield from (("Settings of servers", text) for text in _by_curve(systems.setting_sides(comparison), curves))
    for entry in comparison.entries:
        yield "What a build says of itself", f"{entry.system.build} {entry.system.build.configure_options}".strip()
        yield from (("A doubt", text) for level in entry.curve.levels for text in level.doubts)


def _by_curve(sides: Iterable[Side], curves: Iterable[int]) -> Iterator[str]:
    """Yield by curve what the fields say of it, without those that are no more than a number or a switch."""
    rows = list(sides)
    for curve in curves:
        pairs = [(side.name, str(side.values[curve])) for side in rows]
        yield "; ".join(f"{name} {value}" for name, value in pairs if not TELLS_NOTHING.fullmatch(value))


def _of_bundles(bundles: list[Node]) -> Iterator[tuple[str, str]]:
    for node in bundles:
        for file in node["files"]:
            where = f"{file['name']} of {node['title']}"
            if file["name"] in (bundle.WORKLOAD, bundle.CONFIGURATION):
                yield where, file["text"]
            elif file["name"] == bundle.MEASURED:
                yield from ((where, text) for text in _strings(json.loads(file["text"])))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for inner in value.items() for text in _strings(list(inner)))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _strings(inner))
    elif isinstance(value, str):
        yield value
