"""Bundles of a document: for each curve, the files with which its peak is measured again."""

from __future__ import annotations

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.settings import shown, shown_of_os
from benchhub.bench.models import Found, Run
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
            files = _files(rows[runs[entry.key]], facts)
        except (TypeError, ValueError, KeyError):
            continue  # planned by a tool or a release that is not here any more
        title = f"{entry.label}, run {runs[entry.key]} at its peak"
        bundles.append(nodes.bundle(f"repeat-{number}", title, files))
    return bundles


def _files(run: Run, facts: Found | None) -> dict[str, str]:
    """Return the files of a run with those settings alone that a published page shows."""
    configuration = run.system.configuration
    files = bundle.files(run, shown(facts.settings) if facts else None)
    files.pop(bundle.OS_SETTINGS, None)
    files |= bundle.os_settings_file(shown_of_os(configuration.os_settings))
    return {**files, bundle.CONFIGURATION: bundle.configuration(shown(configuration.settings))}
