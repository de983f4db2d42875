"""A field that is marked as wrong must be seen: what is folded away opens."""

import re

import pytest

from benchhub.bench.plan.testing import NEW, form_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(servers, recipe):
    return form_of(recipe, *servers, warmup_run_clients="1", queue="1")


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
    page = planner.post(NEW, {**filled, field: value})
    assert re.search(rf'id="id_{field}_error"', page.content.decode())
    assert unfolded(page) == [fold]


def test_without_anything_wrong_all_parts_stay_folded(planner, filled):
    assert unfolded(planner.post(NEW, {**filled, "name": ""})) == []
