"""No list, file or answer of the API goes through the runs of all years: PostgreSQL's own plans, for 100,000 of them.

What is offered is asked of what offers it: the routes of the API, their orders and filters; the names of the pages, and
the columns and filters of the lists on them. The other tests of plans (test_orders.py) have few rows.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from rest_framework.mixins import ListModelMixin
from rest_framework.test import APIRequestFactory

from benchhub.api.core.views import Filters, Pages
from benchhub.api.urls import router
from benchhub.bench.models import ExperimentSystem, Webhook
from benchhub.reports.comparison import queries as curves
from benchhub.ui.listing import Listing

from .many_runs import many_runs
from .pages import names
from .plans import PlannedError, index_sizes, plans, scans, sorts

pytestmark = pytest.mark.django_db
CLONE = Path(__file__).resolve().parent.parent
# Where few rows match they are sorted for a page: as many as four pages have.
MOST_SORTED = 4 * Pages.page_size
LISTS = {
    prefix: view
    for prefix, view, _ in router.registry
    if issubclass(view, ListModelMixin) and view.pagination_class is Pages
}
SIGNS = ("", "-")
SEARCHES = ("Build", "Nowhere")
# What an order or a filter of the API rests on: without it a page costs the more the more runs there are.
NEEDED = {
    "run_newest": ("runs", {"ordering": "-created_at"}),
    "run_clients": ("runs", {"ordering": "clients"}),
    "run_position": ("runs", {"ordering": "-position"}),
    "run_other_end": ("runs", {"state": "lost"}),
    "run_other_kind": ("runs", {"kind": "warmup"}),
    "run_set_aside": ("runs", {"set_aside_at__isnull": "false"}),
    "run_unfinished": ("curves", {"ordering": "id"}),
    "experiment_newest": ("experiments", {"ordering": "created_at"}),
    "experiment_name": ("experiments", {"ordering": "name"}),
    "experiment_priority": ("experiments", {"ordering": "-priority"}),
}


@dataclass(frozen=True)
class Warehouse:
    """The rows in it that addresses name by the first word of their path, who asks, and the rows of each index."""

    user: Any
    rows: Mapping[str, Any]
    sizes: Mapping[str, int]


@dataclass
class Visits:
    """What the pages did: the scans of each, and the lists on them, each with the file that makes it."""

    scans: dict[str, list[str]] = field(default_factory=dict)
    lists: dict[str, tuple[QuerySet[Any], Any, dict[str, Any]]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def warehouse(django_db_setup: None, django_db_blocker: Any) -> Iterator[Warehouse]:
    """Fill it once for all tests here, in a transaction that is rolled back."""
    with django_db_blocker.unblock(), transaction.atomic():
        user, run = get_user_model().objects.create_superuser("ada"), many_runs()
        hook = Webhook.objects.create(name="chat", url="https://chat.example/", created_by=user, events=["run.ended"])
        yield Warehouse(user, {"runs": run, "experiments": run.experiment, "webhooks": hook}, index_sizes())
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def visits(warehouse: Warehouse) -> Visits:
    """Look at each page and file that no row has to be named for, and those of an experiment, a run and a webhook."""
    client, visits = Client(headers={"host": "localhost"}), Visits()
    client.force_login(warehouse.user)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listing, "__init__", noting(visits))
        for address in filter(None, (address_of(name, warehouse.rows) for name in names())):
            with plans() as nodes:
                b"".join(client.get(address))
            visits.scans[address] = [text for node in nodes for text in scans(node, warehouse.sizes)]
    return visits


def noting(visits: Visits) -> Any:
    begin = Listing.__init__

    def note(listing: Any, query: QueryDict, rows: QuerySet[Any], columns: Any, **more: Any) -> None:
        file = Path(sys._getframe(1).f_code.co_filename)
        visits.lists[f"{file.relative_to(CLONE)}, {rows.model.__name__}"] = rows, columns, more
        begin(listing, query, rows, columns, **more)

    return note


def address_of(name: str, rows: Mapping[str, Any]) -> str:
    """Return the address of a page; empty where it needs a row that is not here, or ends the session."""
    if name == "logout":
        return ""
    with contextlib.suppress(NoReverseMatch):
        return reverse(name)
    with contextlib.suppress(NoReverseMatch, KeyError):
        return re.sub(r"^/([\w-]+)/0/", lambda part: f"/{part[1]}/{rows[part[1]].pk}/", reverse(name, args=[0]))
    return ""


@pytest.mark.parametrize("prefix", LISTS)
def test_no_order_filter_or_search_of_the_api_goes_through_all_runs(warehouse, prefix):
    assert [text for parameters in offers(prefix, warehouse) for text in faults(prefix, warehouse, parameters)] == []


def test_no_page_or_file_goes_through_all_runs(visits):
    assert {address: texts for address, texts in visits.scans.items() if texts} == {}
    assert {"/", "/queue/", "/metrics", "/leaderboard.csv", "/calendar.csv"} <= set(visits.scans)
    assert any(address.endswith("/curve.csv") for address in visits.scans)


def test_no_order_filter_or_search_of_a_list_goes_through_all_runs(warehouse, visits):
    wrong = {}
    for name, (rows, columns, more) in visits.lists.items():
        for query in queries(columns, more):
            with plans() as nodes:
                list(Listing(QueryDict(query), rows, columns, **more).page)
            wrong[f"{name}, {query}"] = [text for node in nodes for text in plan_faults(node, warehouse)]
    assert {name: texts for name, texts in wrong.items() if texts} == {}


def test_peaks_beside_years_of_runs_are_asked_for_by_keys_of_experiments(warehouse):
    """With a subquery in their place the database of a million runs reads all of the long experiment first."""
    keys = ExperimentSystem.objects.order_by("pk").values_list("experiment", "system")[: Pages.page_size]
    with CaptureQueriesContext(connection) as captured:
        assert curves.peaks(list(keys))
    means = [query["sql"] for query in captured if "AVG(LN(" in query["sql"]]
    assert len(means) == 2
    assert [sql for sql in means if '"experiment_id" IN (SELECT unnest' in sql] == []


def test_every_list_there_is_was_tried(visits):
    modules = (path for path in (CLONE / "benchhub").rglob("*.py") if "tests" not in path.parts)
    makers = {
        str(path.relative_to(CLONE)) for path in modules if re.search(r"(=|return|,) Listing\(", path.read_text())
    }
    assert {name.split(",")[0] for name in visits.lists} == makers


@pytest.mark.parametrize("index", NEEDED)
def test_an_index_that_is_missing_is_found_out(warehouse, index):
    prefix, parameters = NEEDED[index]
    assert faults(prefix, warehouse, parameters) == []
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {index}")  # until the end of this test
    assert faults(prefix, warehouse, parameters)


def faults(prefix: str, warehouse: Warehouse, parameters: Mapping[str, str]) -> list[str]:
    """Name what is wrong with the plan of a page of the API."""
    view = view_of(prefix, warehouse.user, parameters)
    rows = view.filter_queryset(view.get_queryset())
    with plans(is_run=False) as nodes, contextlib.suppress(PlannedError):
        view.paginate_queryset(rows)
    return [f"{prefix}, {parameters}: {text}" for node in nodes for text in plan_faults(node, warehouse)]


def plan_faults(node: Any, warehouse: Warehouse) -> list[str]:
    return [*scans(node, warehouse.sizes), *sorts(node, MOST_SORTED)]


def view_of(prefix: str, user: Any, parameters: Mapping[str, str]) -> Any:
    """Return the view of a list of the API as it stands before it answers these parameters."""
    view = LISTS[prefix]()
    view.action_map, view.action, view.args, view.kwargs, view.format_kwarg = {"get": "list"}, "list", (), {}, None
    view.request = view.initialize_request(APIRequestFactory().get("/", parameters))
    view.request.user, view.request.auth = user, None
    return view


def offers(prefix: str, warehouse: Warehouse) -> Iterator[dict[str, str]]:
    """Yield the parameters of each order, filter and search of a list of the API."""
    view = view_of(prefix, warehouse.user, {})
    rows = view.get_queryset()
    filters = Filters().get_filterset_class(view, rows)
    yield from ({"ordering": f"{sign}{name}"} for name in view.ordering_fields for sign in SIGNS)
    for name, choice in (filters.base_filters if filters else {}).items():
        yield from ({name: text} for text in values(rows, choice))
    yield from ({"search": text} for text in SEARCHES if getattr(view, "search_fields", None))


def values(rows: QuerySet[Any], choice: Any) -> set[str]:
    """Return values of a filter: all that there are to choose from, or those of the first, middle and last row."""
    if choice.lookup_expr == "isnull":
        return {"true", "false"}
    if choices := choice.extra.get("choices"):
        return {str(value) for value, _ in choices}
    keys = rows.model.objects.order_by("pk").values_list("pk", flat=True)
    count = keys.count()
    some = rows.order_by().filter(pk__in=[keys[place] for place in {0, count // 2, count - 1} if count])
    columns = some.values_list(choice.field_name, flat=True)
    return {value.isoformat() if hasattr(value, "isoformat") else str(value) for value in columns if value is not None}


def queries(columns: Any, more: Mapping[str, Any]) -> Iterator[str]:
    """Yield the address of each order, filter and search of a list."""
    yield from (f"sort={sign}{column.name}" for column in columns if column.order for sign in SIGNS)
    yield from (f"{choice.name}={value}" for choice in more.get("filters", ()) for value in choice.options)
    yield from (f"q={text}" for text in SEARCHES if more.get("search"))
