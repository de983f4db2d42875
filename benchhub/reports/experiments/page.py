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
from benchhub.reports.prices.queries import price_book
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import terms

from . import growth, notes, protocol, queries, runs_table
from .progress import progress


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    rows, systems = queries.runs(experiment), queries.systems(experiment)
    runs, price_terms = list(verdicts.with_counts(rows)), terms(query)
    prices = price_book((system.hardware for system in systems), (price_terms.day, price_terms.today))
    curve_groups = groups(runs, systems)
    system_sweeps = sweeps.sweeps(experiment, systems)
    return {
        "experiment": experiment,
        "protocol": protocol.sentences(experiment),
        "tags": list(Tag.objects.filter(experiment=experiment)),
        "systems": systems,
        "listing": runs_table.listing(query, experiment, rows, systems),
        "progress": progress(runs),
        "growth": growth.shown(experiment, runs),
        "added": _added(experiment, runs),
        "sweeps": system_sweeps,
        "sweep_figure": sweeps.throughput_figure(system_sweeps),
        "sweep_latency": sweeps.latency_figure(system_sweeps),
        "compare_address": _compare_address(experiment, query),
        "sections": [_section(group, runs, table(group.curves, prices, price_terms)) for group in curve_groups],
        "protocol_differences": _protocol_differences(curve_groups),
    }


def groups(runs: Sequence[Run], systems: Sequence[System]) -> list[curves.Group]:
    return curves.groups(runs, systems, latencies.of_runs(run.pk for run in runs if not run.rate_tps))


def _section(group: curves.Group, runs: Sequence[Run], prices: Table) -> dict[str, Any]:
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE and run.protocol_id == group.protocol_digest]
    return {
        "group": group,
        "figure_id": f"figure-{group.number}",
        "figure": figures.throughput_figure(group.curves),
        "latency_id": f"latency-{group.number}",
        "latency": figures.latency_figure(group.curves),
        "kinds": curves.kinds(group.curves),
        "aside": sum(len(system_curve.aside) for system_curve in group.curves),
        "all_failed": all(run.state in (State.FAILED, State.LOST) for run in measuring),
        "notes": notes.notes(group, runs),
        "prices": prices,
    }


def _added(experiment: Experiment, runs: Sequence[Run]) -> int:
    """Count the runs beyond the repeats of the plan; a plan that grows has none."""
    if experiment.grows:
        return 0
    return sum(run.kind == Run.Kind.MEASURE and run.repeat > experiment.repeats for run in runs)


def _compare_address(experiment: Experiment, query: QueryDict) -> str:
    comparison_query = query.copy()
    comparison_query["experiment"] = str(experiment.pk)
    return f"{reverse('compare')}?{comparison_query.urlencode()}"


def _protocol_differences(groups: list[curves.Group]) -> list[str]:
    """Name the fields that keep the systems apart; empty for one protocol, which is the rule."""
    if len(groups) < 2:
        return []
    return labels(curves.differences(queries.protocol_forms(group.protocol_digest for group in groups)))
