"""The document of a comparison: all that its page shows, and what a report needs beside that."""

from __future__ import annotations

from datetime import datetime

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.sharing.frozen.pricing import freeze
from benchhub.reports.tuning.series import Series

from . import answer, bundles, findings, names, prices, results, systems, tuning, typed


class NothingToPublishError(Exception):
    """There is no comparison at this address; the message is a sentence for people."""


def document(comparison: Comparison, title: str, remarks: str, at: datetime, release: str) -> Node:
    """Write a comparison down as of a time. Raises NothingToPublishError where its curves cannot be compared."""
    _require_publishable(comparison)
    bundle_nodes, series = bundles.of_comparison(comparison), tuning.series_of(comparison)
    typed_nodes = typed.of_comparison(comparison, title, remarks, bundle_nodes, series)
    return {
        "format": canonical.FORMAT,
        "version": canonical.VERSION,
        "kind": "comparison",
        "title": title,
        "summary": _summary(comparison),
        "taken_at": at.isoformat(timespec="seconds"),
        "release": release,
        "unit": comparison.unit,
        "sections": _sections(comparison, remarks, series),
        "tables": _tables(comparison, series),
        "bundles": bundle_nodes,
        "names": names.of_comparison(comparison, typed_nodes),
        "typed": typed_nodes,
        "source": {
            "query": comparison.state.query.urlencode(),
            "prices": prices.source(comparison),
            "pricing": freeze(comparison.pricing),
        },
    }


def _sections(comparison: Comparison, remarks: str, series: Series | None) -> list[Node]:
    return [
        answer.section(comparison.answer),
        results.curves(comparison),
        results.levels(comparison),
        *tuning.sections(series),
        *prices.sections(comparison.pricing),
        results.findings(comparison, remarks),
        *findings.loads(comparison),
        findings.section(comparison),
        *systems.sections(comparison),
    ]


def _tables(comparison: Comparison, series: Series | None) -> list[Node]:
    return [
        *results.tables(comparison),
        *tuning.tables(series),
        *findings.tables(comparison),
        *prices.tables(comparison.pricing),
        *systems.tables(comparison),
        *prices.of_panels([*comparison.load_panels, comparison.scalability], comparison.terms),
    ]


def _require_publishable(comparison: Comparison) -> None:
    if not comparison.is_whole:
        raise NothingToPublishError(" ".join(comparison.problems))
    if not comparison.curves:
        raise NothingToPublishError("Choose curves first: there is nothing to publish.")
    if comparison.refusal:
        raise NothingToPublishError(comparison.refusal)


def _summary(comparison: Comparison) -> str:
    """Write the text of a preview card: the verdict, and what it rests on."""
    return " ".join([f"{comparison.answer.verdict}.", *comparison.answer.sentences])
