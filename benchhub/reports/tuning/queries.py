"""Queries of tuning series; their number does not grow with the steps or the runs."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from benchhub.bench.models import TuningSeries, TuningStep, TuningTreatment
from benchhub.reports.comparison import entries, queries
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.prices.queries import PriceBook, price_book
from benchhub.reports.prices.terms import Terms


def all_series() -> QuerySet[TuningSeries]:
    """Return the series for a list, each with its progress."""
    return TuningSeries.objects.with_progress().select_related("instance", "experiment__workload", "baseline")


def series() -> QuerySet[TuningSeries]:
    """Return the series with all that its page shows of it alone."""
    related = ("instance__host", "experiment__workload", "experiment__client_build", "baseline", "created_by")
    return TuningSeries.objects.with_progress().select_related(*related)


def steps(row: TuningSeries) -> tuple[TuningStep, ...]:
    return tuple(row.steps.all())


def treatments(row: TuningSeries) -> tuple[TuningTreatment, ...]:
    return tuple(row.treatments.select_related("system__configuration", "system__hardware", "system__pooler_hardware"))


def curves(row: TuningSeries, treatments: Sequence[TuningTreatment]) -> dict[int, Entry]:
    """Return the curves of the treatments that have results, by the key of their system."""
    keys = [(row.experiment_id, treatment.system_id) for treatment in treatments]
    built, _ = entries.build(queries.rows(keys), queries.runs(keys))
    return {entry.system.pk: entry for entry in built}


def prices_of(curves: Sequence[Entry], terms: Terms) -> PriceBook:
    return price_book([machine for entry in curves for machine in entry.system.machines], (terms.day, terms.today))
