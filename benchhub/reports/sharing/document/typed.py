"""What people typed, or hosts sent, freely: whoever publishes it reads this first, as no rule knows all of it."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.bench.run_page import bundle
from benchhub.reports.comparison.comparison import Comparison


def of_comparison(comparison: Comparison, title: str, remarks: str, bundles: list[Node]) -> list[Node]:
    """Return each text once, with where it stands."""
    places: dict[str, str] = {}
    for where, text in (*_texts(comparison, title, remarks), *_scripts(bundles)):
        places.setdefault(text, where)
    return [nodes.typed(where, text) for text, where in places.items()]


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


def _scripts(bundles: list[Node]) -> Iterator[tuple[str, str]]:
    for node in bundles:
        for file in node["files"]:
            if file["name"] in (bundle.WORKLOAD, bundle.CONFIGURATION):
                yield f"{file['name']} of {node['title']}", file["text"]
