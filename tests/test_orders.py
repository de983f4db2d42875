"""Every order that a list over years of runs offers has an index: nothing is sorted as a whole for one page.

The plans are of a few rows, with scans and sorts forbidden: where one remains, there is no way around it.
"""

import pytest
from django.db import connection
from django.http import QueryDict

from benchhub.api.bench.experiments import Experiments
from benchhub.api.bench.runs import Runs
from benchhub.api.reports.curves import Curves
from benchhub.bench.models import Experiment, ExperimentSystem, Run
from benchhub.reports.comparison import picking
from benchhub.reports.comparison import queries as curves
from benchhub.reports.experiments import queries, views
from benchhub.ui.listing import Listing

pytestmark = pytest.mark.django_db
LISTS = {
    "experiments": (queries.experiments, views.EXPERIMENT_COLUMNS, "-created"),
    "curves": (curves.finished, picking.COLUMNS, "-date"),
}
API_LISTS = {
    "runs": (Runs, Run.objects.all()),
    "experiments": (Experiments, Experiment.objects.all()),
    "curves": (Curves, Curves.queryset),
}
SIGNS = ("", "-")


@pytest.fixture(autouse=True)
def nothing_is_scanned(db):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off")


def sorts(rows):
    """Return the lines of the plan that sort all rows; an incremental sort goes on from an index."""
    lines = rows.explain().splitlines()
    return [line for line in lines if "Sort " in line and "Incremental Sort" not in line and "Sort Key" not in line]


def orders(columns):
    return [sign + column.name for column in columns if column.order for sign in SIGNS]


@pytest.mark.parametrize("name", LISTS)
def test_pages_of_a_list_are_found_by_an_index_in_each_order(name):
    rows, columns, default = LISTS[name]
    for sort in orders(columns):
        listing = Listing(QueryDict(f"sort={sort}"), rows(), columns, default=default)
        assert listing.sort == sort
        assert sorts(listing.page.paginator.keys.values("pk")[:50]) == [], sort


@pytest.mark.parametrize("name", API_LISTS)
def test_pages_of_the_api_are_found_by_an_index_in_each_order(name):
    view, rows = API_LISTS[name]
    for field in view.ordering_fields:
        for sign in SIGNS:
            ordered = rows.order_by(f"{sign}{field}", f"{sign}pk")
            assert sorts(ordered[:51]) == [], f"{sign}{field}"


def test_what_grows_and_what_stands_still_is_found_by_an_index_among_all_experiments():
    assert "experiment_growing" in Experiment.objects.growing().explain()
    assert "experiment_paused" in Experiment.objects.left().filter(paused_at__isnull=False).explain()


def test_experiments_in_the_queue_are_looked_up_by_their_keys():
    """A condition on each experiment is a subplan, of which the database asks for all that there are."""
    plan = Experiment.objects.waiting().explain()
    assert "run_queue" in plan or "run_unfinished" in plan
    assert "SubPlan" not in plan


def test_the_api_filters_runs_by_nothing_that_has_no_index():
    """Most runs that match stand on the first page anyway; where few do, an index finds them."""
    indexed = {index.fields[0].removeprefix("-") for index in Run._meta.indexes if index.fields}
    indexed |= {field.name for field in Run._meta.concrete_fields if field.db_index or field.unique}
    assert set(Runs.filterset_fields) - indexed == set()


def test_an_order_without_an_index_is_found_out():
    assert sorts(Experiment.objects.order_by("remark")[:50])
    assert sorts(ExperimentSystem.objects.order_by("experiment__remark")[:50])
