"""The document of a comparison: all that its page shows, and what a report needs beside that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import QueryDict

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports.comparison import comparison, findings
from benchhub.reports.comparison import declared as comparison_declared
from benchhub.reports.comparison import environment as comparison_environment
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison.comparison import Chosen
from benchhub.reports.comparison.queries import Key
from benchhub.reports.curves import latencies
from benchhub.reports.prices.queries import known
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import terms

from . import bundles, names, prices, results, systems
from . import findings as document_findings


class NothingToPublishError(Exception):
    """There is no comparison at this address; the message is a sentence for people."""


def document(title: str, remarks: str, state: QueryDict, keys: Sequence[Key], at: datetime, release: str) -> Node:
    """Raises NothingToPublishError where these curves cannot be compared."""
    chosen, declared = _chosen(keys)
    baseline = next((one for one in chosen if one.key == state.get("baseline")), chosen[0])
    asked = terms(state, at.date())
    hardware = [one.of.system.hardware for one in chosen]
    priced = table([one.of for one in chosen], known(hardware, (asked.day, asked.today)), asked)
    found = comparison_environment.found(chosen)
    said = findings.context(chosen, baseline, state.get(findings.CEILING, ""))
    usual, asides, about = prices.panels(priced, state, [one.key for one in chosen])
    beside = [*document_findings.load_panels(chosen, baseline), said["law"]]
    return {
        "format": canonical.FORMAT,
        "version": canonical.VERSION,
        "kind": "comparison",
        "title": title,
        "summary": _summary(chosen, baseline, priced),
        "taken_at": at.isoformat(timespec="seconds"),
        "release": release,
        "unit": baseline.of.curve.unit,
        "sections": [
            results.findings(chosen, baseline, priced, said, remarks),
            results.curves(chosen),
            results.levels(chosen, baseline),
            *document_findings.loads(chosen, baseline),
            document_findings.section(said, baseline),
            *prices.sections(priced, usual, asides, about),
            *systems.sections(chosen, found, declared),
        ],
        "tables": [
            *results.tables(chosen, baseline),
            *document_findings.tables(said, baseline),
            *prices.tables(priced),
            *systems.tables(chosen, found),
            *prices.of_panels([*beside, *usual, *asides], asked),
        ],
        "bundles": bundles.of_comparison(chosen, found),
        "names": names.of_comparison(chosen, priced, found),
        "source": {"query": state.urlencode(), "prices": prices.source(chosen, priced)},
    }


def _chosen(keys: Sequence[Key]) -> tuple[list[Chosen], list[Node]]:
    """The curves, and where their protocols differ, what somebody declared of that."""
    rows = comparison_queries.chosen(keys)
    runs = comparison_queries.runs(keys)
    chosen, problems = comparison.choose(rows, runs, latencies.of_runs(run.pk for run in runs))
    if problems or len(rows) < len(keys):
        raise NothingToPublishError(" ".join(problems) or "Some of these curves are not there any more.")
    if not chosen:
        raise NothingToPublishError("Choose curves first: there is nothing to publish.")
    groups = comparison.groups(chosen)
    if len(groups) < 2:
        return chosen, []
    forms = comparison_queries.protocol_forms(group[0].of.curve.protocol_digest for group in groups)
    if not (found := comparison_declared.declared(groups)):
        raise NothingToPublishError(comparison.refusal(groups, forms))
    differing = comparison.differing(groups, forms)
    return comparison_declared.as_one(chosen), systems.declared([one.reason for one in found], groups, differing)


def _summary(chosen: Sequence[Chosen], baseline: Chosen, priced: Table) -> str:
    """What a preview card says: the first thing that was found, and the lowest price."""
    others = [comparison.sentences(one, baseline) for one in chosen if one is not baseline]
    said: list[Any] = [others[0][0]] if others else [comparison.alone(chosen[0], is_read_only=True)]
    return " ".join([*said, *([priced.lead] if priced.lead else [])])
