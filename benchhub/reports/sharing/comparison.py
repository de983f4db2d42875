"""The document of a comparison: all that its page shows, and what a report needs beside that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import QueryDict

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.reports import comparable, compare_found, compare_page, compare_queries, findings, latencies
from benchhub.reports.compare_page import Chosen
from benchhub.reports.compare_queries import Key
from benchhub.reports.prices.queries import known
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import terms

from . import bundles, comparison_findings, comparison_prices, comparison_results, comparison_systems, names


class NothingToPublishError(Exception):
    """There is no comparison at this address; the message is a sentence for people."""


def document(title: str, remarks: str, state: QueryDict, keys: Sequence[Key], at: datetime, release: str) -> Node:
    """Raises NothingToPublishError where these curves cannot be compared."""
    chosen, declared = _chosen(keys)
    baseline = next((one for one in chosen if one.key == state.get("baseline")), chosen[0])
    asked = terms(state, at.date())
    hardware = [one.of.system.hardware for one in chosen]
    priced = table([one.of for one in chosen], known(hardware, (asked.day, asked.today)), asked)
    found = compare_found.found(chosen)
    said = findings.context(chosen, baseline, state.get(findings.CEILING, ""))
    usual, asides, about = comparison_prices.panels(priced, state, [one.key for one in chosen])
    beside = [*comparison_findings.load_panels(chosen, baseline), said["law"]]
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
            comparison_results.findings(chosen, baseline, priced, said, remarks),
            comparison_results.curves(chosen),
            comparison_results.levels(chosen, baseline),
            *comparison_findings.loads(chosen, baseline),
            comparison_findings.section(said, baseline),
            *comparison_prices.sections(priced, usual, asides, about),
            *comparison_systems.sections(chosen, found, declared),
        ],
        "tables": [
            *comparison_results.tables(chosen, baseline),
            *comparison_findings.tables(said, baseline),
            *comparison_prices.tables(priced),
            *comparison_systems.tables(chosen, found),
            *comparison_prices.of_panels([*beside, *usual, *asides], asked),
        ],
        "bundles": bundles.of_comparison(chosen, found),
        "names": names.of_comparison(chosen, priced, found),
        "source": {"query": state.urlencode(), "prices": comparison_prices.source(chosen, priced)},
    }


def _chosen(keys: Sequence[Key]) -> tuple[list[Chosen], list[Node]]:
    """The curves, and where their protocols differ, what somebody declared of that."""
    rows = compare_queries.chosen(keys)
    runs = compare_queries.runs(keys)
    chosen, problems = compare_page.choose(rows, runs, latencies.of_runs(run.pk for run in runs))
    if problems or len(rows) < len(keys):
        raise NothingToPublishError(" ".join(problems) or "Some of these curves are not there any more.")
    if not chosen:
        raise NothingToPublishError("Choose curves first: there is nothing to publish.")
    groups = compare_page.groups(chosen)
    if len(groups) < 2:
        return chosen, []
    forms = compare_queries.protocol_forms(group[0].of.curve.protocol_digest for group in groups)
    if not (found := comparable.declared(groups)):
        raise NothingToPublishError(compare_page.refusal(groups, forms))
    differing = compare_page.differing(groups, forms)
    return comparable.as_one(chosen), comparison_systems.declared([one.reason for one in found], groups, differing)


def _summary(chosen: Sequence[Chosen], baseline: Chosen, priced: Table) -> str:
    """What a preview card says: the first thing that was found, and the lowest price."""
    others = [compare_page.sentences(one, baseline) for one in chosen if one is not baseline]
    said: list[Any] = [others[0][0]] if others else [compare_page.alone(chosen[0], is_read_only=True)]
    return " ".join([*said, *([priced.lead] if priced.lead else [])])
