"""For each curve the files with which its peak is measured again, as part of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.bench.models import Found
from benchhub.bench.run_page import bundle
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison.comparison import Chosen


def of_comparison(chosen: Sequence[Chosen], facts: Mapping[str, Found]) -> list[Node]:
    """One for each curve whose run has a spec that this release can read."""
    runs = {one.key: one.of.curve.peak.level.runs[0].run for one in chosen}
    rows = comparison_queries.whole_runs(runs.values())
    found = []
    for number, one in enumerate(chosen, start=1):
        row = facts.get(one.key)
        try:
            files = bundle.files(rows[runs[one.key]], row.settings if row else None)
        except (TypeError, ValueError, KeyError):
            continue  # planned by a tool or a release that is not here any more
        title = f"{one.label}, run {runs[one.key]} at its peak"
        found.append(nodes.bundle(f"repeat-{number}", title, files))
    return found
