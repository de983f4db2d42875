"""Telemetry is what a plan asks for: its default follows from its cost, and the form says what that is."""

import pytest
from django.utils.html import escape
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench.models import Experiment, Run
from benchhub.bench.plan.testing import FREE_FORM, NEW, PLAN, form_of
from runners.telemetry.cost import MEASURED

pytestmark = pytest.mark.django_db


def queued(planner, form):
    assert planner.post(NEW, {**form, "queue": "1"}).status_code == 302
    return Experiment.objects.get()


def test_the_form_says_what_telemetry_costs_and_begins_with_the_default(planner):
    page = planner.get(FREE_FORM)
    assertContains(page, escape(MEASURED.text))
    assert bool(page.context["page"].draft.plan["telemetry"].value()) is MEASURED.is_usual is False


@pytest.mark.parametrize(("ticked", "telemetry"), [({}, ""), ({"telemetry": "on"}, "here")])
def test_a_run_is_observed_where_its_plan_asked_for_it(planner, recipe, servers, ticked, telemetry):
    experiment = queued(planner, {**form_of(recipe, *servers[:1]), **ticked})
    assert {run.spec["telemetry"] for run in Run.objects.filter(kind="measure")} == {telemetry}
    page = planner.get(f"/experiments/{experiment.pk}/")
    (assertContains if ticked else assertNotContains)(page, "observed once a second beside the load")


def test_a_similar_plan_keeps_what_was_asked_for(planner, recipe, servers):
    experiment = queued(planner, {**form_of(recipe, *servers[:1]), "telemetry": "on"})
    draft = planner.get(f"{NEW}?like={experiment.pk}").context["page"].draft
    assert draft.plan["telemetry"].value() is True


def test_telemetry_is_no_condition_of_a_comparison(planner, recipe, servers):
    queued(planner, form_of(recipe, *servers[:1]))
    planner.post(NEW, {**form_of(recipe, *servers[:1]), "name": "again", "telemetry": "on", "queue": "1"})
    assert len(set(Run.objects.filter(kind="measure").values_list("protocol", flat=True))) == 1
    assert planner.post(PLAN, form_of(recipe, *servers[:1])).status_code == 200
