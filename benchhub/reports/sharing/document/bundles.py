"""Bundles of a document: for each curve, the files with which its peak is measured again."""

from __future__ import annotations

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.bench.run_page import bundle
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison.comparison import Comparison


def of_comparison(comparison: Comparison) -> list[Node]:
    """Return a bundle for each curve whose run has a spec that this release can read."""
    runs = {entry.key: entry.curve.peak.level.runs[0].run for entry in comparison.entries}
    rows = comparison_queries.whole_runs(runs.values())
    bundles = []
    for number, entry in enumerate(comparison.entries, start=1):
        facts = comparison.facts.get(entry.key)
        try:
            files = bundle.files(rows[runs[entry.key]], facts.settings if facts else None)
        except (TypeError, ValueError, KeyError):
            continue  # planned by a tool or a release that is not here any more
        title = f"{entry.label}, run {runs[entry.key]} at its peak"
        bundles.append(nodes.bundle(f"repeat-{number}", title, files))
    return bundles
