"""A field that is marked as wrong must be seen: what is folded away opens."""

import re

import pytest

from benchhub.catalog.models import Workload

from . import testdata

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled():
    """What a browser sends for one instance."""
    instance = testdata.make_instance(testdata.probed_host("16.4"), "16.4")
    workload = Workload.objects.create(name="select-only", tool="pgbench", parameters=testdata.PARAMETERS)
    typed = {"name": "Marked", "workload": str(workload.pk), "levels": "1", "repeats": "1", "thread_rule": "clients"}
    times = {"duration_s": "60", "warmup_s": "0", "rest_s": "0", "warmup_run_clients": "1", "queue": "1"}
    systems = {"systems-TOTAL_FORMS": "1", "systems-INITIAL_FORMS": "1", "systems-0-instance": str(instance.pk)}
    return {**typed, **times, **systems}


def unfolded(page):
    return re.findall(r'<details id="(\w+)" open>', page.content.decode())


@pytest.mark.parametrize(
    ("field", "value", "fold"),
    [
        ("order_seed", "-7", "order"),
        ("latency_limit_ms", "-1", "matrix"),
        ("rates", "none", "matrix"),
        ("warmup_run_clients", "0", "before"),
        ("settle_s", "-1", "before"),
        ("most_runs", "-1", "growing"),
    ],
)
def test_a_wrong_field_opens_the_part_of_the_form_that_it_stands_in_and_no_other(planner, filled, field, value, fold):
    page = planner.post("/experiments/new", {**filled, field: value})
    assert re.search(rf'id="id_{field}_error"', page.content.decode())
    assert unfolded(page) == [fold]


def test_without_anything_wrong_all_parts_stay_folded(planner, filled):
    assert unfolded(planner.post("/experiments/new", {**filled, "name": ""})) == []
