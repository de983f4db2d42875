"""The page of an experiment: its runs, how far it is, and a section of curves and prices for each protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from benchhub.analysis.protocol.digest import labels
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.models.states import State
from benchhub.reports.curves import curves, figures, latencies, sweeps, verdicts
from benchhub.reports.models import Tag
from benchhub.reports.prices.queries import known
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import terms

from . import growth, notes, protocol, queries, runs_table
from .progress import progress


def context(shown: Experiment, asked: QueryDict) -> dict[str, Any]:
    rows, systems = queries.runs(shown), queries.systems(shown)
    runs, asked_terms = list(verdicts.with_counts(rows)), terms(asked)
    priced_by = known((system.hardware for system in systems), (asked_terms.day, asked_terms.today))
    found = groups(runs, systems)
    swept = sweeps.sweeps(shown, systems)
    return {
        "experiment": shown,
        "protocol": protocol.sentences(shown),
        "tags": list(Tag.objects.filter(experiment=shown)),
        "systems": systems,
        "listing": runs_table.listing(asked, shown, rows, systems),
        "progress": progress(runs),
        "growth": growth.shown(shown, runs),
        "added": _added(shown, runs),
        "sweeps": swept,
        "sweep_figure": sweeps.throughput_figure(swept),
        "sweep_latency": sweeps.latency_figure(swept),
        "compare_address": _compare_address(shown, asked),
        "sections": [_section(group, runs, table(group.curves, priced_by, asked_terms)) for group in found],
        "protocol_differences": _protocol_differences(found),
    }


def groups(runs: Sequence[Run], systems: Sequence[System]) -> list[curves.Group]:
    return curves.groups(runs, systems, latencies.of_runs(run.pk for run in runs if not run.rate_tps))


def _section(group: curves.Group, runs: Sequence[Run], prices: Table) -> dict[str, Any]:
    return {
        "group": group,
        "figure_id": f"figure-{group.number}",
        "figure": figures.throughput_figure(group.curves),
        "latency_id": f"latency-{group.number}",
        "latency": figures.latency_figure(group.curves),
        "kinds": curves.kinds(group.curves),
        "aside": sum(len(of.aside) for of in group.curves),
        "all_failed": all(run.state in (State.FAILED, State.LOST) for run in _measured(group, runs)),
        "notes": notes.notes(group, runs),
        "prices": prices,
    }


def _measured(group: curves.Group, runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.kind == Run.Kind.MEASURE and run.protocol_id == group.protocol_digest]


def _added(shown: Experiment, runs: Sequence[Run]) -> int:
    """Runs beyond the repeats of the plan; a plan that grows has none."""
    if shown.grows:
        return 0
    return sum(run.kind == Run.Kind.MEASURE and run.repeat > shown.repeats for run in runs)


def _compare_address(shown: Experiment, asked: QueryDict) -> str:
    compared = asked.copy()
    compared["experiment"] = str(shown.pk)
    return f"{reverse('compare')}?{compared.urlencode()}"


def _protocol_differences(groups: list[curves.Group]) -> list[str]:
    """Names of what keeps the experiment's systems apart; empty for one protocol, which is the rule."""
    if len(groups) < 2:
        return []
    return labels(curves.differences(queries.protocol_forms(group.protocol_digest for group in groups)))
